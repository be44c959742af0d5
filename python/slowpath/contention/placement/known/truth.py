"""Throughput of mixes as it was measured or simulated, to judge placements by."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mix = tuple[int, ...]


class Truth(NamedTuple):
    """What functions do in mixes, and by themselves (mixes of one)."""

    file: str
    known: Mapping[Mix, Mapping[int, float]]  # by mix and function, throughput

    def kept(self, mix: Mix) -> dict[int, float] | None:
        """What each function of a mix keeps of its throughput alone; None if it is not known."""
        values = self.known.get(mix)
        if values is None:
            return None
        return {at: value / self.known[at,][at] for at, value in values.items()}


def counts_of(mixes: Sequence[Mix], functions: int) -> Floats:
    """How many of each function there are, `[mix, function]`."""
    counts = np.zeros((len(mixes), functions))
    for at, mix in enumerate(mixes):
        np.add.at(counts[at], list(mix), 1.0)
    return counts
