"""The functions of a source as instructions of BPF in words, block by block."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from slowpath.insights.blocks.lowering.backend import assembler
from slowpath.insights.blocks.lowering.calls import legal
from slowpath.insights.blocks.lowering.modules import Prepared
from slowpath.insights.blocks.machine.assembler import Assembled, assembled
from slowpath.insights.blocks.machine.values import NUMBER, Context, Given, Pointee, Value, number
from slowpath.insights.blocks.machine.words import Described, described
from slowpath.insights.preparation.functions import Parameter

_VARIABLE = re.compile(
    r'^@("[^"]*"|[\w.$-]+) = (?!.*?\bdeclare\b)[^\n]*?\b(global|constant)\b([^\n]*)', re.MULTILINE
)
_POINTERS = re.compile(r'^(?:define|declare) [^(\n]*\bptr @("[^"]*"|[\w.$-]+)\(', re.MULTILINE)
_DEBUG = re.compile(r",? !dbg !\d+|^    #dbg_[^\n]*\n|^!llvm\.dbg\.cu = [^\n]*\n", re.MULTILINE)
_PACKETS = re.compile(r"_ZNK?(?:6Packet|14WritablePacket)")
"""Functions of packets, as C++ names them; those that return pointers return packets."""
_PASSED = 5
_WORD = (1 << 32) - 1


class Machine(NamedTuple):
    """A module as the back end has made it, but for functions that it does not take."""

    functions: dict[str, Assembled]
    symbols: dict[str, Pointee]
    refused: dict[str, str]  # functions that it does not take, with reasons
    pointers: frozenset[str] = frozenset()  # functions that return pointers


def lower(file: str, source: Prepared, until: float | None = None) -> Machine:
    """What the back end makes of a module for BPF.

    Debug information goes along only where it is of C for BPF: it says which fields programs name,
    and that of C++ ends the back end.

    Raises:
        StoppedError: when the time is up before.
    """
    text = source.text
    made = assembler(file, legal(text if source.for_bpf else _without_debug(text)), until)
    return Machine(
        {n: one for n, one in assembled(made.text).items() if n not in made.refused},
        symbols(text),
        made.refused,
        frozenset(name.strip('"') for name in _POINTERS.findall(text)),
    )


def _without_debug(text: str) -> str:
    return _DEBUG.sub("", text)


def symbols(text: str) -> dict[str, Pointee]:
    """What the variables of a module are."""
    found = dict[str, Pointee]()
    for name, kind, rest in _VARIABLE.findall(text):
        is_map = re.search(r'section "\.?maps"', rest)
        found[name.strip('"')] = "map" if is_map else "table" if kind == "constant" else "global"
    return found


def blocks(
    machine: Machine,
    entry: str,
    parameters: Mapping[str, Sequence[Value]],
    elsewhere: Iterable[str] = (),
) -> dict[str, dict[str, list[Described]]]:
    """By function and block, the instructions of an entry and of what it calls.

    `parameters` are what functions are given where no call of them is known; what others return,
    which are `elsewhere`, is a number that leads to nothing of which the card knows.
    """
    found = dict[str, dict[str, list[Described]]]()
    results = {
        name: Value("context", "descriptor", 0)
        if _PACKETS.match(name)
        else Value("element", name, 0)
        for name in machine.pointers - machine.functions.keys()
    }
    results |= dict.fromkeys(elsewhere, Value("returned", high=_WORD))
    for root in (entry, *parameters):  # functions that are called through pointers, too
        if root in found or root not in machine.functions:
            continue
        arguments = [*parameters.get(root, ()), *[NUMBER] * _PASSED][:_PASSED]
        given = Given(tuple(arguments), machine.symbols, results)
        for name, rows in described(machine.functions, root, given).items():
            if name in found:
                continue
            inside = found.setdefault(name, {})
            for one in rows:
                inside.setdefault(one.block, []).append(one)
    return found


def value(parameter: Parameter, at: int, kind: str) -> Value:
    """What a parameter holds; `kind` is what it is taken to point to."""
    if parameter.kind == "integer":
        return number((1 << min(parameter.bits, 64)) - 1)
    if parameter.kind != "pointer":
        return NUMBER
    if kind == "context":
        described = parameter.described
        if described is not None and described.pointee != "xdp_md":
            return Value("context", "descriptor", 0)
        places = {one.name: one.offset for one in described.members} if described else {}
        return Value("context", Context(places.get("data", 0), places.get("data_end", 4)), 0)
    pointees: dict[str, Pointee] = {"packet": "packet", "state": "element"}
    return Value(pointees.get(kind, "unknown"), ("argument", at), 0)
