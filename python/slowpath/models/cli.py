"""Declares the arguments and options of `slowpath fit`."""

from slowpath.core.command import Command, Example, Heading, argument, within
from slowpath.core.extras import needs
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.quantities import percentage
from slowpath.models.options import DIRECTIONS, METHODS, METRICS, MOST_SEGMENTS, RULES, Options

DATA = Heading("Data")
MODEL = Heading("Model")
_FORMATS = Formats("slowpath.models.report", table="text_report", json=JSON, csv="csv_report")
_DEFAULT = Options()


FIT = Command(
    (
        "Fit a model to measurements: how one column grows with another",
        (
            "Divides the curve into segments, and fits the best function to each of them. "
            f"{needs('models')}"
        ),
        (
            "The function of a segment is a constant, line, polynomial, logarithm, hyperbola, "
            "exponential, or the inverse of one of these. A single function that approaches a "
            "limit can fit the whole curve instead. The fit minimises relative errors. Single "
            "outliers have little effect."
        ),
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
            "The header can be a comment. Each further line of the file is one measurement.",
        ),
        DATA.option(
            "--x COLUMNS",
            "Model y as a function of one to three columns",
            "Separate columns by commas. Only the first column is divided into segments. The "
            "data determine whether the effects of columns add up or multiply.",
            required=True,
        ),
        DATA.option("--y COLUMN", "Model this column of measured values", required=True),
        DATA.option("--weight COLUMN", "Weight each measurement by this column", common=False),
        DATA.option(
            "--spread COLUMN",
            "Read the standard deviation of each y from this column",
            "Measurements with a small standard deviation count more.",
            common=False,
        ),
        MODEL.option(
            "--select",
            "Choose functions and the number of segments by this rule",
            "criterion: an information criterion, which weighs errors against parameters. "
            "margins: more segments must reduce the error by a margin (Scholz et al., 2021). "
            "held-out: the smallest error at points held out from the fit; this takes longer.",
            common=False,
            choices=RULES,
            default=_DEFAULT.select,
        ),
        MODEL.option(
            "--segments N",
            "Cut the curve into N segments, or fewer if there are too few points",
            type=within(int, 1, MOST_SEGMENTS),
        ),
        MODEL.option(
            "--max-segments N",
            "Cut the curve into at most N segments",
            type=within(int, 1, MOST_SEGMENTS),
            default=_DEFAULT.most_segments,
        ),
        MODEL.option(
            "--search",
            "Find the ends of segments by this method",
            "dynamic uses dynamic programming. exhaustive tries all divisions into up to "
            "three segments, with the same result. extrema divides only where the slope "
            "changes most.",
            common=False,
            choices=METHODS,
            default=_DEFAULT.search,
        ),
        MODEL.option(
            "--monotone",
            "Require the model to rise with x, or to fall with x",
            "The option needs a model of one x column.",
            choices=DIRECTIONS,
        ),
        MODEL.flag("--non-negative", "Require values of at least zero"),
        MODEL.option(
            "--least-parameter N",
            "Raise function parameters below N to N [default: no limit]",
            "N is in units in which the largest x and the median of y are 1 (Scholz et al., "
            "2021). With a limit, functions that need smaller parameters fit worse. The option "
            "needs a model of one x column.",
            common=False,
            type=within(float, 0, 1),
            default=_DEFAULT.least_parameter,
        ),
        MODEL.option(
            "--error-metric",
            "Report the error of the model by this metric",
            "smape and mape are mean relative errors. rmse is the root of the mean squared "
            "error, in the unit of y. With --select margins, this metric also decides between "
            "models.",
            common=False,
            choices=tuple(METRICS),
            default=_DEFAULT.metric,
        ),
        MODEL.option(
            "--confidence PERCENT",
            "Set the confidence level of intervals of parameters and predictions",
            common=False,
            type=percentage(1, 99.9),
            default=f"{100 * _DEFAULT.confidence:g}%",
        ),
        MODEL.option(
            "--seed N",
            "Seed the random numbers from which intervals are computed",
            "The same seed gives the same intervals.",
            common=False,
            type=within(int, 0, 2**32 - 1),
            default=_DEFAULT.seed,
        ),
        OUTPUT.option(
            "--query FILE",
            "Predict y for each line of this CSV file of x values",
            "Prints CSV with the x columns, the predicted y (y_pred), and both ends of its "
            "interval (low, high). The interval is that of a single measurement.",
        ),
        OUTPUT.option("--plot FILE", "Plot measurements and model (.svg, .png)", needs("plots")),
        _FORMATS.option(),
    ),
    _FORMATS.call("slowpath.models.run:fit"),
    (
        Example(
            "slowpath fit latency.csv --x bytes --y ns",
            "Print a model of the column ns as a function of the column bytes",
        ),
        Example(
            "slowpath fit latency.csv --x bytes --y ns --plot latency.svg",
            "Draw measurements and model into a picture",
        ),
        Example(
            "slowpath fit latency.csv --x bytes --y ns --query sizes.csv",
            "Predict the latency for the sizes in another file",
        ),
    ),
)
