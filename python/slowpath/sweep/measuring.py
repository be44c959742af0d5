"""Slowest paths of a sweep's programs, timed in the running kernel.

All programs take turns, in the same loads, so that what the machine does to them cancels.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from slowpath.bound.outcomes import Analysed
from slowpath.core.engine import kernel
from slowpath.core.jobs.stopping import Stopping
from slowpath.measure import environment
from slowpath.measure.bench import PaceMeter
from slowpath.measure.environment import Environment
from slowpath.measure.machine.processor import chosen_cpu
from slowpath.measure.programs import PreparedProgram, measure_together, prepare_program, slowest
from slowpath.measure.sampling import Progress, Quota
from slowpath.sweep.documents import SweptTime

_PRECISION = 0.01
"""Half the intervals, as a share of the times: with it, measuring ends before its time is over."""
Say = Callable[[str], None]


class Measuring:
    """Programs on their way to a measurement; `measuring` opens one."""

    def __init__(self, station: kernel.Station, cpu: int, stopping: Stopping) -> None:
        self._station, self._cpu, self._stopping = station, cpu, stopping
        self._pace = kernel.load_pace(station)

    def prepare(self, analysed: Analysed, maps: str | None) -> PreparedProgram:
        """A program whose slowest path ran once; it is a result on a target that counts."""
        return prepare_program(
            self._station, analysed, lambda paths: slowest(paths, 1), self._going, maps
        )

    def _going(self, _done: int, _count: int) -> bool:
        return not self._stopping.asked

    def measure(
        self, programs: Sequence[PreparedProgram], seconds: float, say: Say
    ) -> Environment | None:
        """Measures all of them, for so long at most; where that was. Their records have the rest.

        Raises:
            InputError: when the kernel does not take a path any more.
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
        measure_together(self._station, programs, Quota(_PRECISION, seconds), go_on)
        return watch.end(pace.paced())


@contextmanager
def measuring(cpu: int | None, stopping: Stopping) -> Iterator[Measuring]:
    """What measures on a CPU.

    Raises:
        OptionError: when this process may not run there.
        UnavailableError: when this kernel measures nothing for us.
    """
    chosen = chosen_cpu(cpu)
    station = kernel.open_station(kernel.open_kernel(), chosen)
    with stopping.calling(station.stop):
        yield Measuring(station, chosen, stopping)


def unmeasured(reason: str) -> SweptTime:
    """Why there is no time."""
    nothing = dict.fromkeys(("ns", "low_ns", "high_ns", "program_ns", "instructions"))
    return {**nothing, "error": reason}  # type: ignore[typeddict-item]


def time_of(program: PreparedProgram) -> SweptTime:
    """What a program came to."""
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
