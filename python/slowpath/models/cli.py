"""Declares the arguments and options of `slowpath fit`."""

from slowpath.core.command import Command, Example, Heading, argument, within
from slowpath.core.extras import needs
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.values import percentage
from slowpath.models.metrics import METRICS
from slowpath.models.options import DIRECTIONS, METHODS, MOST_SEGMENTS, RULES, Options

DATA = Heading("Data")
MODEL = Heading("Model")
_FORMATS = Formats("slowpath.models.report", table="text_report", json=JSON, csv="csv_report")
_DEFAULT = Options()


FIT = Command(
    (
        "Fit a model to measurements: how a number grows with another",
        "The curve is cut into segments, each with the function that fits it best. The data "
        f"determine number and functions. {needs('models')}",
        "Functions are constant, line, polynomial, logarithm, hyperbola, exponential, or one of "
        "these inverted; or one function that approaches a limit fits the whole curve. The fit "
        "minimises relative errors; single outliers have little effect.",
        "With --query, print predictions for the rows of a file as CSV.",
        "Exit codes: 0 success, 2 wrong usage, 3 a file cannot be read or written, or a model "
        "cannot "
        "be derived from it.",
    ),
    (
        argument(
            "FILE",
            "Measurements as CSV with a header line",
            None,
            "The header may be a comment. Each further line is a measurement.",
        ),
        DATA.option(
            "--x COLUMNS",
            "Model y over one to three columns",
            "Commas separate columns. Segments divide the first; the data determine whether "
            "columns add up or interact.",
            required=True,
        ),
        DATA.option("--y COLUMN", "Model this measured column", required=True),
        DATA.option("--weight COLUMN", "Weight each line by this column", common=False),
        DATA.option(
            "--spread COLUMN",
            "Read the standard deviation of each y from this column",
            "Precise values count more.",
            common=False,
        ),
        MODEL.option(
            "--select",
            "Select functions and number of segments by this rule",
            "criterion: an information criterion. margins: margins of the error (Scholz et al., "
            "2021). held-out: the error on held-out points, which takes longer.",
            common=False,
            choices=RULES,
            default=_DEFAULT.select,
        ),
        MODEL.option(
            "--segments N",
            "Use N segments, or fewer if the data do not allow N",
            type=within(int, 1, MOST_SEGMENTS),
        ),
        MODEL.option(
            "--max-segments N",
            "Use at most N segments",
            type=within(int, 1, MOST_SEGMENTS),
            default=_DEFAULT.most_segments,
        ),
        MODEL.option(
            "--search",
            "Find segments by this method",
            "dynamic: dynamic programming. exhaustive: all of up to three, with the same result. "
            "extrema: only where the slope changes most.",
            common=False,
            choices=METHODS,
            default=_DEFAULT.search,
        ),
        MODEL.option(
            "--monotone",
            "Restrict the model to rise, or to fall, with x",
            "For one x column.",
            choices=DIRECTIONS,
        ),
        MODEL.flag("--non-negative", "Restrict the model to values of zero or more"),
        MODEL.option(
            "--least-parameter N",
            "Raise smaller parameters to N [default: no limit]",
            "The limit (Scholz et al., 2021) is in units in which the largest x and the median of "
            "y are one. Functions that need small parameters then fit worse. For one x column.",
            common=False,
            type=within(float, 0, 1),
            default=_DEFAULT.least_parameter,
        ),
        MODEL.option(
            "--error-metric",
            "Report this error",
            "--select margins judges models by it.",
            common=False,
            choices=tuple(METRICS),
            default=_DEFAULT.metric,
        ),
        MODEL.option(
            "--confidence PERCENT",
            "Set the confidence level of intervals",
            common=False,
            type=percentage(1, 99.9),
            default=f"{100 * _DEFAULT.confidence:g}%",
        ),
        MODEL.option(
            "--seed N",
            "Seed the random numbers for intervals",
            "The same seed gives the same intervals.",
            common=False,
            type=within(int, 0, 2**32 - 1),
            default=_DEFAULT.seed,
        ),
        OUTPUT.option(
            "--query FILE",
            "Predict y for each line of this CSV file",
            "Prints the x columns, y_pred, low, high. The interval is that of a single "
            "measurement.",
        ),
        OUTPUT.option("--plot FILE", "Plot measurements and model (.svg, .png)", needs("plots")),
        _FORMATS.option(),
    ),
    _FORMATS.call("slowpath.models.run:fit"),
    (
        Example("slowpath fit latency.csv --x bytes --y ns", "Print a model of latency by size"),
        Example(
            "slowpath fit latency.csv --x bytes --y ns --plot latency.svg", "Draw data and model"
        ),
        Example(
            "slowpath fit latency.csv --x bytes --y ns --query sizes.csv", "Predict other sizes"
        ),
    ),
)
