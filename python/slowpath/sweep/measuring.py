"""Timing of the slowest paths of a sweep's programs in the running kernel.

All programs take turns in the same loads, so that disturbances by the machine cancel out.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from slowpath.bounds.outcomes import Analysed
from slowpath.core.engine import kernel
from slowpath.core.jobs.stopping import Stopping
from slowpath.measure import environment
from slowpath.measure.bench import PaceMeter
from slowpath.measure.environment import Environment
from slowpath.measure.machine.processor import chosen_cpu
from slowpath.measure.programs import PreparedProgram, measure_together, prepare_program, slowest
from slowpath.measure.sampling import Progress, StopCriteria
from slowpath.sweep.documents import SweptTime

_PRECISION = 0.01
"""Half width of intervals relative to the times; at this precision, measuring ends early."""
Say = Callable[[str], None]


class Measuring:
    """A measurement of programs; create one with `measuring`."""

    def __init__(self, station: kernel.Station, cpu: int, stopping: Stopping) -> None:
        self._station, self._cpu, self._stopping = station, cpu, stopping
        self._pace = kernel.load_pace(station)

    def prepare(self, analysed: Analysed, maps: str | None) -> PreparedProgram:
        """Run the slowest path of an analysed program once, and prepare to measure it."""
        return prepare_program(
            self._station, analysed, lambda paths: slowest(paths, 1), self._going, maps
        )

    def _going(self, _done: int, _count: int) -> bool:
        return not self._stopping.asked

    def measure(
        self, programs: Sequence[PreparedProgram], seconds: float, say: Say
    ) -> Environment | None:
        """Measure all programs for at most `seconds`, and return the environment.

        The times are stored in the records of the programs.

        Raises:
            InputError: if the kernel no longer accepts a path.
        """
        if not any(program.cases for program in programs) or self._stopping.asked:
            return None
        pace = PaceMeter(lambda runs: kernel.pace(self._station, self._pace, runs))

        def go_on(progress: Progress) -> bool:
            sure = "" if progress.widest is None else f", ± {progress.widest:.1%} at worst"
            say(f"measuring for {progress.seconds:.0f} of at most {seconds:g} s{sure}")
            pace.read()
            return not self._stopping.asked

        watch = environment.begin(self._cpu, thread=self._station.thread)
        measure_together(self._station, programs, StopCriteria(_PRECISION, seconds), go_on)
        return watch.end(pace.paced())


@contextmanager
def measuring(cpu: int | None, stopping: Stopping) -> Iterator[Measuring]:
    """Open a measurement on a CPU.

    Raises:
        OptionError: if this process may not run on the CPU.
        UnavailableError: if this process cannot measure in this kernel.
    """
    chosen = chosen_cpu(cpu)
    station = kernel.open_station(kernel.open_kernel(), chosen)
    with stopping.calling(station.stop):
        yield Measuring(station, chosen, stopping)


def unmeasured(reason: str) -> SweptTime:
    """Return a time with no values but the reason."""
    nothing = dict.fromkeys(("ns", "low_ns", "high_ns", "program_ns", "instructions"))
    return {**nothing, "error": reason}  # type: ignore[typeddict-item]


def time_of(program: PreparedProgram) -> SweptTime:
    """Return the measured time of a program."""
    record = program.record
    path = record["paths"][0] if record["paths"] else None
    if path is None or path["measured_ns"] is None:
        error = record["error"] if path is None else path["error"] or record["error"]
        return unmeasured(error or "interrupted before it was measured")
    return {
        "ns": path["measured_ns"],
        "low_ns": path["low_ns"],
        "high_ns": path["high_ns"],
        "program_ns": path["program_ns"],
        "instructions": path["instructions"],
        "error": None,
    }
