"""Estimated times of paths on a modelled core."""

from collections.abc import Sequence

from slowpath import _core
from slowpath.core.engine.targets import Target
from slowpath.core.errors import InputError

Flow = _core.Flow
"""The instructions of a path in order, with their properties; from `flow` and `flow_of`."""


def flow(case: _core.Case) -> Flow | None:
    """Return the path of a case; None if it is unknown."""
    return _core.flow(case)


def flow_of(text: str) -> Flow:
    """Read a path from the text that `Flow.text` wrote.

    Raises:
        ValueError: if the text is invalid.
    """
    try:
        return Flow(text)
    except _core.Error as problem:
        raise ValueError(str(problem)) from None


def nanoseconds(flows: Sequence[Flow], target: Target, entries: int = 1) -> list[float]:
    """Estimate each path on a target: nanoseconds of one iteration of the kernel's loop.

    Each map has `entries` entries; 0 stands for those that the path needs, as in a witness.

    Raises:
        InputError: if the target has no time estimates.
    """
    try:
        return _core.nanoseconds(list(flows), target, entries)
    except _core.Error as problem:
        raise InputError(target.name, str(problem)) from None
