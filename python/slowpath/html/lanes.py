"""Lanes beside a column of boxes, in which arrows lead from one to another.

All arrows to a box share a lane, so that there are few. Lanes near the boxes have the shortest
ways.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Lane(NamedTuple):
    """The arrows to a box."""

    target: int  # the box
    sources: tuple[int, ...]  # those that they come from, ascending
    track: int  # the place of the lane, 0 is next to the boxes

    @property
    def first(self) -> int:
        """The uppermost box that it passes."""
        return min(self.target, self.sources[0])

    @property
    def last(self) -> int:
        """The lowest one."""
        return max(self.target, self.sources[-1])


def lanes(arrows: Mapping[int, Sequence[int]]) -> list[Lane]:
    """Lanes such that no two of them are at the same place; `arrows` are sources by target."""
    plain = [Lane(target, tuple(sorted(set(found))), 0) for target, found in arrows.items()]
    plain.sort(key=lambda lane: (lane.last - lane.first, lane.first))
    taken, placed = list[set[int]](), list[Lane]()
    for lane in plain:
        boxes = set(range(lane.first, lane.last + 1))
        track = next((at for at, used in enumerate(taken) if not used & boxes), len(taken))
        if track == len(taken):
            taken.append(set())
        taken[track] |= boxes
        placed.append(lane._replace(track=track))
    return sorted(placed, key=lambda lane: (lane.first, lane.track))
