"""Declares the arguments and options of `slowpath diff`."""

from argparse import Namespace

from slowpath.bounds.flags import (
    ACCEPT_ASSUMPTIONS,
    ANALYSIS,
    CACHE,
    JOBS,
    REQUIRE,
    written_options,
)
from slowpath.core.command import Command, Example, argument, within
from slowpath.core.formats import OUTPUT, Formats

_FORMATS = Formats(
    "slowpath.diff.report",
    table="table",
    json="slowpath.diff.report:json_lines",
    csv="slowpath.diff.report:csv_lines",
    markdown="markdown",
    sarif="slowpath.diff.review:sarif",
    github="slowpath.diff.review:github",
    junit="slowpath.diff.review:junit",
)


def _diff(args: Namespace) -> int:
    from slowpath.bounds.caching import cache_of
    from slowpath.diff.filters import AllowOptions
    from slowpath.diff.pairs import DiffInputs
    from slowpath.diff.run import DiffOptions, diff

    options = DiffOptions.of_words(
        _FORMATS.reporter(args.format), args.filter, args.sort, args.fail_on, args.lines
    )
    written = written_options(args, [args.old, args.new])
    sides = DiffInputs(args.old, args.new, written, cache=cache_of(args), outside=args.outside)
    allowed = AllowOptions(args.allow_new, args.allow_gone)
    files = _FORMATS.report_files(args.report)
    options = options._replace(allowed=allowed, jobs=args.jobs, html=args.html, files=files)
    return diff(sides, options)


DIFF = Command(
    (
        "Compare guarantees before and after a change",
        "Shows the change of each program and source line. slowpath compares saved results as "
        "they are, so options of the analysis do not apply to them.",
        "slowpath compares programs of the same name. If each side has only one program, it "
        "compares both, whatever their names. Columns have the suffixes of veristat: _a is OLD, "
        "_b is NEW, _diff is b - a, and _pct is 100 (b - a) / a. A column without a suffix "
        "means _b. N/A marks a value that is missing on one side.",
        "Exit codes: 0 success, 1 --fail-on holds or --require is not met, 2 wrong usage, 3 a file "
        "cannot be read or a program of NEW cannot be analysed, 4 stopped before any bound was "
        "known, or before --require was decided.",
    ),
    (
        argument(
            "OLD",
            "BPF, C, P4, SWX (*.spec), NFP (*.asm), or results (*.json)",
            None,
            "BPF stands for objects, SWX for pipelines of DPDK's software switch, and NFP for "
            "assembly listings. Results are output of slowpath bound --format json. If OLD and "
            "NEW are folders, the saved results (*.json) below them are compared, or else the "
            "programs. Files with the same path below OLD and NEW belong together. slowpath "
            "compares saved results in one file by name with the programs below a folder.",
        ),
        argument("NEW", "The same kinds of file, to compare with OLD"),
        *ANALYSIS,
        REQUIRE.with_help("Exit with 1 unless NEW guarantees this", REQUIRE.more),
        ACCEPT_ASSUMPTIONS,
        JOBS,
        OUTPUT.option(
            "-f, --filter EXPR",
            "Show only programs that match EXPR: 'instructions_pct > 5'",
            "EXPR is a comparison, such as 'verdict_b == bound', or a glob on names, such as "
            "'lb_*'. A leading ! excludes programs that match. Repeatable: a program is shown if "
            "any EXPR matches.",
            action="append",
            default=[],
        ),
        OUTPUT.option(
            "--sort COLUMN,...",
            "Sort programs by these columns",
            "Append ^ for ascending or v for descending order; write |COLUMN| to sort by "
            "magnitude.",
            common=False,
        ),
        OUTPUT.option(
            "--fail-on EXPR",
            "Exit with 1 if EXPR holds for a program",
            "EXPR is for example 'instructions_pct > 5', or 'bitrate_pct < -5' on a SmartNIC. "
            "EXPR also holds if a value that it needs is N/A. It applies to all programs, "
            "including those that are not shown.",
            action="append",
            default=[],
        ),
        OUTPUT.flag(
            "--allow-new",
            "Let programs that exist only in NEW pass --fail-on",
            "Conditions on NEW alone ('instructions_b > 4000') still apply to them.",
            common=False,
        ),
        OUTPUT.flag(
            "--allow-gone",
            "Let programs that exist only in OLD pass --fail-on",
            "Conditions on OLD alone still apply to them.",
            common=False,
        ),
        OUTPUT.option(
            "--lines N",
            "Show N lines whose cost rose and N whose cost fell",
            "The limit applies to each program.",
            common=False,
            type=within(int, 0),
            default=10,
        ),
        *CACHE,
        _FORMATS.option(),
        OUTPUT.option("--html FILE", "Write an HTML page with the changes"),
        _FORMATS.report_option(),
    ),
    _diff,
    (
        Example("slowpath diff old.bpf.o new.bpf.o", "Show which programs and lines cost more"),
        Example(
            "slowpath diff old.json new.bpf.o --fail-on 'instructions_pct > 5'",
            "Fail if a program takes 5 % more instructions than in saved results",
        ),
        Example("slowpath diff baseline.json xdp", "Compare a folder with saved results by name"),
    ),
)
