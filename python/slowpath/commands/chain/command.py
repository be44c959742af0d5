"""The command line of `slowpath chain`."""

from argparse import Namespace

from slowpath.analysis.flags import ANALYSIS, MAP_ABI, PROG_NAME, SECTION, written_options
from slowpath.cli.command import Command, Group, argument, load
from slowpath.commands.bound.command import FORMATS, REPORTING


def _bound(given: Namespace) -> int:
    from slowpath.analysis.options import read_request
    from slowpath.commands.bound.run import Output
    from slowpath.commands.chain.run import bound

    request = read_request([given.chain], written_options(given, [given.chain]))
    output = Output(load(FORMATS[given.format]), given.pcap, given.verbose, "chain bound")
    return bound(request, output)


BOUND = Command(
    (
        "Guarantee how fast a chain of programs is: find the slowest path that any packet can take "
        "through all of them.",
        "The description (YAML) names programs and which of them runs behind which, by the action "
        "that is returned. A packet that passes one program gets to the next one as the first one "
        "has left it; programs that no packet reaches are named.",
    ),
    (
        argument("CHAIN", "The description of a chain (*.yaml)."),
        *(one for one in ANALYSIS if one not in (SECTION, PROG_NAME, MAP_ABI)),
        *REPORTING,
    ),
    _bound,
)
CHAIN = Group(
    ("Several programs as one: which runs behind which, and what that costs.",),
    (),
    {"bound": f"{__name__}:BOUND"},
)
