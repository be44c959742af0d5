"""Estimated times of paths on a modelled core."""

from collections.abc import Sequence

from slowpath import _core
from slowpath.core.engine.targets import Target
from slowpath.core.errors import InputError

Flow = _core.Flow
"""A path as a core sees it; from `flow` and `flow_of`."""


def flow(case: _core.Case) -> Flow | None:
    """The path of a case; None where the interpreter did not take it by itself."""
    return _core.flow(case)


def flow_of(text: str) -> Flow:
    """The path that `Flow.text` wrote.

    Raises:
        ValueError: when it is none.
    """
    try:
        return Flow(text)
    except _core.Error as problem:
        raise ValueError(str(problem)) from None


def nanoseconds(flows: Sequence[Flow], target: Target, entries: int = 1) -> list[float]:
    """What a target that estimates says each path takes: a turn of the kernel's loop with it.

    Each map has so many `entries`; with 0, those that a path needs, as a witness has them.

    Raises:
        InputError: when the target does not estimate.
    """
    try:
        return _core.nanoseconds(list(flows), target, entries)
    except _core.Error as problem:
        raise InputError(target.name, str(problem)) from None
