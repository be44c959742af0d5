"""The command line of `slowpath insights cores`."""

from argparse import Namespace

from slowpath.cli.command import Command, option, within
from slowpath.commands.insights.command import CODES, FORMAT, NEEDS, PREDICTIONS

FUNCTIONS = "Functions"
_TRAFFIC = ("hit", "miss")


def _cores(given: Namespace) -> int:
    from slowpath.commands.insights.cores.run import run

    return run(given)


CORES = Command(
    (
        "Predict throughput and latency of a function by cores of the card, and advise a number.",
        "More cores are worth it until something that all of them share is full. The advised "
        "number is where a curve bends, with an interval; docs/insights.md has the rule and the "
        "columns of tables. Without --train, a model is used that was fitted to published "
        "measurements of a Netronome Agilio CX.",
        NEEDS,
        CODES,
    ),
    (
        option(
            FUNCTIONS,
            "--query",
            metavar="FILE",
            required=True,
            help="Table of functions and numbers of cores to predict for; CSV, may be compressed "
            "with gzip.",
        ),
        option(
            FUNCTIONS,
            "--train",
            metavar="FILE",
            help="Table of measured functions to learn from, at each of 24, 30, ... 60 cores.",
        ),
        option(
            FUNCTIONS,
            "--traffic",
            choices=_TRAFFIC,
            help="Without --train: whether accesses to external memory mostly hit its cache (few "
            f"large flows) or miss it (many small ones) (default: {_TRAFFIC[0]}).",
        ),
        option(
            FUNCTIONS,
            "--confidence",
            metavar="PERCENT",
            type=within(float, 50, 99),
            default=90.0,
            help="How often the interval has the number of cores that measurements lead to "
            "(default: %(default)s).",
        ),
        PREDICTIONS,
        FORMAT,
    ),
    _cores,
)
