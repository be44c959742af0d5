"""What is asked."""

from typing import Literal, NamedTuple

from slowpath.programs.sources import Clang

TARGET = "agilio-cx-2x40"
"""The card that instructions are predicted for."""
Way = Literal["auto", "exact", "learnt"]
"""`auto`: counted where that can be done, else by the model."""


class Question(NamedTuple):
    """Which blocks are to be predicted, and how."""

    file: str
    entry: str | None  # None: all programs, or functions that take packets
    map_abi: str
    clang: Clang
    way: Way = "auto"
