"""A prepared source: its module after the passes, and its functions.

What is read is not trusted: this runs in a process that may die (`slowpath.work.worker`).
"""

import importlib.util
import re
from collections.abc import Callable, Mapping

from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.jobs.isolated_job import Errand, Work
from slowpath.core.jobs.job import Message
from slowpath.core.jobs.stopping import Stopping
from slowpath.insights.source.calls import find_entry
from slowpath.insights.source.entry import lent, may_lend
from slowpath.insights.source.framework import is_ours
from slowpath.insights.source.functions import functions_of
from slowpath.insights.source.layouts import Layouts
from slowpath.insights.source.metadata import Metadata
from slowpath.insights.source.modules import Module, optimise, read_module
from slowpath.insights.source.sources import Source

_STATE = re.compile(
    r'^@("(?:[^"\\]|\\.)*"|[\w.$-]+) = internal (?:unnamed_addr )?global ', re.MULTILINE
)
"""Static variables that are not constant."""


class Program:
    """A module, its functions, and the one that is asked for."""

    def __init__(
        self,
        source: Source,
        entry: str | None = None,
        before: Callable[[Module], None] | None = None,
    ) -> None:
        """Reads a source; `entry` is a function as the source or the symbol has it.

        `before` changes the module ahead of the passes.

        Raises:
            InputError: when LLVM cannot read it; when it has no such entry, or one that has inline
                assembly or recursion.
        """
        self.file = source.file
        self.module = read_module(source)
        if before is not None:
            before(self.module)
        optimise(self.module, compiled=source.compiled, kept=_kept(source, self.module))
        self.functions = functions_of(self.module)
        self.entry = None if entry is None else find_entry(source.file, self.functions, entry)


def _kept(source: Source, module: Module) -> set[str]:
    """Return the symbols of variables that others than the module's functions may access.

    Functions may be called with the addresses of some. The control plane may fill a static table
    that no function of the source writes, or read a counter that no function reads: LLVM would
    take the one for zeros and leave out the other.
    """
    if not source.compiled or source.support:
        return set()
    text = str(module)
    found = _state(text)
    if may_lend(one.name for one in module.functions):
        found |= lent(source.file, text, functions_of(module))
    return found


def _state(text: str) -> set[str]:
    """Return the symbols of static variables of the source that its functions may change."""
    layouts = Layouts(text, Metadata(text))
    names = (one.strip('"') for one in _STATE.findall(text))
    places = {name: layouts.place(name) for name in names}
    return {name for name, line in places.items() if line is not None and not is_ours(line.file)}


def attempt(
    file: str,
    work: Work,
    allowed: tuple[float | None, int | None],
    stopping: Stopping,
    take: Callable[[Message], None],
) -> str | None:
    """Has the work done, within so many seconds and bytes; why it ended early, if it did.

    Raises:
        InputError: when it cannot be done, or a defect ended it.
    """
    seconds, memory = allowed
    with Errand(work, memory) as errand:
        stopped = errand.run(seconds, stopping, take)
    if stopped is not None and stopped.startswith("internal error"):
        raise InputError(file, stopped)
    return stopped


_NUMBERS = {"numpy": "numpy", "scipy": "scipy"}
_COMPILER = {"llvmlite": "llvmlite"}


def need_numbers() -> None:
    """Finds out whether what computes with numbers is installed.

    Raises:
        UnavailableError: what is not, and what to install.
    """
    _find(_NUMBERS)


def need_compiler() -> None:
    """The same of what reads and runs LLVM's intermediate representation.

    Raises:
        UnavailableError: when it is not installed.
    """
    _find(_COMPILER)


def _find(packages: Mapping[str, str]) -> None:
    missing = [
        name for module, name in packages.items() if importlib.util.find_spec(module) is None
    ]
    if missing:
        are = "are" if len(missing) > 1 else "is"
        reason = f"{' and '.join(missing)} {are} not installed; pip install slowpath[insights]"
        raise UnavailableError(reason)
