"""The command line of `slowpath insights counts`."""

from argparse import Namespace

from slowpath.cli.command import Command, option, within
from slowpath.commands.insights.command import CODES, FORMAT, NEEDS, OUTPUT
from slowpath.commands.insights.compiling import CFLAGS, DEADLINE, MEMORY, SOURCE

_TRAFFIC = "Traffic"
_MOST = 1_000_000_000


def _counts(given: Namespace) -> int:
    from slowpath.commands.insights.counts.run import run

    return run(given)


COUNTS = Command(
    (
        "Count what a function does with the packets of a trace, as it would on a card.",
        "The function runs here, on tables as cards have them (fixed buckets and slots, nothing "
        "allocated): how often each block of it runs, and how often each data structure and member "
        "is read and written. Elements in the manner of Click compile with headers that come "
        "along; docs/insights.md says what is in them. The function runs in a process without "
        "files and network.",
        NEEDS,
        CODES,
    ),
    (
        SOURCE,
        option(
            _TRAFFIC,
            "--traffic",
            metavar="FILE",
            required=True,
            help="The trace: Ethernet frames as pcap or pcapng.",
        ),
        option(
            _TRAFFIC,
            "--packets",
            metavar="COUNT",
            type=within(int, 1, _MOST),
            default=100_000,
            help="Run the first packets of it only (default: %(default)s).",
        ),
        option(
            _TRAFFIC,
            "--strip",
            metavar="BYTES",
            type=within(int, 0, 2048),
            default=0,
            help="Take so many bytes off each packet in front of the function, as elements before "
            "it would do: 14 of Ethernet (default: %(default)s).",
        ),
        option(
            _TRAFFIC,
            "--entry",
            metavar="FUNCTION",
            help="The function that gets the packets: 'NAT::push' (default: push, simple_action or "
            "pull of the element that the source exports, else its only function).",
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
            "--blocks",
            metavar="COUNT",
            type=within(int, 1, _MOST),
            default=1_000_000,
            help="A packet for which more blocks run is one that does not come to an end "
            "(default: %(default)s).",
        ),
        CFLAGS,
        DEADLINE._replace(
            settings={
                **DEADLINE.settings,
                "help": "Stop after so many seconds, with an error where packets are left "
                "(default: none; each packet has a limit of its own).",
            }
        ),
        MEMORY,
        option(
            OUTPUT,
            "--placement-out",
            metavar="FILE",
            help="Write the structures with their accesses, for slowpath insights placement.",
        ),
        option(
            OUTPUT,
            "--coalescing-out",
            metavar="FILE",
            help="Write variables and the blocks that touch them, for slowpath insights "
            "coalescing.",
        ),
        FORMAT,
    ),
    _counts,
)
