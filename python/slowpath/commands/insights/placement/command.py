"""The command line of `slowpath insights placement`."""

from argparse import Namespace

from slowpath.cli.command import Command, argument, option, within
from slowpath.commands.insights.command import CODES, FORMAT, NEEDS

PLACING = "How to place"


def _place(given: Namespace) -> int:
    from slowpath.commands.insights.placement.run import run

    return run(given)


PLACEMENT = Command(
    (
        "Find the memory of a card on which each data structure of a function costs least, or lets "
        "most packets through.",
        "FILE has levels with capacities and prices, and cases: structures with sizes and "
        "accesses; docs/insights.md has its keys. The placement is proved to be the best, or a "
        "bound says what may be possible. A case with cores is placed for throughput: structures "
        "are spread over memories where the bandwidth of one would limit it.",
        NEEDS,
        CODES,
    ),
    (
        argument("FILE", "Memories, structures and accesses, as JSON."),
        option(
            PLACING,
            "--unpriced",
            choices=("forbidden", "free"),
            default="forbidden",
            help="What becomes of accesses that have no price on a level: such levels are "
            "forbidden, or these accesses cost nothing there (default: %(default)s).",
        ),
        option(
            PLACING,
            "--objective",
            choices=("cost", "throughput"),
            help="What is as good as can be: the cost of all accesses, or packets in a second and "
            "then cost (default: throughput of cases with cores, cost of others).",
        ),
        option(
            PLACING,
            "--deadline",
            metavar="SECONDS",
            type=within(float, 0),
            default=10.0,
            help="Stop the search for a placement after this time, with the best so far and a "
            "bound (default: 10; 0: none).",
        ),
        FORMAT,
    ),
    _place,
)
