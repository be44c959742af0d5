"""Lists the roles, such as data and length, that the parameters of a function may have."""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal, NamedTuple

from slowpath.insights.source.functions import Function, Parameter

Role = Literal["data", "end", "length", "number", "key", "memory"]
_LENGTH = re.compile(
    r"len|size|cnt|count|nbyte|nbits|num|sz|bytes|words|ihl|octets|^n$|_n$|^l$|^s$", re.IGNORECASE
)
_SEED = re.compile(r"crc|seed|init|sum|hash|adler|prev|start|basis|fcs", re.IGNORECASE)
_POLYNOMIAL = re.compile(r"pol|generator", re.IGNORECASE)
POLYNOMIALS = {
    8: (0x9B, 0xD5),
    16: (0x8005, 0xC867),
    32: (0x814141AB, 0xA833982B),
    64: (0xAD93D23594C935A9, 0x9A6C9329AC4BC9B5),
}
"""Polynomials to pass, by width in bits; with reversed bits, they are polynomials as well."""
_DIGESTS = (64, 32, 28, 48, 256, 512)
"""Sizes of digests in bytes or bits, for functions that take the size as an argument."""
MOST_PARAMETERS = 8
_MOST_POINTERS = 4


class Slot(NamedTuple):
    """Role of an argument in calls of a function, such as data or length."""

    role: Role
    value: int = 0  # default of a number


Binding = tuple[Slot, ...]
"""Role of each argument, in the order of the parameters."""
Extent = Literal["length", "text", "fixed", "end"]
"""The end of the data is given by a length argument, a zero byte, a fixed length, or an end
address.
"""


class Interpretation(NamedTuple):
    """An assignment of roles to the parameters of a function that processes data."""

    binding: Binding
    data: int  # index of the parameter that points to the data
    extent: Extent
    numbers: tuple[int, ...]  # indices of numeric parameters without another role


def interpretations(function: Function) -> list[Interpretation]:
    """Return the possible assignments of roles to the function's parameters, likely ones first."""
    parameters = function.parameters
    pointers = [at for at, one in enumerate(parameters) if one.kind == "pointer"]
    if len(parameters) > MOST_PARAMETERS or not 1 <= len(pointers) <= _MOST_POINTERS:
        return []
    found = [
        one
        for data in pointers
        if parameters[data].reads
        for one in _interpretations(parameters, data, pointers)
    ]
    return sorted(found, key=lambda one: _unlikeliness(parameters, one))


def sized_interpretations(function: Function) -> Iterator[Interpretation]:
    """Yield assignments of roles in which one numeric argument is the size of the result."""
    for reading in interpretations(function):
        if reading.extent != "length" or not 1 <= len(reading.numbers) <= 2:  # noqa: PLR2004
            continue
        if any(reading.binding[at].value for at in reading.numbers):
            continue  # it differs from an earlier interpretation only in default numbers
        for at, size in product(reading.numbers, _DIGESTS):
            binding = list(reading.binding)
            binding[at] = Slot("number", size)
            yield reading._replace(binding=tuple(binding))


def _interpretations(
    parameters: Sequence[Parameter], data: int, pointers: Sequence[int]
) -> Iterator[Interpretation]:
    numbers = [at for at, one in enumerate(parameters) if one.kind == "integer"]
    lengths = [at for at in numbers if _LENGTH.search(_name(parameters[at]))]
    if not lengths or not all(_name(parameters[at]) for at in numbers):
        lengths = [at for at in numbers if parameters[at].bits > 1]
    ends = [at for at in pointers if at != data and not parameters[at].writes]
    extents: list[tuple[Extent, int | None]] = [("length", at) for at in lengths]
    extents += [("end", at) for at in ends]
    extents += [("text", None), ("fixed", None)]
    for extent, at in extents:
        left = tuple(one for one in numbers if one != at)
        for value in (0, 1) if left else (0,):
            yield Interpretation(
                tuple(_slot(one, number, data, at, value) for number, one in enumerate(parameters)),
                data,
                extent,
                left,
            )


def _slot(parameter: Parameter, at: int, data: int, extent: int | None, value: int) -> Slot:
    if at == data:
        return Slot("data")
    if parameter.kind == "integer":
        return Slot("length") if at == extent else Slot("number", number_for(parameter, value))
    if at == extent:
        return Slot("end")
    return Slot("memory") if parameter.writes else Slot("key")


def number_for(parameter: Parameter, value: int, choice: int = 0) -> int:
    """Return the number to pass for a parameter.

    It is the generator polynomial of a CRC, at index `choice` of `POLYNOMIALS` for its width, if
    the parameter's name says that it takes one. Otherwise it is `value`.
    """
    if _POLYNOMIAL.search(_name(parameter)) and parameter.bits in POLYNOMIALS:
        return POLYNOMIALS[parameter.bits][choice]
    return value


def polynomials(function: Function) -> list[int]:
    """Return the indices of parameters whose names say that they take the polynomial of a CRC."""
    return [
        at
        for at, one in enumerate(function.parameters)
        if one.kind == "integer" and _POLYNOMIAL.search(_name(one)) and one.bits in POLYNOMIALS
    ]


def _unlikeliness(parameters: Sequence[Parameter], one: Interpretation) -> tuple[int, ...]:
    """Return a sort key: interpretations that fit the names and types of parameters come first."""
    described = parameters[one.data].described
    structured = described is not None and bool(described.members)
    length = next((at for at, slot in enumerate(one.binding) if slot.role == "length"), None)
    named = length is not None and bool(_LENGTH.search(_name(parameters[length])))
    seeded = length is not None and bool(_SEED.search(_name(parameters[length])))
    order = ("length", "end", "fixed", "text").index(one.extent)
    written = parameters[one.data].writes
    values = sum(slot.value for slot in one.binding)
    return (int(seeded), order, int(not named), int(written), int(structured), values)


def _name(parameter: Parameter) -> str:
    return parameter.described.name if parameter.described else ""
