"""The shape of what `slowpath chain verify` writes; texts below keys are for the documentation."""

from typing import Literal, TypedDict

from slowpath.commands.chain.documents import Proof


class FinalState(TypedDict):
    """The state that a run of a program leaves."""

    result: int
    """The return value."""
    start: int
    """How far the packet's start was moved, in bytes."""
    packet: str
    """The packet, two hexadecimal digits a byte."""
    metadata: str
    """The metadata in front of it, two hexadecimal digits a byte."""
    context: dict[str, int]
    """Other fields of the context that the program can write: bytes by offset."""
    calls: list[int]
    """Calls of helpers: their numbers and what they were given."""
    maps: list[str]
    """Elements of maps, in words."""


class Counterexample(TypedDict):
    """A packet and map content with which two programs differ."""

    what: str
    """What differs."""
    packet: str
    """The packet, two hexadecimal digits a byte."""
    room: dict[str, int]
    """Bytes around the packet that are not 0, by offset from its first byte."""
    maps: dict[str, dict[str, int]]
    """Bytes of maps that are not 0, by the name of their memory and offset."""
    drawn: list[int]
    """What calls of the first program are given from outside, in order."""
    original: FinalState
    """What the first program leaves."""
    specialised: FinalState
    """What the second program leaves."""


class VerifyReport(TypedDict):
    """What `slowpath chain verify` writes with `--format json`."""

    slowpath: str
    """Version of slowpath."""
    first: str
    """The first file."""
    second: str
    """The second file."""
    outcome: Literal["equal", "differ", "undecided"]
    """`equal`: both programs do the same with all packets of which the facts hold and all content
    of maps, under the `assumptions`. `differ`: they do not with the `counterexample`, which was
    run in the concrete interpreter. `undecided`: neither is known."""
    facts: list[str]
    """The facts assumed of packets (`--assume`): with a `place`, of those that arrive at the first
    program of the chain."""
    place: str | None
    """The program of a chain in whose place both are (`--chain`), for packets that get there
    through the programs in front; null if they may be anywhere."""
    assumptions: list[str]
    """Conditions for the outcome, one sentence each."""
    undecided: list[str]
    """Why it is not decided, one sentence each."""
    shared: list[str]
    """Maps that are one map in both programs: of one name, and defined alike."""
    counterexample: Counterexample | None
    """What they differ on; null unless they do."""
    proof: Proof
    """How much work the proof was."""
    stopped: str | None
    """Why it ended early, if it did."""
