"""What a packet makes in functions: instructions, and accesses to each of their parts.

A part is what has prices of its own: a structure of a source, an element of a published chain.
"""

from typing import NamedTuple

import numpy as np

from slowpath.insights.demands.documents import CardWork
from slowpath.insights.functions.functions import Array


class Packets(NamedTuple):
    """Work of a packet; an access fetches up to 16 bytes or so, as those of published elements."""

    instructions: Array  # shape (functions,)
    imem: Array  # accesses to the internal memory, the fewest, shape (functions, parts)
    imem_most: Array  # the same if nothing is fetched together
    emem: Array  # to the external one
    emem_most: Array


def packets_of(work: CardWork) -> Packets:
    """What a packet makes in one function."""
    memories = [
        np.array([[one[end] if one["memory"] == memory else 0.0 for one in work["parts"]]])
        for memory in ("imem", "emem")
        for end in ("fewest", "most")
    ]
    return Packets(np.array([work["instructions"]]), *memories)
