"""The command line of `slowpath fit`."""

from argparse import Namespace

from slowpath.core.command import Command, argument, option, within
from slowpath.models.metrics import METRICS
from slowpath.models.options import DIRECTIONS, METHODS, MOST_SEGMENTS, RULES, Options

DATA = "Data"
MODEL = "Model"
OUTPUT = "Output"
FORMATS = ("table", "json", "csv")
_USUAL = Options()


def _fit(given: Namespace) -> int:
    from slowpath.models.run import fit

    return fit(given)


FIT = Command(
    (
        "Derive a model of measurements: how a number grows with another one.",
        "The curve is cut into segments, each with the function that fits it best: constant, line, "
        "polynomial, logarithm, hyperbola, exponential, or one of these inverted; or the whole "
        "curve is a function that runs into a limit. How many segments there are, and which "
        "functions, follows from the data. Relative differences count, and single wrong values do "
        "little.",
        "With --predict, standard output is a CSV of what the model says at the rows of a file.",
        "Needs the extra `models`: pip install slowpath[models].",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or written, or no model be "
        "derived from it.",
    ),
    (
        argument(
            "FILE",
            "CSV file with a line of names, which may be a comment; each further line is a "
            "measurement.",
        ),
        option(
            DATA,
            "--x",
            metavar="COLUMNS",
            required=True,
            help="The column that y depends on, or up to three with commas between them. Segments "
            "are of the first; within a segment, the columns add up or interact, whatever the data "
            "show.",
        ),
        option(
            DATA,
            "--y",
            metavar="COLUMN",
            required=True,
            help="The column that was measured.",
        ),
        option(
            DATA,
            "--weight",
            metavar="COLUMN",
            help="How much each line counts.",
        ),
        option(
            DATA,
            "--spread",
            metavar="COLUMN",
            help="The standard deviation of each y: sure values count more.",
        ),
        option(
            MODEL,
            "--select",
            choices=RULES,
            default=_USUAL.select,
            help="How functions and the number of segments are selected: by an information "
            "criterion; by margins of the error, as Scholz et al. (2021) do; or such that points "
            "that are left out are predicted best, which takes longer (default: %(default)s).",
        ),
        option(
            MODEL,
            "--segments",
            metavar="N",
            type=within(int, 1, MOST_SEGMENTS),
            help="Have so many segments, or as many as there can be.",
        ),
        option(
            MODEL,
            "--max-segments",
            metavar="N",
            type=within(int, 1, MOST_SEGMENTS),
            default=_USUAL.most_segments,
            help="Have no more segments than these (default: %(default)s).",
        ),
        option(
            MODEL,
            "--search",
            choices=METHODS,
            default=_USUAL.search,
            help="How segments are found: by dynamic programming; by trying all up to three, which "
            "finds the same; or only where the slope changes most (default: %(default)s).",
        ),
        option(
            MODEL,
            "--monotone",
            choices=DIRECTIONS,
            help="The model may only rise, or only fall, with x; for one x column.",
        ),
        option(
            MODEL,
            "--non-negative",
            action="store_true",
            help="The model may not be below zero anywhere.",
        ),
        option(
            MODEL,
            "--least-parameter",
            metavar="N",
            type=within(float, 0, 1),
            default=_USUAL.least_parameter,
            help="No parameter is smaller, as Scholz et al. (2021) have it, in units in which the "
            "largest x and the median of y are one; functions that need small ones are then worse "
            "than others. For one x column (default: no limit).",
        ),
        option(
            MODEL,
            "--metric",
            choices=tuple(METRICS),
            default=_USUAL.metric,
            help="The error that is told, and that --select margins goes by (default: "
            "%(default)s).",
        ),
        option(
            MODEL,
            "--confidence",
            metavar="PERCENT",
            type=within(float, 1, 99.9),
            default=100 * _USUAL.confidence,
            help="How often an interval has what it is about (default: %(default)s).",
        ),
        option(
            MODEL,
            "--seed",
            metavar="N",
            type=within(int, 0, 2**32 - 1),
            default=_USUAL.seed,
            help="Start of the random numbers that intervals are made with; the same gives the "
            "same (default: %(default)s).",
        ),
        option(
            OUTPUT,
            "--predict",
            metavar="FILE",
            help="Write what the model says at the x of each line of this CSV file: the x columns, "
            "y_pred, low, high. The interval is that of a single measurement.",
        ),
        option(
            OUTPUT,
            "--plot",
            metavar="FILE",
            help="Draw measurements and model; FILE ends in .svg or .png.",
        ),
        option(
            OUTPUT,
            "--format",
            choices=FORMATS,
            default="table",
            help="How to write the model; json and csv are stable (default: %(default)s).",
        ),
    ),
    _fit,
)
