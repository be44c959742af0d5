"""Measurements within a quota: nothing is measured twice, and nothing beyond it."""

from slowpath.contention.sampling.space import Measure, Point, Sample


class QuotaError(Exception):
    """All that may be measured has been."""


class Budget:
    """What has been measured, and how much may be: `profile_one` of the paper's Algorithm 1."""

    def __init__(self, measure: Measure, quota: int) -> None:
        if quota < 1:
            raise ValueError("a quota is one measurement at least")
        self._quota = quota
        self._measure = measure
        self._known = dict[Point, float]()

    @property
    def left(self) -> int:
        """How many more measurements there may be."""
        return self._quota - len(self._known)

    def known(self, point: Point) -> bool:
        """Whether a point has been measured."""
        return point in self._known

    def throughput(self, point: Point) -> float:
        """Throughput at a point, measured unless it is known.

        Raises:
            QuotaError: when it is not known and may not be measured any more.
        """
        if point not in self._known:
            if self.left <= 0:
                raise QuotaError
            self._known[point] = self._measure(point)
        return self._known[point]

    def samples(self) -> list[Sample]:
        """All that was measured, in the order in which it was."""
        return [Sample(point, value) for point, value in self._known.items()]
