"""Options and sources of the commands of insights that read a source."""

import time
from argparse import Namespace
from typing import TYPE_CHECKING, NamedTuple

from slowpath.cli.command import argument, option, within
from slowpath.cli.errors import OptionError
from slowpath.commands.insights.traces import split_setup

if TYPE_CHECKING:
    from slowpath.insights.preparation.sources import Source
    from slowpath.programs.sources import Clang

_ANALYSIS = "Analysis"
SOURCE = argument(
    "FILE",
    "A source in C or C++ (.c, .h, .cc, .cpp), which clang compiles with -O1 -g, or LLVM's "
    "intermediate language (.ll, .bc).",
)
CFLAGS = option(
    _ANALYSIS,
    "--cflags",
    metavar="FLAGS",
    help="Flags for clang ($CLANG, else the one in PATH): '-Iinclude -DNDEBUG'.",
)
ENTRY = option(
    _ANALYSIS,
    "--entry",
    metavar="FUNCTION",
    help="Examine this function and what it calls only (default: all of the file's own).",
)
DEADLINE = option(
    _ANALYSIS,
    "--deadline",
    metavar="SECONDS",
    type=within(float, 0.1),
    help="Stop after so many seconds with what is known by then (default: none; each function has "
    "limits of its own).",
)
MEMORY = option(
    _ANALYSIS,
    "--memory",
    metavar="SIZE",
    help="Stop when it takes more memory than this: 500M, 2G (default: half of what is free).",
)


class Limits(NamedTuple):
    """How a source is compiled, and what may be spent on it."""

    clang: "Clang"
    seconds: float | None  # None: no limit
    memory: int | None  # bytes; None: no limit


class Work(NamedTuple):
    """A source, how it was compiled, and what may be spent on it."""

    source: "Source"
    clang: "Clang"
    seconds: float | None  # None: no limit
    memory: int | None  # bytes; None: no limit


def read_limits(given: Namespace) -> Limits:
    """What the options ask for.

    Raises:
        OptionError: when an option makes no sense.
    """
    from slowpath.analysis.options import read_option
    from slowpath.programs.sources import Clang
    from slowpath.work.memory import default_limit, parse_size

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
    """What the options ask for; the source is compiled.

    It is for this machine; an XDP program that runs, or that does not compile for it, is for BPF.

    Raises:
        InputError: when the file cannot be read or compiled, or there is no time left for more.
        OptionError: when an option makes no sense.
    """
    from slowpath.cli.errors import StoppedError
    from slowpath.insights.porting.xdp.sources import load_examined, load_runnable

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
    """Return the flags for set-up code, where the command has the option.

    Raises:
        OptionError: when the file is not compiled, so that no code can name what it has.
    """
    from slowpath.insights.preparation.sources import is_source, setup_flags

    code = split_setup(given.setup)[1] if "setup" in given else []
    if code and not is_source(given.file):
        raise OptionError("--setup", "the file is no source in C or C++: only functions can run")
    if any(cut in piece for piece in code for cut in ("\n", "\r", "//")):
        raise OptionError("--setup", "is one line of C without //; give it once for each line")
    return setup_flags(code)


def _flags(text: str, file: str) -> tuple[str, ...]:
    """Flags for clang, as a shell would read them.

    Raises:
        ValueError: when a quotation is open, or the file is not compiled.
    """
    import shlex

    from slowpath.insights.preparation.sources import is_source

    if not is_source(file):
        raise ValueError("the file is no source in C or C++, nothing is compiled by clang")
    return tuple(shlex.split(text))
