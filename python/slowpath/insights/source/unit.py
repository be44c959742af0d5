"""A prepared source: its module after the passes, and its functions.

Sources are untrusted, so all of this is made in a worker process that may crash.
"""

import importlib.util
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.jobs import Message
from slowpath.core.jobs.isolated_job import IsolatedJob, Work
from slowpath.core.jobs.stopping import Stopping
from slowpath.insights.source.calls import find_entry
from slowpath.insights.source.entry import pointer_target_variables, uses_dpdk
from slowpath.insights.source.framework import is_ours
from slowpath.insights.source.functions import Function, functions_of
from slowpath.insights.source.layouts import Layouts
from slowpath.insights.source.metadata import Metadata
from slowpath.insights.source.modules import Module, keep_crc_loops, optimise, read_module
from slowpath.insights.source.sources import Source

_STATE = re.compile(
    r'^@("(?:[^"\\]|\\.)*"|[\w.$-]+) = internal (?:unnamed_addr )?global ', re.MULTILINE
)
"""Definitions of static variables that are not constant."""


class CompiledUnit:
    """A compiled source after the passes, and what is derived from it.

    Each part is made when it is first used, and kept. The first use of most raises `InputError`
    when LLVM cannot read the source.
    """

    def __init__(
        self,
        source: Source,
        *,
        before: Callable[[Module], None] = lambda _: None,
        crc_loops: bool = True,
    ) -> None:
        """Take a source.

        `before` changes the module before the passes run; `crc_loops` are kept as they are written.
        """
        self.source, self.file = source, source.file
        self._before, self._crc_loops = before, crc_loops
        self._needed: set[str] | None = None

    def variant(self, before: Callable[[Module], None], *, crc_loops: bool) -> "CompiledUnit":
        """Return a unit of the same source with another module."""
        other = CompiledUnit(self.source, before=before, crc_loops=crc_loops)
        other._needed = self._needed
        return other

    @cached_property
    def module(self) -> Module:
        """The module after the passes."""
        module = read_module(self.source)
        self._before(module)
        if self._needed is None:
            self._needed = _kept(self.source, module)
        keep_crc_loops(keep=self._crc_loops)
        optimise(module, compiled=self.source.compiled, kept=self._needed)
        return module

    @cached_property
    def text(self) -> str:
        """The module as LLVM writes it."""
        return str(self.module)

    @cached_property
    def metadata(self) -> Metadata:
        """The debug information."""
        return Metadata(self.text)

    @cached_property
    def layouts(self) -> Layouts:
        """The types of variables."""
        return Layouts(self.text, self.metadata)

    @cached_property
    def functions(self) -> dict[str, Function]:
        """The functions with bodies by symbol, in the order of the module."""
        return functions_of(self.module, self.text, self.metadata)

    def find_entry(self, name: str | None) -> str | None:
        """Return the symbol of a function, given by its name in the source or its symbol.

        Raises:
            InputError: when it does not exist, or has inline assembly or recursion.
        """
        return None if name is None else find_entry(self.file, self.functions, name)


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


class UnitWorker:
    """A worker process for a source, which does several pieces of work on it."""

    def __init__(self, file: str, memory: int | None, stopping: Stopping, *works: Work) -> None:
        """Prepare the process; `memory` is its limit in bytes."""
        self._file, self._stopping = file, stopping
        self._works, self._job = works, IsolatedJob(memory, *works)

    def __enter__(self) -> "UnitWorker":
        return self

    def __exit__(self, *raised: Any) -> None:  # noqa: ANN401 - passed on
        self._job.__exit__(*raised)

    def run(
        self, work: Work, seconds: float | None, take: Callable[[Message], None], *given: object
    ) -> str | None:
        """Do one piece of work; return the reason if it ended early.

        `take` receives the messages of the work; `given` are its further arguments.

        Raises:
            InputError: when the work fails, or a defect of slowpath ends it.
        """
        self.start(work, seconds, *given)
        return self.wait(seconds, take)

    def start(self, work: Work, seconds: float | None, *given: object) -> None:
        """Start a piece of work; the caller then has to `wait`."""
        self._job.start(self._works.index(work), seconds, *given)

    def wait(self, seconds: float | None, take: Callable[[Message], None]) -> str | None:
        """Wait for the end of the started work, as `run` does."""
        stopped = self._job.wait(seconds, self._stopping, take)
        if stopped is not None and stopped.startswith("internal error"):
            raise InputError(self._file, stopped)
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
