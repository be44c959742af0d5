"""Reads which XDP program is to be profiled, and what its packets are."""

from ipaddress import IPv4Address
from pathlib import Path

from slowpath.cli.errors import InputError
from slowpath.contention.host.setup import Program
from slowpath.described.marked import Marked
from slowpath.described.values import table, text
from slowpath.engine import objects
from slowpath.experiments.specification.components import Number
from slowpath.experiments.specification.values import number
from slowpath.programs.loading import load_program
from slowpath.programs.selection import meant_by
from slowpath.programs.sources import Clang

_PORT = Number("port", 0, 65_535, 53)


def read_program(found: Marked, folder: Path) -> Program:
    """A program of an object, or of C source; `folder` is that of the description.

    Raises:
        InputError: when there is no such program, or its packets make no sense.
    """
    parts = table(found, ("object",), ("program", "destination", "destination_port"))
    wanted = text(parts["program"]) if "program" in parts else None
    path = str(folder / text(parts["object"]))
    try:
        read = objects.read_object(path, load_program(path, Clang(())))
    except InputError as problem:
        parts["object"].place.refuse(str(problem))
    meant = meant_by(path, objects.programs(read), wanted)
    if isinstance(meant, str):
        parts.get("program", parts["object"]).place.refuse(meant)
    destination, port = parts.get("destination"), parts.get("destination_port")
    return Program(
        read,
        meant.number,
        None if destination is None else _address(destination),
        None if port is None else number(port, _PORT),
    )


def _address(found: Marked) -> str:
    said = text(found)
    try:
        return str(IPv4Address(said))
    except ValueError:
        found.place.refuse(f"{said!r} is no IPv4 address, such as 192.0.2.1")
