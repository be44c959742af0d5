"""The command line of `slowpath chain`."""

from argparse import Namespace

from slowpath.analysis.flags import ANALYSIS, OUTPUT, SEARCH, form_option, written_options
from slowpath.cli.command import Command, Group, argument, load, option
from slowpath.commands.bound.command import FORMATS


def _bound(given: Namespace) -> int:
    from slowpath.analysis.options import read_request
    from slowpath.commands.bound.run import Output
    from slowpath.commands.chain.run import bound

    request = read_request([given.chain], written_options(given, [given.chain]))
    output = Output(load(FORMATS[given.format]), given.pcap, given.verbose)
    return bound(request, output)


BOUND = Command(
    (
        "Guarantee how fast a chain of programs is: find the slowest path that any packet can take "
        "through all of them.",
        "The description (YAML) names programs and which of them runs behind which, by the action "
        "that is returned. A packet that passes one program really gets to the next one as that "
        "has left it.",
    ),
    (
        argument("CHAIN", "The description of a chain (*.yaml)."),
        *ANALYSIS,
        option(
            SEARCH,
            "--paths",
            metavar="K|all",
            default="1",
            help="Report the K slowest satisfiable paths (default: %(default)s). The format table "
            "describes the first 100.",
        ),
        form_option(FORMATS, "json and csv are stable"),
        option(
            OUTPUT,
            "--pcap",
            metavar="FILE",
            help="Write the witness packets of all reported paths.",
        ),
        option(
            OUTPUT,
            "-v",
            "--verbose",
            action="store_true",
            help="Add the path's instructions and statistics.",
        ),
    ),
    _bound,
)
CHAIN = Group(
    ("Several programs as one: which runs behind which, and what that costs.",),
    (),
    {"bound": f"{__name__}:BOUND"},
)
