"""A prepared source: its module after the passes, and its functions.

Sources are untrusted, so this module runs in a worker process that may crash (`attempt`).
"""

import importlib.util
import re
from collections.abc import Callable, Mapping

from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.jobs import Message
from slowpath.core.jobs.isolated_job import IsolatedJob, Work
from slowpath.core.jobs.stopping import Stopping
from slowpath.insights.source.calls import find_entry
from slowpath.insights.source.entry import pointer_target_variables, uses_dpdk
from slowpath.insights.source.framework import is_ours
from slowpath.insights.source.functions import functions_of
from slowpath.insights.source.layouts import Layouts
from slowpath.insights.source.metadata import Metadata
from slowpath.insights.source.modules import Module, optimise, read_module
from slowpath.insights.source.sources import Source

_STATE = re.compile(
    r'^@("(?:[^"\\]|\\.)*"|[\w.$-]+) = internal (?:unnamed_addr )?global ', re.MULTILINE
)
"""Definitions of static variables that are not constant."""


class Program:
    """A module, its functions, and the requested one (`entry`)."""

    def __init__(
        self,
        source: Source,
        entry: str | None = None,
        before: Callable[[Module], None] | None = None,
    ) -> None:
        """Read a source; `entry` is the name of a function in the source, or its symbol.

        `before` changes the module before the passes run.

        Raises:
            InputError: when LLVM cannot read the source, or the entry does not exist or has inline
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
    """Return the symbols of variables that code outside the module may access.

    Callers may pass the addresses of some to functions. The control plane may fill a static table
    that no function of the source writes, or read a counter that no function reads. LLVM would
    treat such a table as zeros, and remove such a counter.
    """
    if not source.compiled or source.support:
        return set()
    text = str(module)
    found = _state(text)
    if uses_dpdk(one.name for one in module.functions):
        found |= pointer_target_variables(source.file, text, functions_of(module))
    return found


def _state(text: str) -> set[str]:
    """Return the symbols of static variables of the source that its functions may change."""
    layouts = Layouts(text, Metadata(text))
    names = (one.strip('"') for one in _STATE.findall(text))
    places = {name: layouts.place(name) for name in names}
    return {name for name, line in places.items() if line is not None and not is_ours(line.file)}


def run_in_worker(
    file: str,
    work: Work,
    allowed: tuple[float | None, int | None],
    stopping: Stopping,
    take: Callable[[Message], None],
) -> str | None:
    """Do the work in a worker process; return the reason if it ended early.

    `allowed` are the limits in seconds and bytes, `take` receives the messages of the work.

    Raises:
        InputError: when the work fails, or a defect of slowpath ends it.
    """
    seconds, memory = allowed
    with IsolatedJob(work, memory) as errand:
        stopped = errand.run(seconds, stopping, take)
    if stopped is not None and stopped.startswith("internal error"):
        raise InputError(file, stopped)
    return stopped


_NUMBERS = {"numpy": "numpy", "scipy": "scipy"}
_COMPILER = {"llvmlite": "llvmlite"}


def require_numpy() -> None:
    """Check that numpy and scipy are installed.

    Raises:
        UnavailableError: when one is missing; the error tells how to install it.
    """
    _find(_NUMBERS)


def require_llvmlite() -> None:
    """Check that llvmlite is installed, to read and run LLVM IR.

    Raises:
        UnavailableError: when it is missing; the error tells how to install it.
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
