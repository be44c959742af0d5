"""Declares the arguments and options of `slowpath diff`."""

from argparse import Namespace

from slowpath.bounds.flags import ANALYSIS, written_options
from slowpath.core.command import Command, argument, within
from slowpath.core.formats import OUTPUT, Formats

_FORMATS = Formats(
    "slowpath.diff.report",
    table="table",
    json="slowpath.diff.machine_readable:json_lines",
    csv="slowpath.diff.machine_readable:csv_lines",
    markdown="markdown",
)


def _diff(args: Namespace) -> int:
    from slowpath.diff.filters import AllowOptions
    from slowpath.diff.pairs import DiffInputs
    from slowpath.diff.run import DiffOptions, diff

    options = DiffOptions.of_words(
        _FORMATS.reporter(args.format), args.filter, args.sort, args.fail_on, args.lines
    )
    sides = DiffInputs(args.old, args.new, written_options(args, [args.old, args.new]))
    return diff(sides, options._replace(allowed=AllowOptions(args.allow_new, args.allow_gone)))


DIFF = Command(
    (
        "Compare guarantees before and after a change, per program and per source line.",
        "Programs are matched by name; if each side has one program, these are compared even if "
        "their names differ. Columns are named as in veristat's comparisons: _a is OLD, _b is "
        "NEW, _diff is b - a, _pct is 100 (b - a) / a; a column without a suffix means _b. N/A "
        "marks a value that one side lacks. Saved results are compared as they are; options of "
        "the analysis do not apply to them.",
        "Exit codes: 0 fine, 1 --fail-on holds, 2 wrong usage, 3 a file cannot be read or a "
        "program of NEW cannot be analysed, 4 stopped before any bound was known.",
    ),
    (
        argument("OLD", "Object, C source, listing, or output of bound --format json."),
        argument("NEW", "The same kinds of file, to compare with OLD."),
        *ANALYSIS,
        OUTPUT.option(
            "-f, --filter EXPR",
            "Show only programs that match EXPR: 'instructions_pct > 5', 'verdict_b == "
            "bound', or a glob on names such as 'lb_*'. A leading ! excludes programs that match. "
            "Repeatable: any match suffices.",
            action="append",
            default=[],
        ),
        OUTPUT.option(
            "--sort COLUMN,...",
            "Sort programs by these columns; append ^ for ascending or v for descending "
            "order, write |COLUMN| to sort by magnitude.",
        ),
        OUTPUT.option(
            "--fail-on EXPR",
            "Exit with 1 if EXPR holds for a program or depends on an N/A value: "
            "'instructions_pct > 5', or 'bitrate_pct < -5' on a SmartNIC. This covers all "
            "programs, including those not shown.",
            action="append",
            default=[],
        ),
        OUTPUT.flag(
            "--allow-new",
            "Let programs that exist only in NEW pass each --fail-on that needs a value of "
            "OLD. Conditions on NEW alone ('instructions_b > 4000') still apply to them.",
        ),
        OUTPUT.flag(
            "--allow-gone",
            "Let programs that exist only in OLD pass each --fail-on that needs a value of NEW.",
        ),
        OUTPUT.option(
            "--lines N",
            "Show at most N lines whose cost rose, and N whose cost fell, per program "
            "(default: %(default)s).",
            type=within(int, 0),
            default=10,
        ),
        _FORMATS.option(),
    ),
    _diff,
)
