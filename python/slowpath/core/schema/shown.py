"""Shape of the descriptions that `slowpath show` writes."""

from typing import TypedDict

from slowpath.core.schema.results import Instruction, Refusal

Subprogram = TypedDict(
    "Subprogram",
    # stack in bytes; None: not written by older versions
    {"name": str, "first": int, "global": bool, "stack": int | None},
)
"""A function that a program can call, by name and first instruction."""


class Call(TypedDict):
    """A helper or kernel function, and how many instructions call it."""

    name: str
    calls: int


class Unresolved(TypedDict):
    """An instruction that refers to what is not known, and why."""

    instruction: int
    reason: str


class MapUse(TypedDict):
    """A map that a program refers to, and the helpers that it is passed to."""

    name: str
    uses: list[str]


class Loop(TypedDict):
    """A loop, by its first instruction and that one's source line."""

    instruction: int
    file: str | None
    line: int | None
    text: str  # empty: not in the object
    iterations: int | None
    reason: str | None  # why the number of iterations is not known


class Card(TypedDict):
    """Whether the card runs a program."""

    instructions: int | None  # for the target; None: it cannot run the program
    refusals: list[Refusal]


class Stack(TypedDict):
    """The stack of a program, in bytes."""

    own: int  # of the entry function
    deepest: list[str]  # the functions along which it is deepest
    bytes: int  # along these, each rounded up to 32


class Program(TypedDict):
    """A program of an object. Instructions are counted in 8-byte slots, as the kernel does."""

    section: str
    name: str
    kind: str
    instructions: int
    instructions_with_source: int
    subprograms: list[Subprogram]
    stack: Stack | None  # None: it cannot be linked
    not_loadable: list[str] | None  # why no kernel loads it; None: not written by older versions
    helpers: list[Call]
    kernel_functions: list[Call]
    maps: list[MapUse]
    unresolved: list[Unresolved]
    unsupported: str | None  # why it cannot be analysed
    assumptions: list[str]
    loops: list[Loop]
    card: Card | None  # None: no XDP program, or one that cannot be linked
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
    """An object, or why it cannot be shown."""

    file: str
    license: str | None
    programs: list[Program]
    maps: list[Map]
    error: str | None


def failed_object(file: str, error: str) -> BpfObject:
    """What is said about a file that cannot be shown."""
    return {"file": file, "license": None, "programs": [], "maps": [], "error": error}
