"""Options of commands that run a function over a trace."""

from argparse import Namespace

from slowpath.cli.command import option, within
from slowpath.cli.errors import OptionError

TRAFFIC = "Traffic"
MOST = 1_000_000_000
"""Of what is counted."""
ENTRY = option(
    TRAFFIC,
    "--entry",
    metavar="FUNCTION",
    help="The function that gets the packets: 'NAT::push' (default: push, simple_action or pull of "
    "the element that the source exports, else the only function that no other calls).",
)
CONFIG = option(
    TRAFFIC,
    "--config",
    metavar="TEXT",
    default="",
    help="Configuration of the element: 'ADDRESS 192.0.2.1, TIMEOUT 60'.",
)
PACKETS = option(
    TRAFFIC,
    "--packets",
    metavar="COUNT",
    type=within(int, 1, MOST),
    default=100_000,
    help="Run the first packets of the trace only (default: %(default)s).",
)
STRIP = option(
    TRAFFIC,
    "--strip",
    metavar="BYTES",
    type=within(int, 0, 2048),
    default=0,
    help="Take so many bytes off each packet in front of the function, as elements before it would "
    "do: 14 of Ethernet (default: %(default)s).",
)


def check_traced(given: Namespace) -> None:
    """Finds out that options of a run are not given without a trace.

    Raises:
        OptionError: when one is.
    """
    if given.traffic is not None:
        return
    for name, value, least in (
        ("--config", given.config, CONFIG),
        ("--packets", given.packets, PACKETS),
        ("--strip", given.strip, STRIP),
    ):
        if value != least.settings["default"]:
            raise OptionError(name, "is for a function that runs; --traffic is missing")
