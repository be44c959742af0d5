"""Files with programs and files with packets."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from slowpath import _core
from slowpath.core.engine.errors import MapsFile, as_text, of_file, of_files
from slowpath.core.errors import InputError
from slowpath.core.jobs.stopping import Stopping

Object = _core.Object
"""A file with programs, read once; from `read_object`."""
Btf = _core.Btf
"""Types of the kernel that programs are for; from `read_btf`."""


class Subject(NamedTuple):
    """A program to work on."""

    file: str  # names it in messages
    object: Object
    program: int  # its number in the object
    btf: Btf | None


class View(NamedTuple):
    """What is to be said of an object."""

    programs: list[int]  # their numbers
    btf: Btf | None
    listing: bool
    deadline_seconds: float  # for the loops of one program
    memory_bytes: int | None  # of the process


class ProgramInfo(NamedTuple):
    """A program of an object, for choosing."""

    number: int  # in the object
    section: str
    name: str
    kind: str
    needs_kernel: bool  # whether it depends on the types of the kernel that it runs on


def read_object(file: str, data: bytes) -> Object:
    """The content of a file with programs; `file` names it.

    Raises:
        InputError: when it is an object that cannot be read.
    """
    with of_file(file):
        return _core.Object(data)


def configured(file: str, found: Object, variables: list[str], maps: str | None) -> Object:
    """The same object with variables as a loader sets them; `file` names it.

    `variables` are `NAME=VALUE` or `NAME=any`, `maps` the text of a file with content of maps, of
    which read-only sections count. The last value counts.

    Raises:
        InputError: when there is no such variable or section, or a value does not fit.
    """
    with of_file(file):
        try:
            return found.configured(variables, maps)
        except _core.Error as problem:
            if problem.option != "--maps":
                raise
            # The analysis reports it, with the name and the line of that file.
            return found


def read_btf(file: str, data: bytes) -> Btf:
    """The types of a kernel; `file` names them.

    Raises:
        InputError: when they cannot be read.
    """
    with of_file(file):
        return _core.Btf(data)


def programs(found: Object) -> list[ProgramInfo] | None:
    """The programs of a BPF object; None for a listing, which is one."""
    listed = found.programs()
    if listed is None:
        return None
    return [ProgramInfo(p.index, p.section, p.name, p.kind, p.needs_kernel) for p in listed]


def map_names(found: Object) -> list[str]:
    """The names of the maps of a BPF object; a listing has none."""
    return found.map_names()


def run_maps(
    file: str, found: Object, maps: MapsFile | None
) -> dict[str, list[dict[str, str | int]]]:
    """What maps of a BPF object hold when a run begins, by their names; `file` names the object.

    That is what `maps` says, and the programs and maps that the object puts into arrays of programs
    and maps of maps that it does not name. Entries are those of witnesses (`docs/maps.md`), keys
    and values in hexadecimal digits.

    Raises:
        InputError: when it cannot be read, or does not fit the maps.
    """
    with of_files(file, maps):
        said: dict[str, dict[str, list[dict[str, str | int]]]] = json.loads(
            found.run_maps("" if maps is None else maps.text)
        )
    return said["maps"]


def show(file: str, found: Object, view: View, stopping: Stopping) -> str:
    """What programs of a BPF object contain, as JSON; `file` names it.

    Raises:
        InputError: when it is no BPF object.
    """
    programs, btf, listing, seconds, memory = view
    stop = _core.Stop(None, memory)
    asked = (as_text(file), found, programs, btf, stop)
    with of_file(file), stopping.calling(stop.set):
        return _core.show(*asked, listing=listing, deadline_seconds=seconds)


_AT_ONCE = 256


class Captured(NamedTuple):
    """A packet: an Ethernet frame without its check sequence."""

    bytes: bytes
    """What was captured of it."""
    length: int
    """Bytes that it had on the wire, at least those that were captured."""
    nanoseconds: int | None
    """When that was, since the beginning of 1970; None where the file does not say it."""


def captured(file: str) -> Iterator[Captured]:
    """The packets of a file, one after the other.

    Raises:
        InputError: when it is no capture, or damaged; what came before was there.
    """
    try:
        capture = _core.Capture(file)
        while packets := capture.packets(_AT_ONCE):
            for packet in packets:
                yield Captured(*packet)
    except _core.Error as problem:
        raise InputError(file, str(problem)) from None
