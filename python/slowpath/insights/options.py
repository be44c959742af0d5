"""Options of commands that read a source or run it over a trace."""

import re
import time
from argparse import Namespace
from typing import TYPE_CHECKING, NamedTuple

from slowpath.core.command import Heading, argument, within
from slowpath.core.errors import OptionError

if TYPE_CHECKING:
    from slowpath.core.engine.errors import MapsFile
    from slowpath.core.programs.sources import Clang
    from slowpath.insights.source.sources import Source
    from slowpath.insights.trace.request import RunSettings


TRAFFIC = Heading("Traffic")
_MOST = 1_000_000_000
"""Largest value of options that count something."""
TRACE_ENTRY = TRAFFIC.option(
    "--entry FUNCTION",
    "Pass the packets to FUNCTION: 'NAT::push' (default: push, simple_action or pull of the "
    "element that the source exports, else the only function that no other calls).",
)
CONFIG = TRAFFIC.option(
    "--config TEXT", "Configure the element with TEXT: 'ADDRESS 192.0.2.1, TIMEOUT 60'.", default=""
)
PACKETS = TRAFFIC.option(
    "--packets COUNT",
    "Run only the first COUNT packets of the trace (default: %(default)s).",
    type=within(int, 1, _MOST),
    default=100_000,
)
STRIP = TRAFFIC.option(
    "--strip BYTES",
    "Remove BYTES from the front of each packet before the function, as earlier elements "
    "would: 14 for Ethernet (default: %(default)s).",
    type=within(int, 0, 2048),
    default=0,
)
BLOCK_LIMIT = TRAFFIC.option(
    "--blocks COUNT",
    "Stop with an error if one packet executes more than COUNT basic blocks (treated as an "
    "endless loop) (default: %(default)s).",
    type=within(int, 1, _MOST),
    default=1_000_000,
)
MAPS = TRAFFIC.option(
    "--maps FILE",
    "Fill maps of an XDP program from FILE (TOML or JSON) before the first packet: rules of a "
    "firewall, routes of a router. Maps that FILE does not name start empty, and program arrays as "
    "in the object.",
    default=None,
)
SETUP = TRAFFIC.option(
    "--setup FUNCTION|CODE",
    "Call FUNCTION of the source before the first packet, with zeros as arguments, to create "
    "tables for example. Or run CODE, compiled after the source: 'make(2); conf[0].queues = 1'. "
    "Can be repeated; functions run first.",
    action="append",
    default=None,
)
_NAME = re.compile(r"[\w:.$~]+")


def require_trace(given: Namespace) -> None:
    """Check that no option of a run is given without a trace.

    Raises:
        OptionError: when one is given.
    """
    if given.traffic is not None:
        return
    for name, value, least in (
        ("--config", given.config, CONFIG),
        ("--packets", given.packets, PACKETS),
        ("--strip", given.strip, STRIP),
        ("--blocks", given.blocks, BLOCK_LIMIT),
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
    from slowpath.core.engine.errors import MapsFile
    from slowpath.core.inputs import read_text
    from slowpath.insights.source.sources import is_xdp

    if not is_xdp(given.file):
        raise OptionError("--maps", f"is for XDP programs in C; {given.file} is none")
    return MapsFile(given.maps, read_text(given.maps))


def split_setup(setup: list[str] | None) -> tuple[list[str], list[str]]:
    """Return the functions of --setup, and its code."""
    setup = setup or []
    functions = [one for one in setup if _NAME.fullmatch(one)]
    return functions, [one for one in setup if one not in functions]


def run_settings(given: Namespace, maps: "MapsFile | None") -> "RunSettings":
    """Return the settings of a run from the options."""
    from slowpath.insights.source.framework import SETUP as CODE
    from slowpath.insights.trace.request import RunSettings

    functions, code = split_setup(given.setup)
    setup = (*functions, *([CODE] if code else []))
    return RunSettings(
        given.entry, given.config, given.packets, given.strip, given.blocks, maps, setup
    )


_ANALYSIS = Heading("Analysis")
SOURCE = argument(
    "FILE",
    "A source in C or C++ (.c, .h, .cc, .cpp), compiled by clang with -O1 -g, or LLVM IR "
    "(.ll, .bc).",
)
CFLAGS = _ANALYSIS.option(
    "--cflags FLAGS", "Pass FLAGS to clang ($CLANG, else the one in PATH): '-Iinclude -DNDEBUG'."
)
ENTRY = _ANALYSIS.option(
    "--entry FUNCTION",
    "Examine only FUNCTION and its callees (default: all functions that the file defines).",
)
DEADLINE = _ANALYSIS.option(
    "--deadline SECONDS",
    "Stop after SECONDS and report the results so far (default: none; each function has its "
    "own limits).",
    type=within(float, 0.1),
)
MEMORY = _ANALYSIS.option(
    "--memory SIZE",
    "Stop when more than SIZE of memory is used: 500M, 2G (default: half of the free memory).",
)


class Limits(NamedTuple):
    """Compiler settings of a source, and limits of time and memory."""

    clang: "Clang"
    seconds: float | None  # None: no limit
    memory: int | None  # bytes; None: no limit


class Work(NamedTuple):
    """A source with its compiler settings, and limits of time and memory."""

    source: "Source"
    clang: "Clang"
    seconds: float | None  # None: no limit
    memory: int | None  # bytes; None: no limit


def read_limits(given: Namespace) -> Limits:
    """Return the compiler settings and limits that the options set.

    Raises:
        OptionError: when an option is invalid.
    """
    from slowpath.bounds.options import read_option
    from slowpath.core.jobs.memory import default_limit, parse_size
    from slowpath.core.programs.sources import Clang

    flags: tuple[str, ...] = ()
    if given.cflags is not None:
        flags = read_option("--cflags", lambda text: _flags(text, given.file), given.cflags)
    flags = (*flags, *_setup(given))
    memory = default_limit()
    if given.memory is not None:
        memory = read_option("--memory", parse_size, given.memory)
    until = None if given.deadline is None else time.monotonic() + given.deadline
    return Limits(Clang(flags, until=until, memory_bytes=memory), given.deadline, memory)


def read_work(given: Namespace, *, runs: bool = False) -> Work:
    """Compile the source, and return it with the limits that the options set.

    Sources compile for this machine. XDP programs that run (`runs`), and kernel sources that do not
    compile for this machine, compile for BPF.

    Raises:
        InputError: when the file cannot be read or compiled, or the deadline passed.
        OptionError: when an option is invalid.
    """
    from slowpath.core.errors import StoppedError
    from slowpath.insights.trace.xdp_sources import load_examined, load_runnable

    clang, _, memory = read_limits(given)
    if runs:
        source = load_runnable(given.file, clang, filled=given.maps is not None)
    else:
        source = load_examined(given.file, clang)
    left = None if clang.until is None else clang.until - time.monotonic()
    if left is not None and left <= 0:
        raise StoppedError(given.file, "deadline while clang compiled it")
    return Work(source, clang, left, memory)


def _setup(given: Namespace) -> tuple[str, ...]:
    """Return clang flags for the code of `--setup`; none if the command lacks the option.

    Raises:
        OptionError: when clang does not compile the file, or a piece of code is not a single line.
    """
    from slowpath.insights.source.sources import is_source, setup_flags

    code = split_setup(given.setup)[1] if "setup" in given else []
    if code and not is_source(given.file):
        raise OptionError("--setup", "the file is no source in C or C++: only functions can run")
    if any(cut in piece for piece in code for cut in ("\n", "\r", "//")):
        raise OptionError("--setup", "is one line of C without //; give it once for each line")
    return setup_flags(code)


def _flags(text: str, file: str) -> tuple[str, ...]:
    """Split flags for clang as a shell does.

    Raises:
        ValueError: when a quotation is not closed, or clang does not compile the file.
    """
    import shlex

    from slowpath.insights.source.sources import is_source

    if not is_source(file):
        raise ValueError("the file is no source in C or C++, nothing is compiled by clang")
    return tuple(shlex.split(text))
