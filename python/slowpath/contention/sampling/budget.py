"""Measurements within a quota: nothing is asked for twice, and nothing beyond it."""

from statistics import fmean

from slowpath.contention.sampling.asking import Asking
from slowpath.contention.sampling.space import Point, Sample


class QuotaError(Exception):
    """All that may be measured has been."""


class Budget:
    """What has been measured, and how much may be: `profile_one` of the paper's Algorithm 1."""

    def __init__(self, quota: int) -> None:
        if quota < 1:
            raise ValueError("a quota is one measurement at least")
        self._quota = quota
        self._known = dict[Point, list[float]]()
        self.spent = 0
        """How many measurements there have been; one may tell about several points."""

    @property
    def left(self) -> int:
        """How many more measurements there may be."""
        return self._quota - self.spent

    def known(self, point: Point) -> bool:
        """Whether throughput at a point is known."""
        return point in self._known

    def throughput(self, point: Point) -> Asking[float]:
        """Throughput at a point, asked for unless it is known; the mean where it was told often.

        Raises:
            QuotaError: when it is not known and may not be measured any more.
        """
        if point not in self._known:
            if self.left <= 0:
                raise QuotaError
            self.spent += 1
            for sample in (yield point):
                self._known.setdefault(sample.point, []).append(sample.throughput)
        return fmean(self._known[point])

    def samples(self) -> list[Sample]:
        """All that is known, each point once, in the order in which it came to be."""
        return [Sample(point, fmean(values)) for point, values in self._known.items()]
