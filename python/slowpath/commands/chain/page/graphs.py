"""Control-flow graphs of programs before and after, as the engine gives them."""

from typing import Literal, TypedDict

from slowpath.commands.chain.documents import Dropped, SourceLine


class Instruction(TypedDict):
    """An instruction."""

    slot: int
    """Its number, in 8-byte slots."""
    text: str
    """The instruction."""
    line: int | None
    """Its source line, by its place in the list of lines."""
    fate: Literal["kept", "changed", "gone"] | None
    """What became of it, or whether it was there before; null in a guard."""
    origin: int | None
    """The slot of the original that it stands for; null in the original, and in a guard."""


class Way(TypedDict):
    """A way from one block to another."""

    to: int
    """The block, by its place in the list."""
    way: Literal["always", "taken", "otherwise"]
    """When it is taken."""
    never: bool
    """Whether no packet takes it."""


class Block(TypedDict):
    """Instructions that run one behind the other."""

    first: int
    """Its first slot."""
    slots: int
    """How many slots it has."""
    part: Literal["kept", "changed", "gone", "unreached", "guard", "original"]
    """What became of it, or what it belongs to."""
    instructions: list[Instruction]
    """Its instructions; none of `original`."""
    next: list[Way]
    """Where it leads."""


class Graph(TypedDict):
    """The blocks of a program."""

    blocks: list[Block]
    """In the order of their slots."""
    slots: int
    """How many 8-byte slots the program has."""


class Pair(TypedDict):
    """A program before and after."""

    lines: list[SourceLine]
    """Source lines, which instructions name."""
    before: Graph
    """As it was written."""
    after: Graph | None
    """As it was rewritten; null where only facts were looked for."""
    dropped: list[Dropped]
    """What became of instructions, and why."""


class Graphs(TypedDict):
    """The graphs of a chain's programs."""

    programs: list[Pair | None]
    """In the order of the chain's description; null for programs that stay as they were."""
    fused: Pair | None
    """Of all programs as one: as they were fused, and without what is there twice."""
