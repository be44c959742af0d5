"""Throughput of mixes as it was measured or simulated, to judge placements by."""

from collections.abc import Mapping
from typing import NamedTuple

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
