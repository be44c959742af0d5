"""Which lines and functions the instructions of a block are from, by debug information."""

from collections import Counter

from slowpath.insights.preparation.framework import is_support
from slowpath.insights.preparation.functions import Block, Function
from slowpath.insights.preparation.metadata import Metadata

_DIGITS = 6


Inlined = list[tuple[list[str], float]]
"""Functions that an instruction is of, by symbols in order, and the share of those that are."""


def shares(function: Function, metadata: Metadata) -> dict[str, Inlined]:
    """By number of a block, whose code its instructions are, where it is not the function's own.

    A function that was inlined into another stands with that one: each instruction counts once.
    """
    return {
        str(number): found
        for number, block in enumerate(function.blocks)
        if (found := _of_block(block, metadata, function.name))
    }


def lines(function: Function, metadata: Metadata) -> list[list[tuple[str, int, float]]]:
    """Of each block, files and lines, those of headers left out, with their shares of it."""
    found = []
    for block in function.blocks:
        places = [metadata.line(one.place) for one in block.instructions if one.place is not None]
        known = Counter(one for one in places if one is not None)
        whole = known.total()
        found.append(
            [
                (line.file, line.line, round(times / whole, _DIGITS))
                for line, times in sorted(known.items())
                if not is_support("", line.file)
            ]
        )
    return found


def _of_block(block: Block, metadata: Metadata, own: str) -> Inlined:
    located, found = 0, Counter[tuple[str, ...]]()
    for one in block.instructions:
        around = set() if one.place is None else metadata.around(one.place)
        if around:
            located += 1
            found[tuple(sorted(around - {own}))] += 1
    return [
        (list(names), round(times / located, _DIGITS))
        for names, times in sorted(found.items())
        if names
    ]
