"""Types of documents about compiled programs and their verification."""

from typing import TypedDict

from slowpath.core.schema.results import Line


class CardInstruction(TypedDict):
    """An instruction for the card."""

    word: str  # hexadecimal, without error correction
    text: str
    bpf: int | None  # slot of the BPF instruction that it was compiled from


class BpfInstruction(TypedDict):
    """A BPF instruction, with its slot in the kernel's numbering."""

    slot: int
    text: str
    source: Line | None


class Compiled(TypedDict):
    """A program of an object, compiled for the card."""

    file: str
    section: str
    program: str
    map_abi: str
    listing: str  # in the format that `bound` reads
    instructions: list[CardInstruction]
    bpf: list[BpfInstruction]
    deviations: list[str]  # differences between card and kernel


class ElementByte(TypedDict):
    """A byte of an element of an array."""

    index: int
    offset: int
    byte: int


class FinalState(TypedDict):
    """State after a run."""

    result: int
    start: int  # shift of the packet's start, in bytes
    packet: str
    array: list[ElementByte]  # bytes that changed


class Counterexample(TypedDict):
    """A packet and map content for which a program behaves differently on the card."""

    packet: str
    array: list[ElementByte]  # all other bytes are 0
    drawn: list[int]  # random numbers of the run, in order
    bpf: FinalState
    card: FinalState


class Verification(TypedDict):
    """Result of checking that a BPF program and its compiled form are equivalent."""

    proved: bool
    paths_proved: int
    paths_total: int | None  # None: not all were found
    pairs: int  # pairs of a BPF path and a card path that a common packet takes
    counterexample: Counterexample | None
    undecided: list[str]  # reasons why paths are not proved
    assumptions: list[str]
    deviations: list[str]  # known differences that explain a counterexample
    checks: int  # solver queries
    seconds: float
