"""Whether others on the same processor disturb, which a virtual machine can only feel.

Two virtual CPUs handed a line of the cache over and back in 60 ns most of the time, in 290 ns for
seconds at a time, when they were behind different caches, and in 27 ns when they were on one core.
A loop took 23.1 us on a core of its own, to the digit (19.0 where its instructions were lucky), 24
to 37 while somebody else had a thread on the same core, which was so in half of the time, and 37.8
where that was our own other one.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence

from slowpath.engine import neighbours

_LOOKS = 60
_KEPT = 400
"""Looks that tell what is usual: the latest ones, as clocks of CPUs change."""
_ALIKE = 1.6
"""Handovers within this factor are of one place; between different ones there is twice as much."""
_SLOWER = 1.25
_UNSHARED = 0.05
"""In this share of the time, at least, nobody else is taken to be on the core."""
_PATIENCE = 0.5  # seconds that are waited for it to be quiet


class Surroundings:
    """Two CPUs, and what was felt there lately."""

    def __init__(
        self,
        cpus: tuple[int, int],
        look: Callable[[int, int], neighbours.Surroundings] = neighbours.surroundings,
        patience: float = _PATIENCE,
    ) -> None:
        """Looks for some tenths of a second.

        Raises:
            UnavailableError: when this process may not use one of them.
        """
        self._cpus, self._look, self._patience = cpus, look, patience
        self._handovers = deque[float](maxlen=_KEPT)
        self._paces = deque[float](maxlen=_KEPT), deque[float](maxlen=_KEPT)
        for _ in range(_LOOKS):
            self.quiet()

    def quiet(self) -> bool:
        """Whether both CPUs are where they usually are, each with its core to itself."""
        found = self._look(*self._cpus)
        for kept, pace in zip(self._paces, found["paces"], strict=True):
            kept.append(pace)
        handover = found["handover"]
        if handover is None:
            return False
        self._handovers.append(handover)
        usual = _at(self._handovers, 0.5)
        return usual / _ALIKE < handover < usual * _ALIKE and all(
            pace <= _SLOWER * _at(kept, _UNSHARED)
            for kept, pace in zip(self._paces, found["paces"], strict=True)
        )

    def wait(self) -> bool:
        """Waits until it is quiet, but not for long; whether it is."""
        until = time.monotonic() + self._patience
        while not (is_quiet := self.quiet()) and time.monotonic() < until:
            pass
        return is_quiet


def _at(values: Sequence[float], share: float) -> float:
    """A quantile."""
    return sorted(values)[int(share * (len(values) - 1))]
