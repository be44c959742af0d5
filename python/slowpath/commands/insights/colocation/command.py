"""The command line of `slowpath insights colocation`."""

from argparse import Namespace

from slowpath.cli.command import Command, option
from slowpath.commands.insights.command import CODES, FORMAT, NEEDS, PREDICTIONS

GROUPS = "Groups"


def _colocation(given: Namespace) -> int:
    from slowpath.commands.insights.colocation.run import run

    return run(given)


COLOCATION = Command(
    (
        "Predict which functions of a group may share the card, by what sharing costs each pair.",
        "Groups are four functions of which two get half of the cores each, with or without what "
        "each does alone (`solo`); docs/insights.md has the keys and the scores. Without --train, "
        "a model is used that was fitted to published measurements of a Netronome Agilio CX.",
        NEEDS,
        CODES,
    ),
    (
        option(
            GROUPS,
            "--query",
            metavar="FILE",
            required=True,
            help="Groups to predict for, a JSON object on each line; may be compressed with gzip.",
        ),
        option(
            GROUPS,
            "--train",
            metavar="FILE",
            help="Groups that were measured alone and in pairs, to learn from.",
        ),
        PREDICTIONS,
        FORMAT,
    ),
    _colocation,
)
