"""The command line of `slowpath diff`."""

from argparse import Namespace

from slowpath.bound.flags import ANALYSIS, OUTPUT, form_option, written_options
from slowpath.core.command import Command, argument, load, option, within

FORMATS = {
    "table": "slowpath.diff.report:table",
    "json": "slowpath.diff.machine_readable:json_lines",
    "csv": "slowpath.diff.machine_readable:csv_lines",
    "markdown": "slowpath.diff.report:markdown",
}
"""The values of `--format`, and where each has a function that makes lines of a `Report`."""


def _diff(given: Namespace) -> int:
    from slowpath.diff.filters import Allowed
    from slowpath.diff.pairs import Sides
    from slowpath.diff.run import DiffOptions, diff

    allowed = Allowed(given.allow_new, given.allow_gone)
    options = DiffOptions.of_words(
        load(FORMATS[given.format]), given.filter, given.sort, given.fail_on, given.lines
    )
    sides = Sides(given.old, given.new, written_options(given, [given.old, given.new]))
    return diff(sides, options._replace(allowed=allowed))


DIFF = Command(
    (
        "Show what a change did to the guarantees: of every program, and line by line.",
        "Programs are matched by name; if there is one on either side, these are compared whatever "
        "they are called. Columns are named as in veristat's comparisons: _a is OLD, _b is NEW, "
        "_diff is b - a, _pct is 100 (b - a) / a; without a suffix, _b is meant. N/A stands for "
        "what a side does not have. Saved results are taken as they are: options of the analysis "
        "mean nothing to them.",
        "Exit codes: 0 fine, 1 --fail-on holds, 2 wrong usage, 3 a file cannot be read, or a "
        "program of NEW not be analysed, 4 stopped before there was a bound.",
    ),
    (
        argument("OLD", "An object, a C source, a listing, or the output of bound --format json."),
        argument("NEW", "Another one, to compare with it."),
        *ANALYSIS,
        option(
            OUTPUT,
            "-f",
            "--filter",
            metavar="EXPR",
            action="append",
            default=[],
            help="Show only programs that one of these fits: 'instructions_pct > 5', "
            "'verdict_b == bound', a glob on names such as 'lb_*'; with ! in front, none of them.",
        ),
        option(
            OUTPUT,
            "--sort",
            metavar="COLUMN,...",
            help="Order of the programs; ^ behind a column: ascending, v: descending, |COLUMN|: "
            "by magnitude.",
        ),
        option(
            OUTPUT,
            "--fail-on",
            metavar="EXPR",
            action="append",
            default=[],
            help="Exit with 1 if this holds for a program, or cannot be told because a value is "
            "N/A: 'instructions_pct > 5', on a SmartNIC 'bitrate_pct < -5'. All programs count, "
            "shown or not.",
        ),
        option(
            OUTPUT,
            "--allow-new",
            action="store_true",
            help="Programs that only NEW has pass every --fail-on about what only OLD could tell; "
            "what is said of NEW ('instructions_b > 4000') holds for them too.",
        ),
        option(
            OUTPUT,
            "--allow-gone",
            action="store_true",
            help="Programs that only OLD has pass every --fail-on about what only NEW could tell.",
        ),
        option(
            OUTPUT,
            "--lines",
            metavar="N",
            type=within(int, 0),
            default=10,
            help="So many lines that got dearer, and cheaper, per program (default: %(default)s).",
        ),
        form_option(FORMATS, "json and csv are stable"),
    ),
    _diff,
)
