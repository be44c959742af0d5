"""Options of commands that run a function over a trace."""

import re
from argparse import Namespace
from typing import TYPE_CHECKING

from slowpath.cli.command import option, within
from slowpath.cli.errors import OptionError

if TYPE_CHECKING:
    from slowpath.engine.errors import MapsFile
    from slowpath.insights.porting.setting import Setting

TRAFFIC = "Traffic"
_MOST = 1_000_000_000
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
    type=within(int, 1, _MOST),
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
BLOCKS = option(
    TRAFFIC,
    "--blocks",
    metavar="COUNT",
    type=within(int, 1, _MOST),
    default=1_000_000,
    help="A packet for which more blocks run is one that does not come to an end "
    "(default: %(default)s).",
)
MAPS = option(
    TRAFFIC,
    "--maps",
    metavar="FILE",
    default=None,
    help="What maps of an XDP program hold before the first packet (TOML or JSON): the rules of a "
    "firewall, the routes of a router. Those that it does not name are empty, and program arrays "
    "as the object has them.",
)
SETUP = option(
    TRAFFIC,
    "--setup",
    metavar="FUNCTION|CODE",
    action="append",
    default=None,
    help="Call a function of the source before the first packet, with zeros for its arguments: one "
    "that makes tables. Or run code, compiled behind the source: 'make(2); conf[0].queues = 1'. "
    "May be repeated; functions run first.",
)
_NAME = re.compile(r"[\w:.$~]+")


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
        ("--blocks", given.blocks, BLOCKS),
        ("--maps", given.maps, MAPS),
        ("--setup", given.setup, SETUP),
    ):
        if value != least.settings["default"]:
            raise OptionError(name, "is for a function that runs; --traffic is missing")


def read_maps(given: Namespace) -> "MapsFile | None":
    """Return the content of maps before the first packet; None without --maps.

    Raises:
        InputError: when the file cannot be read.
        OptionError: when the source has no maps that run here.
    """
    if given.maps is None:
        return None
    from slowpath.cli.inputs import read_text
    from slowpath.engine.errors import MapsFile
    from slowpath.insights.preparation.kernel import is_xdp

    if not is_xdp(given.file):
        raise OptionError("--maps", f"is for XDP programs in C; {given.file} is none")
    return MapsFile(given.maps, read_text(given.maps))


def split_setup(setup: list[str] | None) -> tuple[list[str], list[str]]:
    """Return the functions of --setup, and its code."""
    setup = setup or []
    functions = [one for one in setup if _NAME.fullmatch(one)]
    return functions, [one for one in setup if one not in functions]


def setting_of(given: Namespace, maps: "MapsFile | None") -> "Setting":
    """Return what a run is told, by the options."""
    from slowpath.insights.porting.setting import Setting
    from slowpath.insights.preparation.framework import SETUP as CODE

    functions, code = split_setup(given.setup)
    setup = (*functions, *([CODE] if code else []))
    return Setting(given.entry, given.config, given.packets, given.strip, given.blocks, maps, setup)
