"""The shape of what is said of single instructions, in several documents."""

from typing import TypedDict


class Line(TypedDict):
    """A source line."""

    file: str
    line: int
    text: str  # empty: not in the object


class Instruction(TypedDict):
    """An instruction of a listing."""

    instruction: int
    text: str
    source: Line | None


class Refusal(TypedDict):
    """Something that a device cannot run."""

    instruction: int | None  # None: the program as a whole
    place: str  # section, instruction and source line; empty for the program as a whole
    reason: str
    hint: str  # empty: nothing helps but another target
    times: int  # instructions that are refused for this reason
