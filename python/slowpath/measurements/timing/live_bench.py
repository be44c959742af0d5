"""The running kernel as what live packets are measured on."""

import statistics
from collections.abc import Sequence

from slowpath.engine.kernel import live_packets, probes, stations
from slowpath.measurements.timing.live import LiveLoad, LiveSample

_BUSY = 1000  # runs of the busy loop
_TIMES = 3  # the median of so many, as packets that are still under way are no disturbance


class LiveKernelBench:
    """Loads paths into the running kernel and times live packets."""

    def __init__(
        self, station: stations.Station, cases: Sequence[live_packets.LiveCase], batch: int
    ) -> None:
        """Loads the busy loop alone; batches have so many packets."""
        self._station = station
        self._cases = list(cases)
        self._batch = batch
        self._busy = probes.load_busy(station)
        self.received = [case.unreceived is None for case in self._cases]
        self.counted = [case.counted for case in self._cases]

    def load(self) -> LiveLoad:
        """Loads all paths anew.

        Raises:
            InputError: when the kernel does not take one of them any more.
        """
        load = live_packets.load_live_cases(self._station, self._cases)
        return _KernelLoad(self._station, load, self._busy, self._batch)


class _KernelLoad:
    def __init__(
        self, station: stations.Station, load: live_packets.LiveLoad, busy: probes.Busy, batch: int
    ) -> None:
        self._station = station
        self._load = load
        self._busy = busy
        self._batch = batch

    def busy(self) -> float:
        asked = self._station, self._busy, _BUSY
        return statistics.median(probes.sample_busy(*asked)[0] for _ in range(_TIMES))

    def sample(self, path: int, subject: int, frames: int) -> LiveSample:
        asked = (path, subject)
        found = live_packets.sample_live(self._station, self._load, asked, frames, self._batch)
        return LiveSample(*found)
