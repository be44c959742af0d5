"""The command line of `slowpath contention diagnose`."""

from argparse import Namespace

from slowpath.cli.command import Command, argument, option
from slowpath.commands.contention.command import (
    CODES,
    CONFIDENCE,
    FORMAT,
    MODEL,
    NEEDS,
    OUTPUT,
    TRAFFIC,
    WITH,
)


def _diagnose(given: Namespace) -> int:
    from slowpath.commands.contention.diagnose.run import run

    return run(given)


DIAGNOSE = Command(
    (
        "Tell which resource holds a function back, by how much, and where that changes.",
        "The margin is how much faster the function would be if the bottleneck did not limit it: "
        "as fast as the next resource allows.",
        NEEDS,
        CODES,
    ),
    (
        argument("MODEL", "A model of `slowpath contention train`."),
        WITH,
        TRAFFIC,
        option(
            MODEL,
            "--sweep",
            metavar="NAME=A:B[:N]",
            help="How the bottleneck moves along flows, size or mtbr, from A to B; N values are "
            "looked at (default: 101), and where it changes between two of them is located.",
        ),
        option(
            MODEL,
            "--what-if",
            dest="what_if",
            metavar="CHANGE",
            action="append",
            help="What one change would do: 'regex queues x2', 'regex time x0.5', 'flows x10', "
            "'mtbr =300', 'without fw.model.json'; may be given several times.",
        ),
        CONFIDENCE,
        option(
            OUTPUT,
            "--plot",
            metavar="FILE",
            help="Draw the curve of the sweep, coloured by bottleneck; FILE ends in .svg or .png.",
        ),
        option(
            OUTPUT,
            "--html",
            metavar="FILE",
            help="Write a page with the curve of the sweep, coloured by bottleneck.",
        ),
        FORMAT,
    ),
    _diagnose,
)
