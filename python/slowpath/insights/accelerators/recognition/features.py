"""A function as numbers: patterns that its loops have, and how its instructions are mixed."""

import math
from collections import Counter
from collections.abc import Sequence

from slowpath.insights.accelerators.recognition.mining import occurs
from slowpath.insights.accelerators.recognition.sequences import (
    Words,
    chases_pointers,
    sequences,
    words,
)
from slowpath.insights.preparation.functions import Function
from slowpath.insights.preparation.graph import loops

_SHARES = (
    *("xor", "and", "or", "shl", "lshr", "add", "sub", "mul", "urem"),
    *("load8", "load16", "load32", "load64", "loadp", "store8", "store32"),
    *("gep", "icmp", "select", "call", "fshl", "bswap"),
)
"""Words whose share of all is a number; without the constants behind them."""
PLAIN = len(_SHARES) + 5


def features(function: Function, patterns: Sequence[Words]) -> list[float]:
    """So many numbers: `PLAIN`, and one for each pattern."""
    inside = sequences(function)
    everything = words(function.blocks)
    counted = Counter(word.partition(".")[0] for one in inside for word in one)
    total = sum(counted.values()) or 1
    found = loops(function)
    tables = sum(
        "getelementptr" in instruction.text and "@" in instruction.text
        for block in function.blocks
        for instruction in block.instructions
    )
    numbers = [counted[word] / total for word in _SHARES]
    numbers += [
        math.log1p(len(everything)) / 8,
        math.log1p(len(found)) / 2,
        float(max((one.depth for one in found), default=0)) / 3,
        math.log1p(tables) / 4,
        float(chases_pointers(function)),
    ]
    numbers += [float(any(occurs(one, text) for text in inside)) for one in patterns]
    return numbers
