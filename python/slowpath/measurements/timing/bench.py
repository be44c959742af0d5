"""The running kernel as what measurements are made on."""

from collections.abc import Sequence

from slowpath import engine
from slowpath.measurements.timing.sampling import Load, Sample


class KernelBench:
    """Loads paths into the running kernel and times them."""

    def __init__(self, station: engine.Station, cases: Sequence[engine.Case]) -> None:
        """Nothing is loaded yet."""
        self._station = station
        self._cases = list(cases)
        self.wrapped = [case.arrangement == "restored" for case in self._cases]

    def load(self) -> Load:
        """Loads all paths anew.

        Raises:
            InputError: when the kernel does not take one of them any more.
        """
        return _KernelLoad(self._station, engine.load_cases(self._station, self._cases))


class ColdBench:
    """The same for paths that many flows take.

    Each is followed by an empty program that gets the same packets from the same table.
    """

    def __init__(self, station: engine.Station, cases: Sequence[engine.Cold]) -> None:
        """Nothing is loaded yet."""
        self._station = station
        self._cases = list(cases)
        self.wrapped = [True] * (2 * len(self._cases))

    def load(self) -> Load:
        """Loads all paths anew, and fills their maps.

        Raises:
            InputError: when the kernel does not take one of them any more.
        """
        return _KernelLoad(self._station, engine.load_cold(self._station, self._cases))


class _KernelLoad:
    def __init__(self, station: engine.Station, load: engine.Load) -> None:
        self._station = station
        self._load = load

    def sample(self, subject: int, repeat: int) -> Sample:
        return Sample(*engine.sample(self._station, self._load, subject, repeat))
