"""The command line of `slowpath insights FILE`."""

from argparse import Namespace

from slowpath.cli.command import Command, option
from slowpath.commands.insights.command import CODES, NEEDS, OUTPUT
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


def _advise(given: Namespace) -> int:
    from slowpath.commands.insights.advice.run import run

    return run(given)


ADVICE = Command(
    (
        "Advise how to port a network function: what to change, in which line, why, and by how "
        "much.",
        "Functions for accelerators are proved by running them; with a trace, blocks and accesses "
        "are counted, structures get a memory and an order of their variables, and a number of "
        "cores and neighbours on the card are advised. What is not known is said. Code runs in "
        "processes of their own, without files and network.",
        NEEDS,
        CODES,
    ),
    (
        SOURCE,
        option(
            TRAFFIC,
            "--traffic",
            metavar="TRACE",
            help="Ethernet frames as pcap or pcapng, which the function gets (default: none; then "
            "nothing is counted).",
        ),
        ENTRY,
        CONFIG,
        MAPS,
        SETUP,
        PACKETS,
        STRIP,
        BLOCKS,
        option(
            "Analysis",
            "--target",
            metavar="NAME",
            choices=("agilio-cx-2x40",),
            default="agilio-cx-2x40",
            help="The card: agilio-cx-2x40, the only one whose memories are known.",
        ),
        option(
            "Analysis",
            "--beside",
            metavar="FILE",
            action="append",
            help="Functions that it may share the card with: a report on another source "
            "(--traffic TRACE --format json), a table of functions (.csv) as insights cores reads, "
            "or groups of them as insights colocation reads. Can be repeated (default: itself and "
            "typical ones).",
        ),
        option(
            "Analysis",
            "--placement",
            metavar="FILE",
            help='Where structures stand now, as JSON: {"NAT::_flows": "imem"}; those that it '
            "lacks are in the farthest memory (default: all are).",
        ),
        CFLAGS,
        DEADLINE.saying("Stop after so many seconds with what is known by then (default: none)."),
        MEMORY,
        option(
            OUTPUT,
            "--html",
            metavar="FILE",
            help="Also write a page with the advice and the annotated source.",
        ),
        option(
            OUTPUT,
            "--format",
            choices=("text", "json", "csv"),
            default="text",
            help="How to write to standard output; json and csv are stable (default: %(default)s).",
        ),
    ),
    _advise,
)
