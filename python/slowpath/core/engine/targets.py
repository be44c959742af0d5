"""Devices that programs run on."""

from typing import NamedTuple

from slowpath import _core
from slowpath.core.engine.errors import as_text

Model = _core.Model
"""What a component of a target takes by one parameter."""
Target = _core.Target
"""A device, read once; from `builtin_target` and `described_target`."""


class Description(NamedTuple):
    """What a device is described by."""

    name: str
    text: str | None  # None: a built-in one


def target_names() -> list[str]:
    """Names of the built-in targets."""
    return _core.target_names()


def target_text(name: str) -> str | None:
    """The description of a built-in target, or None when there is none of that name."""
    return _core.target_text(name)


def builtin_target(name: str) -> Target:
    """The built-in target of a name."""
    return _core.Target(name)


def described_target(name: str, text: str) -> Target:
    """The target that a text describes. One that is not valid is an error of each analysis."""
    return _core.Target(as_text(name), text)


def made(described: Description) -> Target:
    """The target that is described."""
    name, text = described
    return builtin_target(name) if text is None else described_target(name, text)
