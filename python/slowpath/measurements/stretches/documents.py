"""The shape of what stretches of a path take."""

from typing import TypedDict


class MeasuredStretch(TypedDict):
    """A part of a path, and what it adds to the time of the path."""

    from_instruction: int
    """Its first instruction."""
    to_instruction: int | None
    """The first instruction behind it; null: it goes on to the end of the program."""
    instructions: int
    """How many instructions it executes."""
    call: str | None
    """The helper or function that it calls, if it makes one call."""
    file: str | None
    """Source file of the call, or of the line with the most instructions; null where it is not
    known."""
    line: int | None
    """Its line there."""
    text: str | None
    """What stands in that line; empty if the object does not have it."""
    ns: float | None
    """Nanoseconds that it adds: the mean over all loads but outliers. Below 0, where it adds so
    little that noise is more. Null where none of the loads was undisturbed."""
    low_ns: float | None
    """Lower end of the 95 % interval of `ns`; null where there is only one load."""
    high_ns: float | None
    """Upper end of that interval."""
    share: float | None
    """`ns` as a share of `program_ns`."""


class Breakdown(TypedDict):
    """Where the time of a path goes."""

    rank: int | None
    """The path: the `rank` of the slowest one by time."""
    program_ns: float | None
    """Nanoseconds that the path takes beyond an empty program, measured in turns with its
    beginnings. In each load its stretches add up to it."""
    asking_ns: float | None
    """Nanoseconds of a question whether to end at a point; they are taken off."""
    loads: int
    """How often the program was loaded anew."""
    stretches: list[MeasuredStretch]
    """In order of execution."""
    uncut: list[int]
    """Instructions at which the path could not be cut, because the program may not end there, or
    because what it does up to there cannot be taken back."""
    error: str | None
    """Why it is not known where the time goes, one line."""
