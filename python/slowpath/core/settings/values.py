"""Chooses the values of settings: command line, then environment, then settings file."""

import os
import os.path
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from slowpath.core import codes
from slowpath.core.command import Option, not_read
from slowpath.core.errors import InputError, OptionError
from slowpath.core.settings.files import Setting, SettingsFile, find_settings, read_settings
from slowpath.core.settings.keys import REQUIRE, variable

_SUBJECTS = ("file", "chain", "topology", "new", "first")
"""Arguments with the analysed file."""


class Origin(NamedTuple):
    """The place of a value outside of the command line."""

    name: str  # environment variable, or FILE:LINE
    is_file: bool

    def refuse(self, key: str, reason: str) -> Exception:
        """Return the error for an invalid value."""
        if self.is_file:
            return InputError(codes.INVALID_SETTING, self.name, f"{key}: {reason}")
        return OptionError(codes.INVALID_SETTING, self.name, reason)


def complete(
    args: Namespace, keys: Sequence[str], options: Sequence[Option]
) -> Mapping[str, Origin]:
    """Set options that the command line lacks, from variables and the settings file.

    Returns the origin of each value that was set. The table of requirements becomes
    `args.requirements`, unless `--require` is given.

    Raises:
        InputError: if the settings file is invalid.
        OptionError: if a variable is invalid.
    """
    file = find_settings(subject(args))
    return complete_from(args, keys, options, None if file is None else read_settings(file))


def complete_from(
    args: Namespace, keys: Sequence[str], options: Sequence[Option], settings: SettingsFile | None
) -> Mapping[str, Origin]:
    """Set options as `complete` does, from a settings file that was read before.

    Raises:
        InputError: if a value of the settings file is invalid.
        OptionError: if a variable is invalid.
    """
    found = dict[str, Origin]()
    for key in keys:
        if key == REQUIRE:
            table = None if settings is None or args.require is not None else settings.required
            args.requirements = table or {}
        elif getattr(args, key) is None:
            chosen = _outside(key, settings)
            if chosen is not None:
                text, found[key] = chosen
                setattr(args, key, convert(key, text, found[key], options))
    return found


def subject(args: Namespace) -> str:
    """Return the analysed file, from which the settings file is searched; else this folder."""
    for name in _SUBJECTS:
        value: Any = getattr(args, name, None)
        if value:
            return str(value[0] if isinstance(value, list) else value)
    return os.curdir


def _outside(key: str, settings: SettingsFile | None) -> tuple[str, Origin] | None:
    """Return the value of a key in the environment, else in the settings file."""
    name = variable(key)
    if name is not None and (text := os.environ.get(name)):
        return text, Origin(name, is_file=False)
    setting: Setting | None = None if settings is None else settings.values.get(key)
    return None if setting is None else (setting.text, Origin(setting.place, is_file=True))


def convert(key: str, text: str, origin: Origin, options: Sequence[Option]) -> object:
    """Convert a text as the command line converts the value of the option with this name.

    Raises:
        InputError: if the text is invalid and from a file.
        OptionError: if it is invalid and from a variable.
    """
    option = next(one for one in options if one.names[-1] == f"--{key}")
    read: Callable[[str], object] = option.settings.get("type", str)
    try:
        return read(text)
    except ArgumentTypeError as problem:
        raise origin.refuse(key, str(problem)) from None
    except ValueError:
        raise origin.refuse(key, not_read(text, read)) from None
