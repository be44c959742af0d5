"""Types of the descriptions that `slowpath show` writes."""

from typing import TypedDict

from slowpath.core.schema.results import Instruction, Refusal

Subprogram = TypedDict(
    "Subprogram",
    # stack in bytes; None: from an older version
    {"name": str, "first": int, "global": bool, "stack": int | None},
)
"""A function that a program can call, by name and first instruction."""


class Call(TypedDict):
    """A helper or kernel function, with the number of instructions that call it."""

    name: str
    calls: int


class Unresolved(TypedDict):
    """An instruction with an unresolved reference, and the reason."""

    instruction: int
    reason: str


class MapUse(TypedDict):
    """A map that a program refers to, and the helpers that it is passed to."""

    name: str
    uses: list[str]


class Loop(TypedDict):
    """A loop, given by its first instruction and the source line of that instruction."""

    instruction: int
    file: str | None
    line: int | None
    text: str  # empty: not in the object
    iterations: int | None
    reason: str | None  # reason for an unknown number of iterations


class Card(TypedDict):
    """Result of compiling a program for the card."""

    instructions: int | None  # number of card instructions; None: the card cannot run the program
    refusals: list[Refusal]


class Stack(TypedDict):
    """The stack of a program, in bytes."""

    own: int  # stack of the entry function
    deepest: list[str]  # call chain with the deepest stack
    bytes: int  # total of this chain; each function is rounded up to 32


class Program(TypedDict):
    """A program of an object. Instructions are counted in 8-byte slots, as in the kernel."""

    section: str
    name: str
    kind: str
    instructions: int
    instructions_with_source: int
    subprograms: list[Subprogram]
    stack: Stack | None  # None: the program cannot be linked
    not_loadable: list[str] | None  # reasons why no kernel loads it; None: from an older version
    helpers: list[Call]
    kernel_functions: list[Call]
    maps: list[MapUse]
    unresolved: list[Unresolved]
    unsupported: str | None  # reason why it cannot be analysed
    assumptions: list[str]
    loops: list[Loop]
    card: Card | None  # None: not an XDP program, or it cannot be linked
    error: str | None
    listing: list[Instruction] | None


class Map(TypedDict):
    """A map of an object; sizes in bytes."""

    name: str
    kind: str
    key_size: int
    value_size: int
    max_entries: int  # 0: the loader chooses


class BpfObject(TypedDict):
    """An object, or the error if it cannot be shown."""

    file: str
    license: str | None
    programs: list[Program]
    maps: list[Map]
    error: str | None


def failed_object(file: str, error: str) -> BpfObject:
    """Return the description of a file that cannot be shown."""
    return {"file": file, "license": None, "programs": [], "maps": [], "error": error}
