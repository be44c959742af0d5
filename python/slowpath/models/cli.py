"""Declares the arguments and options of `slowpath fit`."""

from slowpath.core.command import Command, Heading, argument, within
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.models.metrics import METRICS
from slowpath.models.options import DIRECTIONS, METHODS, MOST_SEGMENTS, RULES, Options

DATA = Heading("Data")
MODEL = Heading("Model")
_FORMATS = Formats("slowpath.models.report", table="text_report", json=JSON, csv="csv_report")
_DEFAULT = Options()


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
        DATA.option(
            "--x COLUMNS",
            "Model y over this column, or over up to three, separated by commas. Segments "
            "divide the first; the data determine whether columns add up or interact.",
            required=True,
        ),
        DATA.option("--y COLUMN", "Model this measured column.", required=True),
        DATA.option("--weight COLUMN", "Weight each line by this column."),
        DATA.option(
            "--spread COLUMN",
            "Take the standard deviation of each y from this column; precise values count more.",
        ),
        MODEL.option(
            "--select",
            "Select functions and the number of segments by an information criterion, by "
            "margins of the error (Scholz et al., 2021), or by the error on held-out points, which "
            "takes longer (default: %(default)s).",
            choices=RULES,
            default=_DEFAULT.select,
        ),
        MODEL.option(
            "--segments N",
            "Use N segments, or as many as possible.",
            type=within(int, 1, MOST_SEGMENTS),
        ),
        MODEL.option(
            "--max-segments N",
            "Use at most N segments (default: %(default)s).",
            type=within(int, 1, MOST_SEGMENTS),
            default=_DEFAULT.most_segments,
        ),
        MODEL.option(
            "--search",
            "Find segments by dynamic programming, by trying all of up to three, with the "
            "same result, or only where the slope changes most (default: %(default)s).",
            choices=METHODS,
            default=_DEFAULT.search,
        ),
        MODEL.option(
            "--monotone",
            "Restrict the model to rise, or to fall, with x; for one x column.",
            choices=DIRECTIONS,
        ),
        MODEL.flag("--non-negative", "Restrict the model to values of zero or more."),
        MODEL.option(
            "--least-parameter N",
            "Raise smaller parameters to N (Scholz et al., 2021), in units in which the "
            "largest x and the median of y are one. Functions that need small parameters then fit "
            "worse. For one x column (default: no limit).",
            type=within(float, 0, 1),
            default=_DEFAULT.least_parameter,
        ),
        MODEL.option(
            "--metric",
            "Report this error; --select margins judges models by it (default: %(default)s).",
            choices=tuple(METRICS),
            default=_DEFAULT.metric,
        ),
        MODEL.option(
            "--confidence PERCENT",
            "Set the confidence level of intervals (default: %(default)s).",
            type=within(float, 1, 99.9),
            default=100 * _DEFAULT.confidence,
        ),
        MODEL.option(
            "--seed N",
            "Seed the random numbers for intervals; the same seed gives the same intervals "
            "(default: %(default)s).",
            type=within(int, 0, 2**32 - 1),
            default=_DEFAULT.seed,
        ),
        OUTPUT.option(
            "--predict FILE",
            "Predict y at the x of each line of this CSV file; print the x columns, y_pred, "
            "low, high. The interval is that of a single measurement.",
        ),
        OUTPUT.option(
            "--plot FILE", "Plot measurements and model into FILE, which ends in .svg or .png."
        ),
        _FORMATS.option("Select the format of the model; json and csv are stable"),
    ),
    _FORMATS.call("slowpath.models.run:fit"),
)
