"""A source that is prepared: its module after the passes, and its functions.

What is read is not trusted: this runs in a process that may die (`slowpath.work.worker`).
"""

from collections.abc import Callable

from slowpath.insights.preparation.calls import find_entry
from slowpath.insights.preparation.entry import lent, may_lend
from slowpath.insights.preparation.functions import functions_of
from slowpath.insights.preparation.modules import Module, optimise, read_module
from slowpath.insights.preparation.sources import Source


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
    """The variables that functions may be called with the addresses of."""
    if not source.compiled or not may_lend(one.name for one in module.functions):
        return set()
    return lent(source.file, str(module), functions_of(module))
