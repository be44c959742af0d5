"""Translates P4 programs to C with the compiled engine."""

import json
from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from slowpath import _core
from slowpath.core.codes import Code
from slowpath.core.engine.errors import MapsFile
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_program


class Fault(NamedTuple):
    """A fault of a P4 program, with its place."""

    code: Code
    file: str
    line: int  # 0: a macro of the command line
    column: int
    text: str


class Translation(NamedTuple):
    """C source of a P4 program for XDP."""

    c: str | None  # None: the program has faults
    faults: Sequence[Fault]
    files: Sequence[str]
    """The program and the files that it includes, without standard headers."""


class Number(TypedDict):
    """A number in the key or value of a map."""

    name: str
    width: int  # bits
    offset: int  # bytes
    size: int  # bytes


class Key(TypedDict):
    """A key of a table."""

    number: Number
    kind: str  # Exact, Lpm, Ternary, Range, Optional


class Action(TypedDict):
    """An action of a table, with the parameters that the control plane sets."""

    name: str
    id: int
    params: list[Number]


class Groups(TypedDict):
    """The groups of a selector."""

    map: str


class Members(TypedDict):
    """The members of an action profile or selector, which entries name by number."""

    name: str
    map: str
    groups: Groups | None


class Table(TypedDict):
    """A table with its map; see `crates/p4/src/xdp/layout.rs`."""

    name: str
    map: str
    maps: str | dict[str, dict[str, int]]
    keys: list[Key]
    actions: list[Action]
    members: Members | None


_tables: dict[str, list[Table]] = {}


def tables_of(file: str) -> list[Table]:
    """Return the tables of a P4 program that this process has translated; else none."""
    return _tables.get(file, [])


def translate(
    file: str, flags: Sequence[str], *, text: str | None = None, scratch: bool = False
) -> Translation:
    """Translate a P4 program to C for XDP.

    Args:
        file: The P4 program.
        flags: Flags `-I` and `-D`, each as one word.
        text: Content in place of that of the file.
        scratch: Keep headers in a map instead of on the stack.

    Raises:
        InputError: if the file cannot be read.
    """
    folders, defines = _settings(flags)
    if text is None:
        text = read_program(file).decode(errors="replace")
    c, faults, files, tables = _core.p4_to_c(file, text, folders, defines, scratch)
    _tables[file] = json.loads(tables)
    return Translation(c, [Fault(Code(one[0]), *one[1:]) for one in faults], files)


def map_content(file: str, flags: Sequence[str], entries: MapsFile) -> str:
    """Return entries of tables as map content, in the form that the engine reads (JSON).

    Args:
        file: The P4 program.
        flags: Flags `-I` and `-D`, each as one word.
        entries: File with one entry on each line; see `crates/p4/src/xdp/entries.rs`.

    Raises:
        InputError: if an entry or the program has a fault.
    """
    folders, defines = _settings(flags)
    text = read_program(file).decode(errors="replace")
    content, fault = _core.p4_entries(file, text, folders, defines, entries.text)
    if content is not None:
        return content
    code, line, message = fault or ("", 0, "")
    if line == 0:
        raise InputError(Code(code), file, message)
    raise InputError(Code(code), entries.name, f"line {line}: {message}")


def _settings(flags: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the folders of `-I` and the macros of `-D`."""
    folders = [flag[2:] for flag in flags if flag.startswith("-I")]
    return folders, [_definition(flag[2:]) for flag in flags if flag.startswith("-D")]


def _definition(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    return name, value if separator else "1"
