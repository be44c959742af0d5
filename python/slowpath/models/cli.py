"""The command line of `slowpath fit`."""

from slowpath.core.command import Command, argument, option, within
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.models.metrics import METRICS
from slowpath.models.options import DIRECTIONS, METHODS, MOST_SEGMENTS, RULES, Options

DATA = "Data"
MODEL = "Model"
_FORMATS = Formats("slowpath.models.report", table="text_report", json=JSON, csv="csv_report")
_USUAL = Options()


FIT = Command(
    (
        "Derive a model of measurements: how a number grows with another one.",
        "The curve is cut into segments, each with the function that fits it best: constant, line, "
        "polynomial, logarithm, hyperbola, exponential, or one of these inverted; or the whole "
        "curve is a function that runs into a limit. The data determine the number of segments and "
        "their functions. Relative errors count; single outliers have little effect.",
        "With --predict, print predictions for the rows of a file as CSV.",
        "Needs the extra `models`: pip install slowpath[models].",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or written, or a model cannot "
        "be derived from it.",
    ),
    (
        argument(
            "FILE",
            "CSV file with a header line, which may be a comment; each further line is a "
            "measurement.",
        ),
        option(
            DATA,
            "--x",
            metavar="COLUMNS",
            required=True,
            help="Model y over this column, or over up to three, separated by commas. Segments "
            "divide the first; the data determine whether columns add up or interact.",
        ),
        option(
            DATA,
            "--y",
            metavar="COLUMN",
            required=True,
            help="Model this measured column.",
        ),
        option(
            DATA,
            "--weight",
            metavar="COLUMN",
            help="Weight each line by this column.",
        ),
        option(
            DATA,
            "--spread",
            metavar="COLUMN",
            help="Take the standard deviation of each y from this column; precise values count "
            "more.",
        ),
        option(
            MODEL,
            "--select",
            choices=RULES,
            default=_USUAL.select,
            help="Select functions and the number of segments by an information criterion, by "
            "margins of the error (Scholz et al., 2021), or by the error on held-out points, which "
            "takes longer (default: %(default)s).",
        ),
        option(
            MODEL,
            "--segments",
            metavar="N",
            type=within(int, 1, MOST_SEGMENTS),
            help="Use N segments, or as many as possible.",
        ),
        option(
            MODEL,
            "--max-segments",
            metavar="N",
            type=within(int, 1, MOST_SEGMENTS),
            default=_USUAL.most_segments,
            help="Use at most N segments (default: %(default)s).",
        ),
        option(
            MODEL,
            "--search",
            choices=METHODS,
            default=_USUAL.search,
            help="Find segments by dynamic programming, by trying all of up to three, with the "
            "same result, or only where the slope changes most (default: %(default)s).",
        ),
        option(
            MODEL,
            "--monotone",
            choices=DIRECTIONS,
            help="Restrict the model to rise, or to fall, with x; for one x column.",
        ),
        option(
            MODEL,
            "--non-negative",
            action="store_true",
            help="Restrict the model to values of zero or more.",
        ),
        option(
            MODEL,
            "--least-parameter",
            metavar="N",
            type=within(float, 0, 1),
            default=_USUAL.least_parameter,
            help="Raise smaller parameters to N (Scholz et al., 2021), in units in which the "
            "largest x and the median of y are one. Functions that need small parameters then fit "
            "worse. For one x column (default: no limit).",
        ),
        option(
            MODEL,
            "--metric",
            choices=tuple(METRICS),
            default=_USUAL.metric,
            help="Report this error; --select margins judges models by it (default: %(default)s).",
        ),
        option(
            MODEL,
            "--confidence",
            metavar="PERCENT",
            type=within(float, 1, 99.9),
            default=100 * _USUAL.confidence,
            help="Set the confidence level of intervals (default: %(default)s).",
        ),
        option(
            MODEL,
            "--seed",
            metavar="N",
            type=within(int, 0, 2**32 - 1),
            default=_USUAL.seed,
            help="Seed the random numbers for intervals; the same seed gives the same intervals "
            "(default: %(default)s).",
        ),
        option(
            OUTPUT,
            "--predict",
            metavar="FILE",
            help="Predict y at the x of each line of this CSV file; print the x columns, y_pred, "
            "low, high. The interval is that of a single measurement.",
        ),
        option(
            OUTPUT,
            "--plot",
            metavar="FILE",
            help="Plot measurements and model into FILE, which ends in .svg or .png.",
        ),
        _FORMATS.option("Select the format of the model; json and csv are stable"),
    ),
    _FORMATS.call("slowpath.models.run:fit"),
)
