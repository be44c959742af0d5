"""Counts the SmartNIC instructions of plain C functions and Click elements.

Such a function is not a BPF program, so it is first wrapped in one: an XDP program that calls it.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import llvmlite.binding as llvm

from slowpath.core import codes
from slowpath.core.engine import objects
from slowpath.core.errors import InputError, StoppedError
from slowpath.core.jobs import Stopping
from slowpath.insights.blocks.backend import BpfInstruction, layout, slots_of
from slowpath.insights.blocks.counted import CountedProgram, Made, Module, check, count
from slowpath.insights.blocks.documents import PredictedProgram, Question, Uncounted
from slowpath.insights.blocks.pointers import IrModule, Kind
from slowpath.insights.blocks.wrapping import ADDED, Wrapped, wrapped
from slowpath.insights.source.bpf_steps import lowered, optimise_for_bpf, packed, read
from slowpath.insights.source.calls import RECEIVING
from slowpath.insights.source.entry import (
    ACCEPTED_SIGNATURES,
    Entry,
    Role,
    choose_entry,
    packet_functions,
    with_pointer_targets,
)
from slowpath.insights.source.functions import functions_of
from slowpath.insights.source.modules import variables_of

POINTS: dict[Role, Kind] = {
    "bytes": "packet",
    "end": "packet",
    "length": "unknown",
    "port": "unknown",
    "element": "state",
    "packet": "context",  # like a program's context, the object has pointers into the packet
    "mbuf": "context",
    "burst": "unknown",
    "count": "unknown",
    "time": "unknown",
    "pointer": "state",
}
"""Kind of memory that a pointer parameter points to, by the role of the parameter."""


class Plain(NamedTuple):
    """A source with plain functions instead of BPF programs, as optimised LLVM IR."""

    text: str
    """LLVM IR as clang writes it."""
    read: str
    """The same module as llvmlite's version of LLVM writes it."""
    language: IrModule
    """Functions of the module `read`, with debug information."""
    sizes: Mapping[str, int]
    """Sizes of variables in bytes."""
    entries: list[Entry]
    others: list[tuple[str, Uncounted]]
    """Symbols of functions that cannot be called with a packet, and the reasons."""

    @property
    def roots(self) -> list[str]:
        """Symbols of the functions that take packets, including those that slowpath cannot call."""
        return [one.function.name for one in self.entries] + [name for name, _ in self.others]


def load_plain(question: Question) -> Plain:
    """Compile a source file to LLVM IR, and find the functions that take packets.

    Raises:
        InputError: when the source does not compile, or lacks the requested function.
        StoppedError: when the deadline passes first.
    """
    before = read(question.file, question.clang)
    functions = functions_of(_parsed(question, before))
    entries, others = list[Entry](), list[tuple[str, Uncounted]]()
    for name in packet_functions(question.file, functions, question.entry):
        try:
            chosen = choose_entry(question.file, functions, name)
            _check_called(question.file, chosen)
            if question.entry is None:
                _check_bytes(question.file, chosen)
            entries.append(chosen)
        except InputError as problem:
            reason = problem.reason.removesuffix(f"; {ACCEPTED_SIGNATURES}")
            others.append((name, {"entry": functions[name].shown, "reason": reason}))
    roots = [one.function.name for one in entries] + [name for name, _ in others]
    text = optimise_for_bpf(question.file, before, roots, question.clang)
    module = _parsed(question, text)
    after = functions_of(module)
    sizes, read_here = dict(variables_of(module)), str(module)
    ready = list[Entry]()
    for one in entries:
        same = one._replace(function=after[one.function.name])
        try:
            ready.append(with_pointer_targets(question.file, read_here, after, same))
        except InputError as problem:
            uncounted: Uncounted = {"entry": one.function.shown, "reason": problem.reason}
            others.append((one.function.name, uncounted))
    return Plain(text, read_here, IrModule(read_here, after), sizes, ready, others)


def counted_functions(
    question: Question, plain: Plain, stopping: Stopping
) -> Iterator[PredictedProgram | tuple[str, Uncounted]]:
    """Yield the instruction counts of each function that takes packets.

    For a function that cannot be counted, yield its symbol and the reason.

    Raises:
        StoppedError: when `stopping` asks to stop.
    """
    for entry in plain.entries:
        try:
            yield count_entry(question, plain, entry, stopping).program
        except StoppedError:
            raise
        except InputError as problem:
            uncounted: Uncounted = {"entry": entry.function.shown, "reason": problem.reason}
            yield entry.function.name, uncounted
    yield from plain.others


def _parsed(question: Question, text: str) -> llvm.ModuleRef:
    return llvm.parse_bitcode(packed(question.file, text, question.clang))


def _check_called(file: str, entry: Entry) -> None:
    """Check that a function gets its packet as an argument.

    A program on the SmartNIC cannot receive packets by calling a function.

    Raises:
        InputError: when the function receives packets itself.
    """
    if entry.receives:
        function = entry.function
        reason = (
            f"{function.shown} receives packets itself, but the card passes single packets to "
            "a program"
        )
        raise InputError(
            codes.SIGNATURE_NOT_SUPPORTED,
            file,
            f"{function.place}: {reason}. Name the function for one packet with --entry",
        )


def _check_bytes(file: str, entry: Entry) -> None:
    """Check that a byte pointer of the entry function may point to a packet.

    Call this for entry functions that slowpath chose because the user did not name one. The
    parameter with the role `bytes` is checked.

    Raises:
        InputError: when it points to a structure other than a header, or to numbers.
    """
    function = entry.function
    for number, (role, one) in enumerate(zip(entry.roles, function.parameters, strict=True), 1):
        to = one.described
        if role != "bytes" or to is None or to.size <= 1 or to.pointee.endswith("hdr"):
            continue
        reason = f"parameter {number} ({to.name}) of {function.shown} points to {to.pointee}"
        raise InputError(
            codes.SIGNATURE_NOT_SUPPORTED,
            file,
            f"{function.place}: {reason}, which may not be a packet; name a function with --entry",
        )


def as_program(question: Question, plain: Plain, entry: Entry) -> Wrapped:
    """Return the source with the function `entry` wrapped as a BPF program.

    The LLVM IR is in the syntax of llvmlite's LLVM version.

    Raises:
        InputError: when the function cannot be a program.
        StoppedError: when the deadline passes first.
    """
    done = wrapped(question.file, plain.text, plain.language.functions, entry, plain.sizes)
    return done._replace(text=str(_parsed(question, done.text)))


def count_entry(
    question: Question, plain: Plain, entry: Entry, stopping: Stopping
) -> CountedProgram:
    """Count the SmartNIC instructions of a function that takes packets, for each basic block.

    The function is wrapped as a program and compiled for the SmartNIC.

    Raises:
        InputError: when clang or the SmartNIC cannot compile it.
        StoppedError: when `stopping` asks to stop.
    """
    done = wrapped(question.file, plain.text, plain.language.functions, entry, plain.sizes)
    made = lowered(question.file, done.text, question.clang)
    placed, compiled = layout(made.assembler), objects.read_object(question.file, made.object)
    check(question.file, placed, compiled)
    called = _framework_calls(placed, done.framework)
    compiled = objects.with_replaced_calls(question.file, compiled, list(called))
    found = objects.programs(compiled) or []
    [program] = [one for one in found if one.name == entry.function.name]
    kinds = [POINTS[role] for role in entry.roles]
    module = Module(
        plain.language,
        placed,
        compiled,
        [program],
        {},
        Made(kinds, called, done.unsupported, RECEIVING, ADDED),
    )
    return count(question, module, program, stopping)


def _framework_calls(
    placed: Mapping[str, list[BpfInstruction]], framework: Mapping[str, str]
) -> dict[tuple[str, int], str]:
    """Return the names of called framework functions, by calling function and slot of the call.

    A framework function, such as a lookup in a Click hash table, has no code in the program.
    `placed` has the BPF instructions of each function, and `framework` the source names by symbol.
    """
    return {
        (name, slot): framework[one.calls]
        for name, slot, one in slots_of(placed)
        if one.slots == 1 and one.calls is not None and one.calls in framework  # not an address
    }
