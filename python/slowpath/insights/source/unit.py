"""Compiles a source and optimises it, and finds its functions; runs work in another process.

Sources are untrusted, so this code runs in a worker process that may crash.
"""

import importlib.util
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from slowpath.core import codes
from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.extras import not_installed
from slowpath.core.jobs import Message, Stopping
from slowpath.core.jobs.isolated_job import IsolatedJob, Work
from slowpath.insights.source.calls import find_entry
from slowpath.insights.source.entry import pointer_target_variables, uses_dpdk
from slowpath.insights.source.functions import Function, functions_of
from slowpath.insights.source.layouts import Layouts
from slowpath.insights.source.metadata import Metadata
from slowpath.insights.source.modules import Module, keep_crc_loops, optimise, read_module
from slowpath.insights.source.sources import Source, is_ours

_STATE = re.compile(
    r'^@("(?:[^"\\]|\\.)*"|[\w.$-]+) = internal (?:unnamed_addr )?global ', re.MULTILINE
)
"""Definitions of static variables that are not constant."""


class CompiledUnit:
    """A source compiled to an optimised LLVM module, with its functions and debug information.

    Each property is computed at its first use, which raises `InputError` if LLVM cannot read the
    source.
    """

    def __init__(
        self,
        source: Source,
        *,
        before: Callable[[Module], None] = lambda _: None,
        crc_loops: bool = True,
    ) -> None:
        """Store the source; it is compiled at the first use of a property.

        `before` is called to change the module before the optimisation passes run. Without
        `crc_loops`, the passes may replace loops that compute a CRC.
        """
        self.source, self.file = source, source.file
        self._before, self._crc_loops = before, crc_loops
        self._kept: set[str] | None = None

    def variant(self, before: Callable[[Module], None], *, crc_loops: bool) -> "CompiledUnit":
        """Return another compilation of the same source.

        `before` is called to change its module before the optimisation passes run. Without
        `crc_loops`, the passes may replace loops that compute a CRC.
        """
        other = CompiledUnit(self.source, before=before, crc_loops=crc_loops)
        other._kept = self._kept
        return other

    @cached_property
    def module(self) -> Module:
        """The source as an LLVM module, after the optimisation passes."""
        module = read_module(self.source)
        self._before(module)
        if self._kept is None:
            self._kept = _accessible_variables(self.source, module)
        keep_crc_loops(keep=self._crc_loops)
        optimise(module, compiled=self.source.compiled, kept=self._kept)
        return module

    @cached_property
    def text(self) -> str:
        """The optimised module as text of LLVM IR."""
        return str(self.module)

    @cached_property
    def metadata(self) -> Metadata:
        """The debug information of the optimised module."""
        return Metadata(self.text)

    @cached_property
    def layouts(self) -> Layouts:
        """The memory layouts of the module's variables and types."""
        return Layouts(self.text, self.metadata)

    @cached_property
    def functions(self) -> dict[str, Function]:
        """The functions of the module that have bodies, by symbol, in the module's order."""
        return functions_of(self.module, self.text, self.metadata)

    def find_entry(self, name: str | None) -> str | None:
        """Return the symbol of a function that the user names; None if `name` is None.

        The user may give its name in the source or its symbol.

        Raises:
            InputError: when the function does not exist, or reaches inline assembly or recursion.
        """
        return None if name is None else find_entry(self.file, self.functions, name)


def _accessible_variables(source: Source, module: Module) -> set[str]:
    """Return the symbols of variables that code outside the module may access.

    Optimisation passes must not remove or simplify them. The control plane may fill a static table
    that no function of the source writes, or read a counter that no function reads. LLVM would
    treat such a table as zeros, and remove such a counter. Callers may also pass addresses of
    variables to functions.
    """
    if not source.compiled or source.support:
        return set()
    text = str(module)
    found = _state(text)
    if uses_dpdk(one.name for one in module.functions):
        found |= pointer_target_variables(source.file, text, functions_of(module))
    return found


def _state(text: str) -> set[str]:
    """Return the symbols of static variables that are not constant, from the LLVM IR `text`."""
    layouts = Layouts(text, Metadata(text))
    names = (one.strip('"') for one in _STATE.findall(text))
    places = {name: layouts.place(name) for name in names}
    return {name for name, line in places.items() if line is not None and not is_ours(line.file)}


class UnitWorker:
    """A worker process that runs several functions on one source, one after another."""

    def __init__(self, file: str, memory: int | None, stopping: Stopping, *works: Work) -> None:
        """Prepare a worker process for the source `file`.

        `memory` is the limit of the process in bytes; None for no limit. `works` are the functions
        that the process will be able to run. `stopping` asks them to stop.
        """
        self._file, self._stopping = file, stopping
        self._works, self._job = works, IsolatedJob(memory, *works)

    def __enter__(self) -> "UnitWorker":
        return self

    def __exit__(self, *raised: Any) -> None:  # noqa: ANN401 - passed on
        self._job.__exit__(*raised)

    def run(
        self, work: Work, seconds: float | None, take: Callable[[Message], None], *arguments: object
    ) -> str | None:
        """Run the function `work` in the worker process, and wait for its end.

        `work` gets `arguments`, and `take` receives the messages that it yields. `seconds` is the
        time limit, if any. Return the reason if the work ended early, else None.

        Raises:
            InputError: when the work fails, or a defect of slowpath ends it.
        """
        self.start(work, seconds, *arguments)
        return self.wait(seconds, take)

    def start(self, work: Work, seconds: float | None, *arguments: object) -> None:
        """Start the function `work` in the worker process, with `arguments`.

        The caller must then call `wait`. `seconds` is the time limit, if any.
        """
        self._job.start(self._works.index(work), seconds, *arguments)

    def wait(self, seconds: float | None, take: Callable[[Message], None]) -> str | None:
        """Wait for the end of the work that `start` began; see `run` for parameters and result."""
        stopped = self._job.wait(seconds, self._stopping, take)
        if stopped is not None and stopped.startswith("internal error"):
            raise InputError(codes.ENGINE_ENDED, self._file, stopped)
        return stopped


def require_numpy() -> None:
    """Check that numpy and scipy are installed.

    Raises:
        UnavailableError: when one is missing; the error tells how to install it.
    """
    _require("numpy", "scipy")


def require_llvmlite() -> None:
    """Check that llvmlite is installed, which reads and runs LLVM IR.

    Raises:
        UnavailableError: when it is missing; the error tells how to install it.
    """
    _require("llvmlite")


def _require(*packages: str) -> None:
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise UnavailableError(codes.MISSING_PACKAGE, not_installed(missing, "insights"))
