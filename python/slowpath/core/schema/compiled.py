"""Shape of compiled programs and of their verification."""

from typing import TypedDict

from slowpath.core.schema.results import Line


class CardInstruction(TypedDict):
    """An instruction for the card."""

    word: str  # hexadecimal, without error correction
    text: str
    bpf: int | None  # slot of the BPF instruction that it is for


class BpfInstruction(TypedDict):
    """A BPF instruction by its slot, as the kernel counts them."""

    slot: int
    text: str
    source: Line | None


class Compiled(TypedDict):
    """A program of an object as the card runs it."""

    file: str
    section: str
    program: str
    map_abi: str
    listing: str  # as `bound` reads it
    instructions: list[CardInstruction]
    bpf: list[BpfInstruction]
    deviations: list[str]  # where the card does something else than the kernel


class ElementByte(TypedDict):
    """A byte of an element of an array."""

    index: int
    offset: int
    byte: int


class FinalState(TypedDict):
    """What a run leaves."""

    result: int
    start: int  # how far the packet's start was moved, in bytes
    packet: str
    array: list[ElementByte]  # bytes that changed


class Counterexample(TypedDict):
    """A packet and map content on which a program does something else on the card."""

    packet: str
    array: list[ElementByte]  # all other bytes are 0
    drawn: list[int]  # random numbers, in order
    bpf: FinalState
    card: FinalState


class Verification(TypedDict):
    """What is known about the equivalence of a program and what the card runs."""

    proved: bool
    paths_proved: int
    paths_total: int | None  # None: not all were found
    pairs: int  # of a BPF path and one on the card that some packet takes
    counterexample: Counterexample | None
    undecided: list[str]  # why paths are not proved
    assumptions: list[str]
    deviations: list[str]  # what explains a counterexample
    checks: int  # questions to the solver
    seconds: float
