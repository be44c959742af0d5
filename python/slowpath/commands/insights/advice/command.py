"""The command line of `slowpath insights FILE`."""

from argparse import Namespace

from slowpath.cli.command import Command, option, within
from slowpath.commands.insights.compiling import CFLAGS, DEADLINE, MEMORY, SOURCE

_TRAFFIC = "Traffic"
_OUTPUT = "Output"
_MOST = 1_000_000_000


def _advise(given: Namespace) -> int:
    from slowpath.commands.insights.advice.run import run

    return run(given)


ADVICE = Command(
    (
        "Advise how to port a network function: what to change, in which line, why, and by how "
        "much.",
        "Functions for accelerators are proved by running them; with a trace, blocks and accesses "
        "are counted, and structures get a memory and an order of their variables. What is not "
        "known is said. Code runs in processes of their own, without files and network.",
        "Needs the extra `insights`: pip install slowpath[insights].",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read, used or written.",
    ),
    (
        SOURCE,
        option(
            _TRAFFIC,
            "--traffic",
            metavar="TRACE",
            help="Ethernet frames as pcap or pcapng, which the function gets (default: none; then "
            "nothing is counted).",
        ),
        option(
            _TRAFFIC,
            "--entry",
            metavar="FUNCTION",
            help="The function that gets the packets: 'NAT::push' (default: what the source's "
            "element takes packets with, or its only function).",
        ),
        option(
            _TRAFFIC,
            "--config",
            metavar="TEXT",
            default="",
            help="Configuration of the element: 'ADDRESS 192.0.2.1, TIMEOUT 60'.",
        ),
        option(
            _TRAFFIC,
            "--packets",
            metavar="COUNT",
            type=within(int, 1, _MOST),
            default=100_000,
            help="Run the first packets of the trace only (default: %(default)s).",
        ),
        option(
            _TRAFFIC,
            "--strip",
            metavar="BYTES",
            type=within(int, 0, 2048),
            default=0,
            help="Take so many bytes off each packet in front of the function (default: "
            "%(default)s).",
        ),
        option(
            "Analysis",
            "--target",
            metavar="NAME",
            choices=("agilio-cx-2x40",),
            default="agilio-cx-2x40",
            help="The card: agilio-cx-2x40, the only one whose memories are known.",
        ),
        CFLAGS,
        DEADLINE._replace(
            settings={
                **DEADLINE.settings,
                "help": "Stop after so many seconds with what is known by then, or with an error "
                "where packets of the trace are left (default: none).",
            }
        ),
        MEMORY,
        option(
            _OUTPUT,
            "--html",
            metavar="FILE",
            help="Also write a page with the advice and the annotated source.",
        ),
        option(
            _OUTPUT,
            "--format",
            choices=("text", "json", "csv"),
            default="text",
            help="How to write to standard output; json and csv are stable (default: %(default)s).",
        ),
    ),
    _advise,
)
