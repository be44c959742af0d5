"""The command line of `slowpath contention suggest`."""

from argparse import Namespace

from slowpath.cli.command import Command, argument, option, within
from slowpath.commands.contention.command import CODES, FORMAT, NEEDS
from slowpath.commands.contention.place.command import MEASURED, NOISE
from slowpath.commands.contention.suggest.defaults import MIXES, SURE

SUGGESTING = "What to measure"


def _suggest(given: Namespace) -> int:
    from slowpath.commands.contention.suggest.run import run

    return run(given)


SUGGEST = Command(
    (
        "Tell which mixes a fleet should measure before it places functions in them.",
        "FLEET is that of `slowpath contention place`, which counts on what was measured to within "
        "its noise, and on predictions as far as it has to be sure of them. Suggested are mixes "
        "that the fleet would use if predictions were true, those first that are on most NICs. "
        "With --format csv, the answer is the table that --measured takes, its throughputs left "
        "open.",
        NEEDS,
        CODES,
    ),
    (
        argument("FLEET", "A description of a fleet, in YAML."),
        option(
            SUGGESTING,
            "--mixes",
            metavar="N",
            type=within(int, 1, 10_000),
            default=MIXES,
            help="At most so many (default: %(default)s).",
        ),
        MEASURED,
        NOISE,
        option(
            SUGGESTING,
            "--sure",
            metavar="SHARE",
            type=within(float, 0.51, 0.999),
            default=SURE,
            help="That of placements later on: with which probability promises have to be kept "
            "(default: %(default)s).",
        ),
        FORMAT,
    ),
    _suggest,
)
