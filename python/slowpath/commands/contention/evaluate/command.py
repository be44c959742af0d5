"""The command line of `slowpath contention evaluate`."""

from argparse import Namespace

from slowpath.cli.command import Command, argument, option, within
from slowpath.commands.contention.command import CODES, CONFIDENCE, FORMAT, MODEL, NEEDS, OUTPUT


def _evaluate(given: Namespace) -> int:
    from slowpath.commands.contention.evaluate.run import run

    return run(given)


EVALUATE = Command(
    (
        "Tell how well memory models predict rows that they have not seen.",
        "By nested cross-validation: rows with equal contention are held out together, and in each "
        "fold everything else is done without them, the choice among models included (`chosen`).",
        NEEDS,
        CODES,
    ),
    (
        argument("TABLE", "Tables of throughput beside competitors.", many=True),
        option(
            MODEL,
            "--recipe",
            metavar="NAME",
            action="append",
            help="Evaluate this model only; may be given several times.",
        ),
        option(
            MODEL,
            "--repetitions",
            metavar="N",
            type=within(int, 1, 100),
            default=1,
            help="How many times to draw the folds (default: %(default)s).",
        ),
        CONFIDENCE,
        option(
            OUTPUT,
            "--plot",
            metavar="FILE",
            help="Draw predicted against measured, row by row, with intervals: of the choice, or "
            "of the models named; FILE ends in .svg or .png.",
        ),
        option(
            OUTPUT,
            "--html",
            metavar="FILE",
            help="Write a page with the table and the same figures.",
        ),
        FORMAT,
    ),
    _evaluate,
)
