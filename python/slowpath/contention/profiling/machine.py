"""CPUs of this machine, their caches, and disturbance between two of them.

A virtual machine can only feel that. Two virtual CPUs handed a line of the cache over and back in
60 ns while they were on two cores behind one last-level cache, in 290 to 330 ns, for minutes at a
time, while they were behind different ones, and in 27 ns when they were on one core. A loop took
23.1 us on a core of its own, to the digit (19.0 where its instructions were lucky), 24 to 37 while
somebody else had a thread on the same core, which was so in half of the time, and 37.8 where that
was our own other one.
"""

import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.contention.profiling.bubble_score import probe_bytes
from slowpath.contention.profiling.mixes import Places
from slowpath.contention.profiling.setup import Setup
from slowpath.core.engine import neighbours
from slowpath.core.engine.kernel import Kernel, open_kernel
from slowpath.core.errors import UnavailableError
from slowpath.measure.machine.files import Files
from slowpath.measure.machine.processor import processor

_PROBES = (64 * 1024, 64 * 1024 * 1024)


class Machine(NamedTuple):
    """This machine."""

    name: str
    places: Places
    cache_bytes: int
    probe_bytes: int
    kernel: Kernel | None  # for programs


def this_machine(setup: Setup) -> Machine:
    """CPUs for a setup, their cache, and the kernel if it is about a program.

    Raises:
        UnavailableError: when there are too few CPUs, the size of the cache is not known, or the
            kernel loads no programs for this process.
    """
    what_for = "a function beside a competitor"
    if setup.function.pattern == "pipeline":
        what_for = "a pipeline, which has an accelerator on a CPU of its own,"
    cpus = neighbours.cpus(setup.cpus, 2, what_for)
    facts = processor(Files(), cpus[0])
    sizes = [(cache["level"] or 0, cache["bytes"] or 0) for cache in facts["caches"]]
    cache = max((size for size in sizes if size[1]), default=None)
    if cache is None:
        reason = "the kernel does not tell how large the last-level cache is (/sys/devices/system)"
        raise UnavailableError(reason)
    least, most = _PROBES
    private = max((size for level, size in sizes if level < cache[0]), default=0)
    probe = min(max(probe_bytes(cache[1], private), least), most)
    kernel = None if setup.function.program is None else open_kernel()
    return Machine(facts["model"] or "this host", Places(cpus), cache[1], probe, kernel)


_LOOKS = 60
_KEPT = 400
"""Paces that tell what is usual: the latest ones, as clocks of CPUs change."""
_ALIKE = 1.6
"""Handovers within this factor are of one place; between different ones there is twice as much."""
_SEEN = 20
"""A place is one where CPUs were in so many looks."""
_NEAR = 190e-9
"""Within a last-level cache, processors of today take less than this, and beyond it more."""
_SLOWER = 1.25
_UNSHARED = 0.05
"""In this share of the time, at least, nobody else is taken to be on the core."""
_PATIENCE = 0.5  # seconds that are waited for it to be quiet


_Look = tuple[float, bool]
"""How long a line took, and whether a loop is slower while the other CPU has one, too."""


class Surroundings:
    """Two CPUs, and what was felt there.

    Where they are to be is where a line is handed over fastest, but for one core: competitors take
    away what is shared, and behind different caches there is hardly anything.
    """

    def __init__(
        self,
        cpus: tuple[int, int],
        away: float = 0.0,
        look: Callable[[int, int], neighbours.Surroundings] = neighbours.surroundings,
        patience: float = _PATIENCE,
    ) -> None:
        """Looks for some tenths of a second.

        Args:
            cpus: which CPUs.
            away: seconds that may be waited, in all, while they are elsewhere; a third of it where
                they never were nearer.
            look: looks at them.
            patience: seconds that may be waited each time, whatever the reason.

        Raises:
            UnavailableError: when this process may not use one of them.
        """
        self._cpus, self._look, self._patience = cpus, look, patience
        self._away = self._left = away
        self._places = list[_Look]()  # in order
        self._paces = deque[float](maxlen=_KEPT), deque[float](maxlen=_KEPT)
        self._looks = self._elsewhere = 0
        for _ in range(_LOOKS):
            self.quiet()
        self._looks = self._elsewhere = 0

    @property
    def elsewhere(self) -> float:
        """The share of looks in which they were on one core, or not behind one cache."""
        return self._elsewhere / max(self._looks, 1)

    def quiet(self) -> bool:
        """Whether both CPUs are where they are to be, each with its core to itself."""
        return self._felt()[0]

    def wait(self, go_on: Callable[[], None] = lambda: None) -> bool:
        """Waits until it is quiet, but not for long; whether it is. `go_on` may raise an error."""
        until = time.monotonic() + self._patience
        while True:
            begun = time.monotonic()
            is_quiet, in_place = self._felt()
            if is_quiet:
                return True
            go_on()
            if begun >= until if in_place else self._left <= 0:
                return False
            if not in_place:  # CPUs stay for seconds or minutes where they are
                self._left -= time.monotonic() - begun

    def _felt(self) -> tuple[bool, bool]:
        """Whether it is quiet, and whether the CPUs are where they are to be."""
        found = self._look(*self._cpus)
        for kept, pace in zip(self._paces, found["paces"], strict=True):
            kept.append(pace)
        handover = found["handover"]
        if handover is None:
            return False, True  # one of them was not there at all
        insort(self._places, (handover, found["paces"][0] > _SLOWER * found["alone"]))
        in_place = self._in_place(handover)
        self._looks += 1
        self._elsewhere += not in_place
        return in_place and all(
            pace <= _SLOWER * _at(kept, _UNSHARED)
            for kept, pace in zip(self._paces, found["paces"], strict=True)
        ), in_place

    def _in_place(self, handover: float) -> bool:
        usual = _nearest(self._places)
        if usual > _NEAR and self._left > self._away * 2 / 3:
            return False  # they may come nearer
        return usual / _ALIKE < handover < usual * _ALIKE


def _nearest(places: Sequence[_Look]) -> float:
    """Of the least handovers that are alike, often enough and not on one core: the median.

    Where there are none, that of all: they are threads of one core, or have hardly been looked at.
    """
    first = 0
    while first < len(places):
        end = bisect_left(places, (places[first][0] * _ALIKE, False))
        count = end - first
        if count >= _SEEN and 2 * sum(slower for _, slower in places[first:end]) < count:
            return places[(first + end - 1) // 2][0]
        first = end if count >= _SEEN else first + 1
    return places[(len(places) - 1) // 2][0]


def _at(values: Sequence[float], share: float) -> float:
    """A quantile."""
    return sorted(values)[int(share * (len(values) - 1))]
