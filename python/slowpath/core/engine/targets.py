"""Devices that programs run on."""

from typing import NamedTuple

from slowpath import _core
from slowpath.core.engine.errors import as_text

Model = _core.Model
"""Cost of a component of a target as a function of one parameter."""
Target = _core.Target
"""A device, read once; from `builtin_target` and `described_target`."""


class Description(NamedTuple):
    """Description of a device."""

    name: str
    text: str | None  # None: a built-in target


def target_names() -> list[str]:
    """Return the names of the built-in targets."""
    return _core.target_names()


def target_text(name: str) -> str | None:
    """Return the description of a built-in target; None if the name is unknown."""
    return _core.target_text(name)


def builtin_target(name: str) -> Target:
    """Return the built-in target with a name."""
    return _core.Target(name)


def described_target(name: str, text: str) -> Target:
    """Return the target that a text describes; each analysis reports an invalid one as an error."""
    return _core.Target(as_text(name), text)


def target_of(described: Description) -> Target:
    """Return the target of a description."""
    name, text = described
    return builtin_target(name) if text is None else described_target(name, text)
