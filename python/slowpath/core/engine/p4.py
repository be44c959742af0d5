"""Translates P4 programs to C for XDP or to pipelines of DPDK's software switch (SWX).

The compiled engine does the work.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypedDict, TypeVar, cast

from slowpath import _core
from slowpath.core import codes
from slowpath.core.codes import Code
from slowpath.core.engine import MapsFile
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_program


class Fault(NamedTuple):
    """An error in a P4 program: its code, its text, and its position in the source."""

    code: Code
    file: str
    line: int  # 0: a macro of the command line
    column: int  # in characters
    text: str
    end: tuple[int, int] | None = None  # line and column after the last character, if known

    def message(self, file: str) -> str:
        """Return the text with its position in the source, for a message about `file`."""
        if not self.line:
            return self.text
        header = "" if self.file == file else f"{self.file}, "
        return f"{header}line {self.line}, column {self.column}: {self.text}"


class Translation(NamedTuple):
    """Result of translating a P4 program to C for XDP."""

    c: str | None  # None: the program has faults
    faults: Sequence[Fault]
    files: Sequence[str]
    """The program and the files that it includes, without standard headers."""


class Field(TypedDict):
    """A field of a header, with its position in the packet."""

    name: str
    at: int  # first bit in the packet
    bits: int


class Header(TypedDict):
    """A header that the parser extracts, with its fields, or bits that the parser skips."""

    name: str
    fields: list[Field]


class TableRun(TypedDict):
    """A table lookup in a run of the program: hit or miss, and the executed action."""

    table: str
    hit: bool
    action: str  # empty: none runs
    args: list[tuple[str, str]]


class Walk(TypedDict):
    """A run of a P4 program on one packet: parser states, headers, and table lookups.

    See `crates/p4/src/walk/mod.rs`.
    """

    states: list[str]
    headers: list[Header]
    tables: list[TableRun]
    error: str | None
    unknown: tuple[int, str] | None  # line and reason why the rest is not known


class Number(TypedDict):
    """A number in the key or value of a map element: its name, width, offset and size."""

    name: str
    width: int  # bits
    offset: int  # bytes
    size: int  # bytes


class Key(TypedDict):
    """A key field of a P4 table, with its kind of match."""

    number: Number
    kind: str  # Exact, Lpm, Ternary, Range, Optional


class Action(TypedDict):
    """An action of a P4 table, with the parameters that the control plane sets."""

    name: str
    id: int
    params: list[Number]
    in_entries: bool  # true if an entry can have the action


class Groups(TypedDict):
    """The map that holds the groups of an action selector."""

    map: str


class Members(TypedDict):
    """The map that holds the members of an action profile or selector.

    A member is an action with its data. Table entries refer to members by number.
    """

    name: str
    map: str
    groups: Groups | None


class Table(TypedDict):
    """A P4 table, with the layout of the map that holds its entries.

    See `crates/p4/src/xdp/layout.rs`.
    """

    name: str
    map: str
    maps: str | dict[str, dict[str, int]]
    priority: int | None  # offset in the value of an action
    keys: list[Key]
    actions: list[Action]
    members: Members | None


Content = Mapping[str, Sequence[tuple[bytes, bytes | None]]]
"""Content of maps by name: pairs of a key and a value.

None as value means that the map has no element with this key.
"""


class P4Program(NamedTuple):
    """A P4 program that this process has translated: its source, flags, tables and warnings."""

    file: str
    text: str
    folders: Sequence[str]
    defines: Sequence[tuple[str, str]]
    tables: Sequence[Table]
    warnings: Sequence[Fault]
    conditions: Sequence[str]
    """Conditions under which the translation does the same as the program."""
    given: Content | None
    """Map content that the analysis assumes; None if it is not known."""

    def walks(self, packets: Sequence[tuple[bytes, int, Content]]) -> list[Walk | None]:
        """Run the P4 program on packets, each with its input port and the content of maps.

        Return a description of each run; None if the engine cannot run programs of this
        architecture.
        """
        folders, defines = list(self.folders), list(self.defines)
        given = [
            (packet, port, {name: list(elements) for name, elements in content.items()})
            for packet, port, content in packets
        ]
        found = _core.p4_walks(self.file, self.text, folders, defines, given)
        return cast("list[Walk | None]", json.loads(found))


def given_content(maps: str | None) -> Content | None:
    """Read the map content of `--maps`; None if it is not JSON in the engine's form."""
    if maps is None:
        return {}
    try:
        document = json.loads(maps)
        return {
            name: [
                (
                    bytes.fromhex(one["key"]),
                    None if one["value"] is None else bytes.fromhex(one["value"]),
                )
                for one in content
            ]
            for name, content in document.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


_translated: dict[str, P4Program] = {}


def translated(file: str) -> P4Program | None:
    """Return this process's latest translation of a P4 file to C; None if there is none."""
    return _translated.get(file)


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
    c, faults, files, tables, warnings, conditions = _core.p4_to_c(
        file, text, folders, defines, scratch
    )
    _translated[file] = P4Program(
        file, text, folders, defines, json.loads(tables), _faults(warnings), conditions, {}
    )
    return Translation(c, _faults(faults), files)


def _faults(found: Sequence[tuple[str, str, int, int, str, tuple[int, int]]]) -> list[Fault]:
    return [Fault(Code(one[0]), *one[1:]) for one in found]


Form = Literal["lines", "json", "messages"]
"""Format of a file with table entries: one on each line, JSON of p4lang's tutorials, P4Runtime."""


class Pipeline(NamedTuple):
    """An SWX pipeline, the content of a `.spec` file of DPDK 22.11."""

    spec: str
    conditions: Sequence[str]
    """Conditions under which the pipeline does the same as the P4 program."""


_pipelines: dict[str, Pipeline] = {}


def translated_pipeline(file: str) -> Pipeline | None:
    """Return this process's latest translation of a P4 file to a pipeline; None without one."""
    return _pipelines.get(file)


def translate_to_swx(
    file: str, flags: Sequence[str], *, text: str | None = None
) -> Pipeline | list[Fault]:
    """Translate a P4 program to an SWX pipeline; return its faults if it has any.

    Args:
        file: The P4 program.
        flags: Flags `-I` and `-D`, each as one word.
        text: Content in place of that of the file.

    Raises:
        InputError: if the file cannot be read.
    """
    if text is None:
        text = read_program(file).decode(errors="replace")
    made, faults = _core.p4_to_swx(file, text, *_settings(flags))
    if made is None:
        return _faults(faults)
    _pipelines[file] = Pipeline(*made)
    return _pipelines[file]


class PipelineEntry(NamedTuple):
    """An entry of a pipeline's table, in the text form that DPDK reads."""

    table: str
    is_default: bool
    text: str


def pipeline_entries(
    file: str, flags: Sequence[str], entries: MapsFile, form: Form, info: str | None = None
) -> tuple[list[PipelineEntry], str] | None:
    """Translate a P4 program to a pipeline; return its table entries and the pipeline's text.

    The entries are those that the program declares, followed by those in the file `entries`. The
    tables of the pipeline have room for all these entries. Return None if the program has a fault.
    The arguments are those of `map_content`.

    Raises:
        InputError: if an entry has a fault.
    """
    settings = _settings(flags)
    text = read_program(file).decode(errors="replace")
    made = _core.p4_swx_entries(file, text, *settings, entries.text, form, info)
    found = _checked(made, file, entries)
    if found is None:
        return None
    entries_found, spec = found
    return [PipelineEntry(*one) for one in entries_found], spec


def printed_pipeline(text: str) -> str:
    """Format the text of a pipeline with one statement or instruction per line, without comments.

    Raises:
        ValueError: if the text is not a pipeline.
    """
    return _core.swx_print(text)


def map_content(
    file: str, flags: Sequence[str], entries: MapsFile, form: Form, info: str | None = None
) -> str | None:
    """Convert table entries of a P4 program to map content, in the engine's JSON form.

    Return None if the program has a fault.

    Args:
        file: The P4 program.
        flags: Flags `-I` and `-D`, each as one word.
        entries: File with entries; see `entries.rs` and `runtime.rs` in `crates/p4/src/xdp`.
        form: Form of the entries.
        info: Text of a P4Info file, for messages of P4Runtime.

    Raises:
        InputError: if an entry has a fault.
    """
    settings = _settings(flags)
    text = read_program(file).decode(errors="replace")
    found = _core.p4_entries(file, text, *settings, entries.text, form, info)
    return _checked(found, file, entries)


T = TypeVar("T")
_Fault = tuple[str, int, str]  # code, line of the file of entries (0: of the program), text


def _checked(found: tuple[T | None, _Fault | None], file: str, entries: MapsFile) -> T | None:
    """Return the entries from the engine's result `found`; None if the program `file` has a fault.

    Raises:
        InputError: if an entry has a fault; the error names the file `entries`.
    """
    content, fault = found
    code, line, message = fault or ("", 0, "")
    if content is not None or (line == 0 and code != codes.P4_ENTRY):
        return content
    place = f"line {line}: " if line else ""
    raise InputError(Code(code), entries.name if line else file, f"{place}{message}")


def _settings(flags: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Split flags for the C preprocessor into folders (`-I`), and macros with values (`-D`)."""
    folders = [flag[2:] for flag in flags if flag.startswith("-I")]
    return folders, [_definition(flag[2:]) for flag in flags if flag.startswith("-D")]


def _definition(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    return name, value if separator else "1"


class PipelineKey(TypedDict):
    """A field of the key of a pipeline's table."""

    field: str
    """The field, as the file writes it."""
    match: str
    """Kind of the comparison: `exact`, `wildcard` or `lpm`; `selector` for an input of a hash."""


class PipelineTable(TypedDict):
    """A table of a pipeline."""

    name: str
    """Name of the table."""
    kind: str
    """`table` (the control plane writes entries), `learner` (packets write entries) or `selector`
    (a hash chooses a member of a group)."""
    key: list[PipelineKey]
    """Fields of the key."""
    actions: list[str]
    """Names of the actions."""
    default: str | None
    """Name of the default action; null for a selector."""
    size: int
    """Greatest number of entries; of groups for a selector."""


class PipelineAction(TypedDict):
    """An action of a pipeline."""

    name: str
    """Name of the action."""
    data: str | None
    """Name of the struct with the data of an entry; null without data."""
    instructions: int
    """Number of instructions."""


class PipelineContent(TypedDict):
    """The content of a pipeline; see `slowpath.show.documents.ShownPipeline`."""

    instructions: int
    headers: list[str]
    tables: list[PipelineTable]
    actions: list[PipelineAction]


def describe_pipeline(file: str, text: str) -> PipelineContent:
    """Return the content of a pipeline: its headers, tables and actions.

    Raises:
        InputError: if the text is not a valid pipeline; it names `file` and the line.
    """
    found, fault = _core.swx_description(text)
    if fault is not None:
        code, line, message = fault
        raise InputError(Code(code), file, f"line {line}: {message}")
    content: PipelineContent = json.loads(found or "")
    return content
