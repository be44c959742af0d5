"""The running kernel as what measurements are made on."""

import random
import sys
from collections.abc import Sequence

from slowpath.engine.kernel import cold_caches, probes, refusals, stations
from slowpath.measurements.timing.sampling import Load, Reference, Sample, SubjectError

TOGETHER = 10
"""How many paths are attached at the same time. The kernel's dispatcher of XDP programs compares
the address of a program with those that are attached: with many, the branch predictor fails at some
of these comparisons, by where the programs happen to lie. With up to a dozen an empty program takes
82 cycles on the machine of docs/measure.md, with 20 or more 82 or 102. The dispatcher has room for
48 (`BPF_DISPATCHER_MAX`), which others may use, too; what is not in it takes longer to call."""


class KernelBench:
    """Loads paths into the running kernel and times them."""

    def __init__(self, station: stations.Station, cases: Sequence[stations.Case]) -> None:
        """Loads the busy loop alone."""
        self._station = station
        self._busy = probes.load_busy(station)
        self._cases = list(cases)
        self._order = random.Random(0)  # noqa: S311 - no secret
        self.wrapped = [case.arrangement == "restored" for case in self._cases]
        self.most = [case.repetitions for case in self._cases]
        self.parts = _parts(len(self._cases))
        self.net = [case.arrangement == "restored" or case.drained for case in self._cases]

    def load(self, part: Sequence[int]) -> Load:
        """Loads paths anew, in another order each time.

        The kernel finds a program by its address, and what is loaded first lies elsewhere than
        what is loaded last: that is not to favour one of them.

        Raises:
            InputError: when the kernel does not take one of them any more.
        """
        order = list(part)
        self._order.shuffle(order)
        load = stations.load_cases(self._station, [self._cases[subject] for subject in order])
        return _KernelLoad(self._station, load, self._busy, order)


class ColdBench:
    """The same for paths that many flows take.

    Each is followed by an empty program that gets the same packets from the same table.
    """

    def __init__(self, station: stations.Station, cases: Sequence[cold_caches.Cold]) -> None:
        """Loads the busy loop alone."""
        self._station = station
        self._busy = probes.load_busy(station)
        self._cases = list(cases)
        self.wrapped = self.net = [True] * (2 * len(self._cases))
        self.most = [sys.maxsize] * len(self.wrapped)
        self.parts = _parts(len(self.wrapped))

    def load(self, part: Sequence[int]) -> Load:
        """Loads paths anew, and fills their maps.

        Raises:
            InputError: when the kernel does not take one of them any more.
        """
        cases = [self._cases[subject // 2] for subject in part[::2]]
        load = cold_caches.load_cold(self._station, cases)
        return _KernelLoad(self._station, load, self._busy, list(part))


class _KernelLoad:
    def __init__(
        self, station: stations.Station, load: stations.Load, busy: probes.Busy, order: list[int]
    ) -> None:
        self._station = station
        self._load = load
        self._busy = busy
        self._numbers = {subject: number for number, subject in enumerate(order)}

    def sample(self, subject: int, repeat: int) -> Sample:
        number = self._numbers.get(subject, subject)
        try:
            if subject == Reference.BUSY:
                return Sample(*probes.sample_busy(self._station, self._busy, repeat))
            return Sample(*stations.sample(self._station, self._load, number, repeat))
        except refusals.Refusal as problem:
            raise SubjectError(problem.reason) from problem


def _parts(count: int) -> list[range]:
    """So many subjects in parts that are attached together."""
    starts = range(0, count, TOGETHER)
    return [range(start, min(start + TOGETHER, count)) for start in starts]
