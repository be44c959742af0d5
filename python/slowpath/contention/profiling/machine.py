"""Finds the CPUs and caches of this machine, and detects interference by other virtual machines.

In a virtual machine, such interference is only visible in timings. Handing a cache line to another
virtual CPU and back took 60 ns while both were on cores with a common last-level cache, 290 to
330 ns, for minutes at a time, with different last-level caches, and 27 ns on one core. A loop took
23.1 us on an unshared core, to the digit (19.0 with a lucky alignment of its instructions). It took
24 to 37 us while another tenant used a thread of the same core, in half of all measurements. It
took 37.8 us while our own second CPU used the other thread.
"""

import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.contention.profiling.bubble_score import probe_bytes
from slowpath.contention.profiling.mixes import CpuAssignment
from slowpath.contention.profiling.setup import Setup
from slowpath.core import codes
from slowpath.core.engine import neighbours
from slowpath.core.engine.kernel import Kernel, open_kernel
from slowpath.core.engine.report_types import Surroundings
from slowpath.core.errors import UnavailableError
from slowpath.measure.machine import Files, processor
from slowpath.measure.statistics import quantile

_PROBES = (64 * 1024, 64 * 1024 * 1024)  # limits of the probe's working set, bytes


class Machine(NamedTuple):
    """CPUs, caches and kernel of this machine, as used to measure a profile."""

    name: str
    places: CpuAssignment
    cache_bytes: int
    probe_bytes: int
    kernel: Kernel | None  # loader of XDP programs; None without one


def this_machine(setup: Setup) -> Machine:
    """Select CPUs for a setup, determine their cache, and open the kernel if it runs a program.

    Raises:
        UnavailableError: if there are too few CPUs, the size of the cache is unknown, or the kernel
            does not load programs of this process.
    """
    purpose = "a function beside a competitor"
    if setup.function.pattern == "pipeline":
        purpose = "a pipeline with an accelerator on its own CPU"
    cpus = neighbours.cpus(setup.cpus, 2, purpose)
    facts = processor(Files(), cpus[0])
    sizes = [(cache["level"] or 0, cache["bytes"] or 0) for cache in facts["caches"]]
    cache = max((size for size in sizes if size[1]), default=None)
    if cache is None:
        reason = "the kernel does not report the size of the last-level cache (/sys/devices/system)"
        raise UnavailableError(codes.MACHINE_UNSUITABLE, reason)
    least, most = _PROBES
    private = max((size for level, size in sizes if level < cache[0]), default=0)
    probe = min(max(probe_bytes(cache[1], private), least), most)
    kernel = None if setup.function.program is None else open_kernel()
    return Machine(facts["model"] or "this host", CpuAssignment(cpus), cache[1], probe, kernel)


_OBSERVATIONS = 60  # before the first measurement
_KEPT = 400
"""Normal speed is derived from this number of latest loop times; few, as CPU clocks change."""
_ALIKE = 1.6
"""Handover times within this factor belong to the same placement of the CPUs; those of different
placements differ by a factor of two."""
_SEEN = 20
"""A placement of the CPUs counts as frequent from this number of observations on."""
_NEAR = 190e-9
"""Handover times within a last-level cache are below this limit on current processors; handover
times between caches are above."""
_SLOWER = 1.25
_UNSHARED = 0.05
"""A core is assumed to be unshared in at least this share of the time."""
_PATIENCE = 0.5  # maximum wait for a quiet processor, in seconds


_Observation = tuple[float, bool]
"""The time to hand over a cache line, and true if a loop is slower while the other CPU runs one,
too.
"""


class CpuMonitor:
    """Observes whether two CPUs share a core or a last-level cache, and other load on them.

    The CPUs count as well placed if a cache line passes between them as fast as it ever does,
    except on one core. Competitors should contend for shared caches; with different last-level
    caches there is little contention.
    """

    def __init__(
        self,
        cpus: tuple[int, int],
        misplaced_limit: float = 0.0,
        observe: Callable[[int, int], Surroundings] = neighbours.surroundings,
        patience: float = _PATIENCE,
    ) -> None:
        """Observe the CPUs for some tenths of a second.

        Args:
            cpus: numbers of the CPUs.
            misplaced_limit: total seconds to wait while the CPUs share a core or have different
                caches; a third of it if they were never placed better.
            observe: function that observes the CPUs.
            patience: maximum seconds of each wait for other load to end.

        Raises:
            UnavailableError: if this process may not use one of the CPUs.
        """
        self._cpus, self._observe, self._patience = cpus, observe, patience
        self._misplaced_limit = self._remaining = misplaced_limit
        self._handovers = list[_Observation]()  # sorted
        self._paces = deque[float](maxlen=_KEPT), deque[float](maxlen=_KEPT)
        self._count = self._misplaced = 0
        for _ in range(_OBSERVATIONS):
            self.quiet()
        self._count = self._misplaced = 0

    @property
    def misplaced(self) -> float:
        """Share of observations with both CPUs on one core, or with different last-level caches."""
        return self._misplaced / max(self._count, 1)

    def quiet(self) -> bool:
        """Return true if the CPUs share a last-level cache but no core, and have no other load."""
        return self._state()[0]

    def wait(self, check_stop: Callable[[], None] = lambda: None) -> bool:
        """Wait a limited time until the CPUs are well placed and have no other load.

        Return true if they are so at the end.

        `check_stop` is called repeatedly; an error that it raises ends the wait.
        """
        until = time.monotonic() + self._patience
        while True:
            begun = time.monotonic()
            is_quiet, in_place = self._state()
            if is_quiet:
                return True
            check_stop()
            if begun >= until if in_place else self._remaining <= 0:
                return False
            if not in_place:  # a placement lasts for seconds or minutes
                self._remaining -= time.monotonic() - begun

    def _state(self) -> tuple[bool, bool]:
        """Observe the CPUs once; return whether they are quiet, and whether well placed."""
        found = self._observe(*self._cpus)
        for kept, pace in zip(self._paces, found["paces"], strict=True):
            kept.append(pace)
        handover = found["handover"]
        if handover is None:
            return False, True  # one of the CPUs did not run the loop
        insort(self._handovers, (handover, found["paces"][0] > _SLOWER * found["alone"]))
        in_place = self._in_place(handover)
        self._count += 1
        self._misplaced += not in_place
        return in_place and all(
            pace <= _SLOWER * quantile(kept, _UNSHARED)
            for kept, pace in zip(self._paces, found["paces"], strict=True)
        ), in_place

    def _in_place(self, handover: float) -> bool:
        best = _nearest(self._handovers)
        if best > _NEAR and self._remaining > self._misplaced_limit * 2 / 3:
            return False  # wait for a better placement
        return best / _ALIKE < handover < best * _ALIKE


def _nearest(sorted_handovers: Sequence[_Observation]) -> float:
    """Return the usual time to pass a cache line between the CPUs when they are well placed.

    This is the median of the shortest frequent times at which the CPUs are not threads of one core.
    Without them, return the median of all times: the CPUs are threads of one core, or there are too
    few observations.
    """
    first = 0
    while first < len(sorted_handovers):
        end = bisect_left(sorted_handovers, (sorted_handovers[first][0] * _ALIKE, False))
        count = end - first
        if count >= _SEEN and 2 * sum(slow for _, slow in sorted_handovers[first:end]) < count:
            return sorted_handovers[(first + end - 1) // 2][0]
        first = end if count >= _SEEN else first + 1
    return sorted_handovers[(len(sorted_handovers) - 1) // 2][0]
