"""What is asked."""

from typing import NamedTuple

from slowpath.programs.sources import Clang

TARGET = "agilio-cx-2x40"
"""The card that instructions are predicted for."""


class Question(NamedTuple):
    """Which blocks are to be predicted, and how."""

    file: str
    entry: str | None  # None: all XDP programs
    map_abi: str
    clang: Clang
    learnt: bool = False  # whether the model is to say it, where it could be counted, too
