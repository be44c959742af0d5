"""The command line of `slowpath contention profile`."""

from argparse import Namespace

from slowpath.cli.command import Command, argument, option, within
from slowpath.commands.contention.command import NEEDS, OUTPUT
from slowpath.contention.host.setup import PLANS

_MEASURING = "Measuring"


def _profile(given: Namespace) -> int:
    from slowpath.commands.contention.profile.run import run

    return run(given)


PROFILE = Command(
    (
        "Measure how fast a function is beside competitors on this machine.",
        "A YAML file describes the function, its traffic, its competitors, and how much is to be "
        "measured (docs/contention.md). Each runs on a CPU of its own, alone and beside the others "
        "in turns; blocks in which something else had the CPU are made again. The folder then has "
        "tables for `slowpath contention train`, and a record of the machine and of the noise.",
        NEEDS,
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be used, or this machine lacks "
        "something, 4 stopped before all was measured.",
    ),
    (
        argument("FILE", "The description, such as examples/contention/flow-monitor.yaml."),
        option(
            _MEASURING,
            "--mixes",
            metavar="N",
            type=within(int, 1, 100_000),
            help="Measure so many mixes of traffic and competitors (default: what the file says).",
        ),
        option(
            _MEASURING,
            "--plan",
            choices=PLANS,
            help="How these are chosen: at random, on a grid, adaptively where traffic makes a "
            "difference (the paper's Algorithm 1), or where a model is least sure (default: what "
            "the file says).",
        ),
        option(
            _MEASURING,
            "--deadline",
            metavar="SECONDS",
            type=within(float, 0),
            help="End after this time, with what was measured by then.",
        ),
        option(
            OUTPUT,
            "-o",
            "--output",
            metavar="FOLDER",
            required=True,
            help="Where to write the tables and the record.",
        ),
        option(
            OUTPUT,
            "--format",
            choices=("table", "json"),
            default="table",
            help="How to write to standard output; json is the record (default: %(default)s).",
        ),
    ),
    _profile,
)
