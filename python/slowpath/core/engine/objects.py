"""Reads files of programs and packets with the compiled engine."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from slowpath import _core
from slowpath.core.codes import Code
from slowpath.core.engine import MapsFile, as_text, errors_as_file_errors, errors_as_maps_errors
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping

Object = _core.Object
"""A file with programs, read into memory by `read_object`."""
Btf = _core.Btf
"""Types (BTF) of the kernel on which programs will run; `read_btf` returns them."""
Functions = _core.Functions
"""All functions of an object, including functions that are not programs; see `read_functions`."""
Given = _core.Given
"""Known properties of an argument or of a function's result."""
HELPERS = dict(enumerate(_core.helper_names(), 1))
"""Names of helpers by number (`enum bpf_func_id`)."""
HELPER_NUMBERS = {name: number for number, name in HELPERS.items()}
MAP_KINDS = {name: number for number, name in _core.map_kinds()}
"""Numbers of map types (`enum bpf_map_type`) by the name that `bpftool` prints."""
MAP_KIND_NAMES = {number: name for name, number in MAP_KINDS.items()}


class Subject(NamedTuple):
    """A program to analyse, compile or run: its object, and its index in the object."""

    file: str  # name in messages
    object: Object
    program: int  # number in the object
    btf: Btf | None


class View(NamedTuple):
    """Options for describing programs of a BPF object, as `slowpath show` does."""

    programs: list[int]  # numbers of the programs
    btf: Btf | None
    listing: bool
    deadline_seconds: float  # for the loops of one program
    memory_bytes: int | None  # limit of the process


class ProgramInfo(NamedTuple):
    """Name, section and other properties of a program in a BPF object."""

    number: int  # in the object
    section: str
    name: str
    kind: str
    needs_kernel: bool  # true: depends on the types of the running kernel


def read_object(file: str, data: bytes) -> Object:
    """Read a BPF object or listing from the content of its file; `file` is its name in errors.

    Raises:
        InputError: if the object cannot be read.
    """
    with errors_as_file_errors(file):
        return _core.Object(data)


def configured(file: str, found: Object, variables: list[str], maps: str | None) -> Object:
    """Set global variables of an object, as a loader would; return the new object.

    Args:
        file: Name of the object in errors.
        found: The object.
        variables: `NAME=VALUE` or `NAME=any`; of several values of a variable, the last one counts.
        maps: Content of the file of `--maps`; only its read-only sections are used.

    Raises:
        InputError: if a variable or section does not exist, or a value does not fit.
    """
    with errors_as_file_errors(file):
        try:
            return found.configured(variables, maps)
        except _core.Error as problem:
            if problem.option != "--maps":
                raise
            # The analysis reports this error later, with the name of the maps file and the line.
            return found


def read_btf(file: str, data: bytes) -> Btf:
    """Read the types of a kernel from the content of a BTF file; `file` is its name in errors.

    Raises:
        InputError: if they cannot be read.
    """
    with errors_as_file_errors(file):
        return _core.Btf(data)


def programs(found: Object) -> list[ProgramInfo] | None:
    """Return the programs of a BPF object; None for an NFP listing, which is a single program."""
    listed = found.programs()
    if listed is None:
        return None
    return [ProgramInfo(p.index, p.section, p.name, p.kind, p.needs_kernel) for p in listed]


def function_slots(found: Object) -> dict[str, int]:
    """Return the number of 8-byte instruction slots of each function of a BPF object, by name."""
    return dict(found.function_slots())


def with_replaced_calls(file: str, found: Object, calls: list[tuple[str, int]]) -> Object:
    """Return an object in which stand-in instructions replace some calls.

    A call is a pair: the name of the calling function, and the 8-byte slot of the call in it.

    Raises:
        InputError: if the object has no such call; `file` names the object.
    """
    with errors_as_file_errors(file):
        return found.with_replaced_calls(calls)


def map_names(found: Object) -> list[str]:
    """Return the names of the maps in a BPF object; none for an NFP listing."""
    return found.map_names()


def run_maps(
    file: str, found: Object, maps: MapsFile | None
) -> dict[str, list[dict[str, str | int]]]:
    """Return the initial entries of all maps in a BPF object, by map name.

    `file` is the name of the object in errors. Entries come from `maps`. For program arrays and
    maps of maps that `maps` does not name, they come from the object. Entries have the form of
    those in witnesses (`docs/reference/maps.md`), with keys and values in hexadecimal digits.

    Raises:
        InputError: if `maps` cannot be read, or does not fit the maps of the object.
    """
    with errors_as_maps_errors(file, maps):
        content: dict[str, dict[str, list[dict[str, str | int]]]] = json.loads(
            found.run_maps("" if maps is None else maps.text)
        )
    return content["maps"]


class Shown(NamedTuple):
    """Description of the programs in a BPF object, as JSON text."""

    text: str  # JSON
    complete: bool  # true: the same on each machine, because no limit affected it


def show(file: str, found: Object, view: View, stopping: Stopping) -> Shown:
    """Describe programs of a BPF object as JSON; `file` is the name of the object in errors.

    Raises:
        InputError: if the file is not a BPF object.
    """
    programs, btf, listing, seconds, memory = view
    stop = _core.Stop(None, memory)
    arguments = (as_text(file), found, programs, btf, stop)
    with errors_as_file_errors(file), stopping.calling(stop.set):
        return Shown(*_core.show(*arguments, listing=listing, deadline_seconds=seconds))


_BATCH = 256
"""Number of packets that are read from a capture file in one call."""


class Captured(NamedTuple):
    """A packet of a capture file: an Ethernet frame without its frame check sequence."""

    bytes: bytes
    """Captured bytes."""
    length: int
    """Length on the wire in bytes; the captured part can be shorter."""
    nanoseconds: int | None
    """Time of capture since the beginning of 1970; None if the file has no times."""


def captured(file: str) -> Iterator[Captured]:
    """Yield the packets of a capture file.

    Raises:
        InputError: if the file is not a capture, or is damaged after the packets yielded so far.
    """
    try:
        capture = _core.Capture(file)
        while packets := capture.packets(_BATCH):
            for packet in packets:
                yield Captured(*packet)
    except _core.Error as problem:
        raise InputError(Code(problem.code), file, str(problem)) from None


def check_capture(file: str) -> None:
    """Raise `InputError` unless a file can be read and begins like a packet capture."""
    try:
        _core.Capture(file)
    except _core.Error as problem:
        raise InputError(Code(problem.code), file, str(problem)) from None


def read_functions(file: str, data: bytes) -> Functions:
    """Read all functions of a BPF object, including those that are not programs.

    `file` is the name of the object in errors.

    Raises:
        InputError: if the object cannot be read.
    """
    with errors_as_file_errors(file):
        return _core.Functions(data)
