"""A source that is prepared: its module after the passes, and its functions.

What is read is not trusted: this runs in a process that may die (`slowpath.work.worker`).
"""

import re
from collections.abc import Callable

from slowpath.insights.preparation.calls import find_entry
from slowpath.insights.preparation.entry import lent, may_lend
from slowpath.insights.preparation.framework import is_ours
from slowpath.insights.preparation.functions import functions_of
from slowpath.insights.preparation.layouts import Layouts
from slowpath.insights.preparation.metadata import Metadata
from slowpath.insights.preparation.modules import Module, optimise, read_module
from slowpath.insights.preparation.sources import Source

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
