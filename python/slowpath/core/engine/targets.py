"""Reads descriptions of target devices, and estimates the times of paths on them."""

from collections.abc import Sequence
from typing import NamedTuple

from slowpath import _core
from slowpath.core import codes
from slowpath.core.engine import as_text
from slowpath.core.errors import InputError

Model = _core.Model
"""The cost of one component of a target, as a function of one parameter."""
Target = _core.Target
"""A device whose description was read; see `builtin_target` and `described_target`."""


class Description(NamedTuple):
    """The name of a target device, and the text that describes it."""

    name: str
    text: str | None  # None: a built-in target


def target_names() -> list[str]:
    """Return the names of the built-in analysis targets (devices)."""
    return _core.target_names()


def target_text(name: str) -> str | None:
    """Return the text that describes a built-in target; None if the name is unknown."""
    return _core.target_text(name)


def builtin_target(name: str) -> Target:
    """Return the built-in analysis target (device) with this name."""
    return _core.Target(name)


def described_target(name: str, text: str) -> Target:
    """Return the target device that a text describes.

    An invalid text causes no error here, but every analysis for the target fails.
    """
    return _core.Target(as_text(name), text)


def target_of(described: Description) -> Target:
    """Return the analysis target (device) that a description defines."""
    name, text = described
    return builtin_target(name) if text is None else described_target(name, text)


Flow = _core.Flow
"""The executed instructions of a path in order, with their properties."""


def flow(case: _core.Case) -> Flow | None:
    """Return the instructions that a measured path executes; None if unknown.

    They are needed to estimate the time of the path.
    """
    return _core.flow(case)


def flow_of(text: str) -> Flow:
    """Read the executed instructions of a path from the text that `Flow.text` wrote.

    Raises:
        ValueError: if the text is invalid.
    """
    try:
        return Flow(text)
    except _core.Error as problem:
        raise ValueError(str(problem)) from None


def nanoseconds(
    flows: Sequence[Flow], target: Target, entries: int = 1, bytes_: int | None = None
) -> list[float]:
    """Estimate the time of each path on a target, in nanoseconds per run.

    The estimate is for runs in a loop, as in the kernel's test runs. Each map is assumed to have
    `entries` entries; 0 stands for the entries that the path needs. `bytes_` is the total size of
    the map elements that packets access; None stands for all elements.

    Raises:
        InputError: if the target has no time estimates.
    """
    try:
        return _core.nanoseconds(list(flows), target, entries, bytes_)
    except _core.Error as problem:
        raise InputError(codes.TARGET_WITHOUT_TIMES, target.name, str(problem)) from None
