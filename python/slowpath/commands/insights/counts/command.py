"""The command line of `slowpath insights counts`."""

from argparse import Namespace

from slowpath.cli.command import Command, option
from slowpath.commands.insights.command import CODES, FORMAT, NEEDS, OUTPUT
from slowpath.commands.insights.compiling import CFLAGS, DEADLINE, MEMORY, SOURCE
from slowpath.commands.insights.traces import (
    BLOCKS,
    CONFIG,
    ENTRY,
    MAPS,
    PACKETS,
    SETUP,
    STRIP,
    TRAFFIC,
)


def _counts(given: Namespace) -> int:
    from slowpath.commands.insights.counts.run import run

    return run(given)


COUNTS = Command(
    (
        "Count what a function does with the packets of a trace, as it would on a card.",
        "The function runs here, on tables as cards have them (fixed buckets and slots, nothing "
        "allocated): how often each block of it runs, and how often each data structure and member "
        "is read and written. Elements in the manner of Click compile with headers that come "
        "along, XDP programs in C run as they are, with maps as such tables; docs/insights.md says "
        "more. The function runs in a process without files and network.",
        NEEDS,
        CODES,
    ),
    (
        SOURCE,
        option(
            TRAFFIC,
            "--traffic",
            metavar="FILE",
            required=True,
            help="The trace: Ethernet frames as pcap or pcapng.",
        ),
        PACKETS,
        STRIP,
        ENTRY,
        CONFIG,
        MAPS,
        SETUP,
        BLOCKS,
        CFLAGS,
        DEADLINE.saying(
            "Stop after so many seconds with the packets that have run by then "
            "(default: none; each packet has a limit of its own)."
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
