"""Defines and checks the command-line options that several insights commands share.

These commands read a source file or run it over a packet trace.
"""

import re
import time
from argparse import Namespace
from typing import TYPE_CHECKING, NamedTuple

from slowpath.bounds.flags import MAP_ABI as COMPILED_MAP_ABI
from slowpath.core import codes
from slowpath.core.command import Heading, argument, within
from slowpath.core.errors import OptionError
from slowpath.core.quantities import duration

if TYPE_CHECKING:
    from slowpath.core.engine import MapsFile
    from slowpath.core.programs.sources import Clang
    from slowpath.insights.source.sources import Source
    from slowpath.insights.trace import RunSettings


TRAFFIC = Heading("Traffic")
_MAX_COUNT = 1_000_000_000
"""Largest value of the options `--packets` and `--blocks`."""
TRACE_ENTRY = TRAFFIC.option(
    "--entry FUNCTION",
    "Pass the packets to FUNCTION: 'NAT::push' [default: found]",
    "The default is push, simple_action or pull of the element that the source exports. In "
    "other sources, it is the only function that no other function calls.",
)
CONFIG = TRAFFIC.option(
    "--config TEXT",
    "Configure the element as Click does: 'ADDRESS 192.0.2.1, TIMEOUT 60'",
    default="",
)
PACKETS = TRAFFIC.option(
    "--packets N",
    "Run only the first N packets of the trace",
    common=False,
    type=within(int, 1, _MAX_COUNT),
    default=100_000,
)
STRIP = TRAFFIC.option(
    "--strip BYTES",
    "Remove BYTES from the front of each packet",
    "BYTES is the size of the headers that earlier elements remove, such as 14 for Ethernet.",
    common=False,
    type=within(int, 0, 2048),
    default=0,
)
BLOCK_LIMIT = TRAFFIC.option(
    "--blocks COUNT",
    "Abort a packet after COUNT basic blocks, as an endless loop",
    "The run then ends with an error that names the packet.",
    common=False,
    type=within(int, 1, _MAX_COUNT),
    default=1_000_000,
)
MAPS = TRAFFIC.option(
    "--maps FILE",
    "Fill maps of an XDP program from FILE (TOML or JSON)",
    "FILE contains, for example, the rules of a firewall or the routes of a router. Maps that "
    "FILE does not name start empty. Program arrays start as in the object.",
    common=False,
    default=None,
)
SETUP = TRAFFIC.option(
    "--setup FUNCTION|CODE",
    "Run a function or C code before the first packet; repeatable",
    "A FUNCTION of the source gets zeros as arguments, and can create tables. CODE is "
    "compiled after the source, such as 'make(2); conf[0].queues = 1'. Functions run before "
    "CODE.",
    common=False,
    action="append",
    default=None,
)
_NAME = re.compile(r"[\w:.$~]+")
CLICK = ".click"
"""Suffix of Click configurations, whose elements are C++."""


def require_trace(options: Namespace) -> None:
    """Check that options for running the source are only given together with `--pcap`.

    Such options, like `--packets`, have no effect without a packet trace.

    Raises:
        OptionError: when an option is given without a trace.
    """
    if options.pcap is not None:
        return
    for name, value, option in (
        ("--config", options.config, CONFIG),
        ("--packets", options.packets, PACKETS),
        ("--strip", options.strip, STRIP),
        ("--blocks", options.blocks, BLOCK_LIMIT),
        ("--maps", options.maps, MAPS),
        ("--setup", options.setup, SETUP),
    ):
        if value != option.settings["default"]:
            raise OptionError(
                codes.OPTION_NEEDS_OPTION,
                name,
                "the option needs a run of the function; give a trace with --pcap",
            )


def read_maps(options: Namespace) -> "MapsFile | None":
    """Read the file of `--maps`: the content of BPF maps before the first packet.

    Return None if the option is not given.

    Raises:
        InputError: when the file cannot be read.
        OptionError: when the source is not an XDP program in C.
    """
    if options.maps is None:
        return None
    from slowpath.core.engine import MapsFile
    from slowpath.core.inputs import read_text
    from slowpath.insights.source.sources import is_xdp

    if not is_xdp(options.file):
        raise OptionError(
            codes.OPTION_WITHOUT_EFFECT,
            "--maps",
            f"the option applies only to XDP programs in C, but {options.file} is not an XDP "
            "program in C",
        )
    return MapsFile(options.maps, read_text(options.maps))


def split_setup(setup: list[str] | None) -> tuple[list[str], list[str]]:
    """Split the values of `--setup` into names of functions and lines of C code.

    The functions or the code run before the first packet.
    """
    setup = setup or []
    functions = [text for text in setup if _NAME.fullmatch(text)]
    return functions, [text for text in setup if text not in functions]


def run_settings(options: Namespace, maps: "MapsFile | None") -> "RunSettings":
    """Return the settings for running the source over a packet trace.

    They follow from the command-line options; `maps` is the result of `read_maps`.
    """
    from slowpath.insights.source.sources import SETUP as CODE
    from slowpath.insights.trace import RunSettings

    functions, code = split_setup(options.setup)
    setup = (*functions, *([CODE] if code else []))
    return RunSettings(
        options.entry, options.config, options.packets, options.strip, options.blocks, maps, setup
    )


_ANALYSIS = Heading("Analysis")
SOURCE = argument(
    "FILE",
    "Source in C or C++ (.c, .h, .cc, .cpp), or LLVM IR (.ll, .bc)",
    None,
    "clang compiles sources with -O1 -g.",
)
CFLAGS = _ANALYSIS.option(
    "--cflags FLAGS",
    "Pass FLAGS to clang: '-Iinclude -DNDEBUG'",
    "The compiler is $CLANG if it is set, else clang in PATH.",
)
MAP_ABI = COMPILED_MAP_ABI.with_help(
    "Select the way in which compiled programs access maps [default: call]",
    "call is for the stock firmware of the card, with maps of all types. array-pointer is for "
    "the firmware of the published measurements, with a single array.",
)
MAP_ABI = MAP_ABI._replace(settings={**MAP_ABI.settings, "default": "call"})
ENTRY = _ANALYSIS.option(
    "--entry FUNCTION",
    "Examine only FUNCTION and the functions that it calls [default: all]",
)
DEADLINE = _ANALYSIS.option(
    "--deadline TIME",
    "Stop after TIME, with the results so far [default: no limit]",
    "Each examined function also has its own limit.",
    common=False,
    type=within(duration, 0.1),
)
MEMORY = _ANALYSIS.option(
    "--memory SIZE",
    "Stop if memory exceeds SIZE [default: half of the free memory]",
    "SIZE is a number with a unit, such as 512MiB or 2G.",
    common=False,
)


class Limits(NamedTuple):
    """Compiler settings for a source, and the time and memory limits of a command."""

    clang: "Clang"
    seconds: float | None  # None: no limit
    memory: int | None  # bytes; None: no limit


class Work(NamedTuple):
    """A compiled source, with the settings it was compiled with, and time and memory limits."""

    source: "Source"
    clang: "Clang"
    seconds: float | None  # None: no limit
    memory: int | None  # bytes; None: no limit


def read_limits(options: Namespace) -> Limits:
    """Return the compiler settings, time limit and memory limit that the options set.

    Raises:
        OptionError: when an option is invalid.
    """
    from slowpath.bounds.options import read_option
    from slowpath.core.jobs.memory import default_limit, parse_size
    from slowpath.core.programs.sources import Clang

    flags: tuple[str, ...] = ()
    if options.cflags is not None:
        flags = read_option("--cflags", lambda text: _flags(text, options.file), options.cflags)
    flags = (*flags, *_setup(options))
    memory = default_limit()
    if options.memory is not None:
        memory = read_option("--memory", parse_size, options.memory)
    until = None if options.deadline is None else time.monotonic() + options.deadline
    return Limits(Clang(flags, until=until, memory_bytes=memory), options.deadline, memory)


def read_work(options: Namespace, *, runs: bool = False) -> Work:
    """Compile the source that the options name, and return it with the limits that they set.

    Most sources compile for this machine. Two kinds compile for BPF: XDP programs if the caller
    runs them (`runs`), and kernel sources that do not compile for this machine.

    Raises:
        InputError: when the file cannot be read or compiled, or the deadline passes first.
        OptionError: when an option is invalid.
    """
    from slowpath.core.errors import StoppedError
    from slowpath.insights.trace.xdp_sources import load_examined, load_runnable

    clang, _, memory = read_limits(options)
    if runs:
        source = load_runnable(options.file, clang, filled=options.maps is not None)
    else:
        source = load_examined(options.file, clang)
    left = None if clang.until is None else clang.until - time.monotonic()
    if left is not None and left <= 0:
        raise StoppedError(
            codes.STOPPED_AT_DEADLINE, options.file, "deadline while clang compiled the source"
        )
    return Work(source, clang, left, memory)


def _setup(options: Namespace) -> tuple[str, ...]:
    """Return flags with which clang compiles the C code given by `--setup` into the source.

    There are none if the command has no such option.

    Raises:
        OptionError: when the file is not C or C++, or a piece of code is not a single line.
    """
    from slowpath.insights.source.sources import is_source, setup_flags

    code = split_setup(options.setup)[1] if "setup" in options else []
    if code and not is_source(options.file):
        raise OptionError(
            codes.OPTION_WITHOUT_EFFECT,
            "--setup",
            "the file is not a source in C or C++, so CODE cannot be compiled; name a FUNCTION",
        )
    if any(cut in piece for piece in code for cut in ("\n", "\r", "//")):
        raise OptionError(
            codes.INVALID_VALUE,
            "--setup",
            "the option takes one line of C without //; repeat the option for each line",
        )
    return setup_flags(code)


def _flags(text: str, file: str) -> tuple[str, ...]:
    """Split the text of `--cflags` into separate flags for clang, as a shell does.

    Raises:
        ValueError: when a quotation is not closed, or the source `file` is not C or C++.
    """
    import shlex

    from slowpath.insights.source.sources import is_source

    if not is_source(file) and not file.endswith(CLICK):
        raise ValueError("clang does not compile this file, because it is not a source in C or C++")
    return tuple(shlex.split(text))
