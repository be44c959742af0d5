"""Trains the prefix tree of instruction words, a part of the shipped prediction model.

`slowpath.insights.blocks.predicted` uses the tree.
"""

from collections import defaultdict
from collections.abc import Iterable
from statistics import median
from typing import Any

from blocks.pairs import Slot

_SEEN = 2
"""Minimum number of occurrences of a word sequence for the tree to learn from it."""
_ALWAYS = frozenset(
    ["branch", "load", "store", "move", "+", "*", "swap", "negate", "atomic", "exit"]
)
"""Tokens of instructions for which code is always generated if they are reachable."""
Label = tuple[float, float, float, float]


def grown(slots: Iterable[Slot]) -> dict[str, Any]:
    """Build a prefix tree of instruction words from exact counts, and return it as JSON.

    The errors of its predictions are placeholders that the caller replaces. Each prefix has the
    median of its observations, unless a shorter prefix has the same.
    """
    seen = defaultdict[tuple[str, ...], list[Label]](list)
    for one in slots:
        if not one.instructions and not one.refused and one.words[0] in _ALWAYS:
            continue  # the code generator removed unreachable code
        label = (one.instructions - one.pieces, one.packet, one.state, one.unknown)
        for count in range(1, len(one.words) + 1):
            seen[tuple(one.words[:count])].append(label)
    nodes = dict[tuple[str, ...], Label]()
    for words in sorted(seen, key=len):
        labels = seen[words]
        middle = tuple(float(median(part)) for part in zip(*labels, strict=True))
        inherited = next(
            (
                nodes[words[:count]]
                for count in range(len(words) - 1, 0, -1)
                if words[:count] in nodes
            ),
            None,
        )
        if inherited is None or (len(labels) >= _SEEN and middle != inherited):
            nodes[words] = middle  # type: ignore[assignment]
    return {
        "nodes": {" / ".join(words): list(label) for words, label in sorted(nodes.items())},
        "errors": [[1e9, 1.0, 1.0]],
    }
