"""Settings of a project: `slowpath.toml`, `[tool.slowpath]` of pyproject.toml, and variables.

An option has its value from the command line, else from an environment variable, else from a
settings file.
"""

import os
import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from slowpath.core import codes
from slowpath.core.command import Option, not_read
from slowpath.core.errors import InputError, OptionError
from slowpath.core.inputs import read_text
from slowpath.core.spelling import did_you_mean

REQUIRE = "require"
"""Key of the table of requirements, whose keys are globs on names of programs."""
_ANALYSIS = ("target", "entries", "mtu", "deadline")
KEYS = (*_ANALYSIS, "jobs", REQUIRE)
"""All keys. Except for the table of requirements, each has the name of an option."""
USED = {
    "bound": KEYS,
    "annotate": _ANALYSIS,
    "diff": (*_ANALYSIS, "jobs"),
    "sweep": _ANALYSIS,
    "measure": ("mtu",),
    "chain bound": _ANALYSIS,
    "chain facts": ("deadline",),
    "chain optimize": ("deadline",),
    "chain verify": ("deadline",),
    "chain plan": ("deadline",),
}
"""Keys that each command uses. The deadline of `measure` has a default of its own, and `chain
optimize` guarantees costs only for targets that are named. `watch` and `lsp` are not here, because
they read settings again before each analysis (`bounds/configured.py`)."""


def variable(key: str) -> str | None:
    """Return the environment variable for a setting; None for the table of requirements."""
    return None if key == REQUIRE else f"SLOWPATH_{key.upper()}"


OWN, SHARED = "slowpath.toml", "pyproject.toml"
"""Names of settings files, and of files that can have a table of settings among others."""
_TABLE = ("tool", "slowpath")
_REPOSITORY = ".git"
_KINDS = {
    "target": ("a name, or a list of names", str, list),
    "entries": ("an integer", int),
    "mtu": ("an integer", int),
    "jobs": ("an integer", int),
    "deadline": ('a time, such as "2m", or a number of seconds', int, float, str),
    REQUIRE: ('a table of globs, such as "lb_*" = "5Mpps"', dict),
}
"""For each key, the allowed values: a description for errors, and the Python types."""


class Setting(NamedTuple):
    """A value in a settings file, as the text that the command line would have."""

    text: str
    place: str  # FILE:LINE, or FILE if the line is unknown


class SettingsFile(NamedTuple):
    """Content of a settings file."""

    file: str
    values: dict[str, Setting]
    required: dict[str, Setting]  # requirements, by globs on names of programs


class Problem(NamedTuple):
    """An error in a settings file."""

    place: str
    reason: str


def find_settings(start: str) -> str | None:
    """Return the settings file that applies to a file or folder; None if there is none.

    Folders are searched upwards, from that of the file to the root of its Git repository. Outside
    of repositories, only the folder of the file is searched: its parents can belong to others.
    """
    folder = os.path.abspath(start)
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    folders = [folder]
    while not os.path.lexists(os.path.join(folders[-1], _REPOSITORY)):
        above = os.path.dirname(folders[-1])
        if above == folders[-1]:
            folders = folders[:1]
            break
        folders.append(above)
    for each in folders:
        own, shared = os.path.join(each, OWN), os.path.join(each, SHARED)
        if os.path.isfile(own):
            return os.path.relpath(own)
        if os.path.isfile(shared) and "tool.slowpath" in read_text(shared):
            return os.path.relpath(shared)
    return None


def read_settings(file: str) -> SettingsFile:
    """Read a settings file, and report all its errors at once.

    Raises:
        InputError: if it cannot be read or has an error; the error names the line.
    """
    found, problems = examine(file)
    if problems:
        first, *further = problems
        others = [f"{one.place}: {one.reason}" for one in further]
        raise InputError(codes.INVALID_SETTING, first.place, first.reason, others)
    return found


def examine(file: str) -> tuple[SettingsFile, list[Problem]]:
    """Read a settings file; return its content and all errors in its keys and types.

    Raises:
        InputError: if it cannot be read or is not TOML.
    """
    text = read_text(file)
    table = _table(file, text)
    lines = _Lines(file, text)
    found = SettingsFile(file, {}, {})
    problems = list[Problem]()
    for key, value in table.items():
        place = lines.place(key)
        if key not in KEYS:
            problems.append(Problem(place, f"unknown key {key!r}{_hint(key)}"))
        elif not _is_valid(key, value):
            problems.append(Problem(place, f"{key} is not {_KINDS[key][0]}"))
        elif key != REQUIRE:
            found.values[key] = Setting(_text(file, key, value), place)
        else:
            for glob, required in value.items():
                inner = lines.place(glob, REQUIRE)
                if isinstance(required, str):
                    found.required[glob] = Setting(required, inner)
                else:
                    reason = f'the requirement of {glob!r} is not a text, such as "5Mpps"'
                    problems.append(Problem(inner, reason))
    return found, problems


def _table(file: str, text: str) -> dict[str, Any]:
    import tomllib

    try:
        table: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        line = re.search(r" \(at line (\d+), column \d+\)$", str(problem))
        if line is None:  # at the end of the file
            raise InputError(codes.SETTINGS_UNREADABLE, file, f"is not TOML: {problem}") from None
        reason = str(problem)[: line.start()]
        raise InputError(
            codes.SETTINGS_UNREADABLE, f"{file}:{line[1]}", f"is not TOML: {reason}"
        ) from None
    if os.path.basename(file) == SHARED:
        for name in _TABLE:
            table = table.get(name, {})
            if not isinstance(table, dict):
                raise InputError(
                    codes.SETTINGS_UNREADABLE, file, f"{'.'.join(_TABLE)} is not a table"
                )
    return table  # type: ignore[no-any-return]


def _is_valid(key: str, value: object) -> bool:
    if isinstance(value, list) and (not value or not all(isinstance(one, str) for one in value)):
        return False
    return type(value) in _KINDS[key][1:]


def _text(file: str, key: str, value: Any) -> str:  # noqa: ANN401 - a value of TOML
    """Convert a value of a settings file to the text that the command line would have.

    Names of target files are relative to the folder of the settings file.
    """
    if key != "target":
        return str(value)
    folder = os.path.dirname(file)
    names = [value] if isinstance(value, str) else value
    files = [name.endswith(".toml") or "/" in name for name in names]
    pairs = zip(names, files, strict=True)
    return ",".join(os.path.join(folder, name) if is_file else name for name, is_file in pairs)


def _hint(key: str) -> str:
    return did_you_mean(key, KEYS) or f"; choose one of {', '.join(KEYS)}"


class _Lines:
    """Line numbers of the keys in a TOML text, which Python's parser does not provide.

    The text must be valid TOML. Keys in several lines, and dotted keys, have no line number.
    """

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._found = dict(_keys(file, text))

    def place(self, key: str, table: str | None = None) -> str:
        """Return the location `FILE:LINE` of a key.

        If its line is unknown, return that of its table, else only the file.
        """
        line = self._found.get((table, key)) or self._found.get((None, table or ""))
        return self._file if line is None else f"{self._file}:{line}"


def _keys(file: str, text: str) -> Iterator[tuple[tuple[str | None, str], int]]:
    """Yield each key of a TOML text, as a pair of table and name, with its line number.

    The table is None for top-level keys.
    """
    base = f"{'.'.join(_TABLE)}" if os.path.basename(file) == SHARED else ""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            table = re.sub(r"\s*\.\s*", ".", header[1])
            inner = table.removeprefix(f"{base}.") if base else table
            if inner != table or not base:
                yield (None, inner), number
        elif key := re.match(r"""\s*(?:"([^"\\]*)"|'([^']*)'|([\w-]+))\s*=""", line):
            name = next(one for one in key.groups() if one is not None)
            if table == base:
                yield (None, name), number
            else:
                yield (table.rpartition(".")[2], name), number


_SUBJECTS = ("file", "chain", "topology", "new", "first")
"""Names of the arguments that can contain the file to analyse; a command has one of them."""


class Origin(NamedTuple):
    """Origin of an option's value: an environment variable, or a line of a settings file."""

    name: str  # environment variable, or FILE:LINE
    is_file: bool

    def refuse(self, key: str, reason: str) -> Exception:
        """Return the error that the value from this origin is invalid, with the reason."""
        if self.is_file:
            return InputError(codes.INVALID_SETTING, self.name, f"{key}: {reason}")
        return OptionError(codes.INVALID_SETTING, self.name, reason)


def complete(
    args: Namespace, keys: Sequence[str], options: Sequence[Option]
) -> Mapping[str, Origin]:
    """Set options that the command line lacks, from environment variables and the settings file.

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
    """Return the file whose settings apply: the first file to analyse, else the current folder."""
    for name in _SUBJECTS:
        value: Any = getattr(args, name, None)
        if value:
            return str(value[0] if isinstance(value, list) else value)
    return os.curdir


def _outside(key: str, settings: SettingsFile | None) -> tuple[str, Origin] | None:
    """Return the value of a setting in the environment, else in the settings file, and its origin.

    None if neither has it.
    """
    name = variable(key)
    if name is not None and (text := os.environ.get(name)):
        return text, Origin(name, is_file=False)
    setting: Setting | None = None if settings is None else settings.values.get(key)
    return None if setting is None else (setting.text, Origin(setting.place, is_file=True))


def convert(key: str, text: str, origin: Origin, options: Sequence[Option]) -> object:
    """Convert the text of a setting as the command line converts the option of the same name.

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
