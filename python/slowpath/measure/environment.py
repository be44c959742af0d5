"""Records the machine and the conditions of a measurement, for the document with its result.

    watch = environment.begin(cpu)
    ...  # the run, on the calling thread
    watch.pause()
    ...  # work outside the run, such as an analysis
    with watch.resumed():
        ...  # more of the run
    record = watch.end()

Values that cannot be read are null: containers hide files, and some kernels and all other systems
lack them. The module `disturbances` derives warnings from this record.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypedDict

from slowpath.core import engine
from slowpath.measure.bench import CpuSpeed
from slowpath.measure.counters import Counters, RunFacts, between, read_counters, without_pause
from slowpath.measure.host import Host, KernelFacts, host, kernel_facts
from slowpath.measure.machine_files import Files
from slowpath.measure.processor import Processor, processor


class Pace(TypedDict):
    """Speed of the CPU: medians of times of many additions that were timed during the run."""

    clock_hz: int
    """Clock frequency: dependent additions per second, which take one cycle each."""
    instructions_per_cycle: float
    """Independent additions per cycle, at most 5. The value is below the capacity of the core if
    another CPU shares it."""


class Environment(TypedDict):
    """Machine on which a measurement ran, and conditions during the run."""

    slowpath: str
    """Version of slowpath."""
    kernel: KernelFacts
    """The kernel at the end of the run."""
    processor: Processor
    """The CPU that the run was pinned to."""
    host: Host
    """The machine that the kernel runs on."""
    run: RunFacts
    """Events during the run."""
    pace: Pace | None
    """Speed of the CPU; null if it was not timed, or if the kernel does not compile programs."""


class Watch:
    """Recorder of the environment of a run, which starts when `begin` creates it."""

    def __init__(self, files: Files, cpu: int, thread: int, before: Counters) -> None:
        self._files = files
        self._cpu = cpu
        self._thread = thread
        self._before = before
        self._paused: Counters | None = None  # counters at the start of a pause
        self._begun = False  # true once a part of the run has begun

    def pause(self) -> None:
        """Exclude the time from now on from the run, until the run is resumed or ends."""
        if self._paused is None:
            self._paused = self._read()

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """Resume the run for the duration of the context."""
        if self._paused is not None:
            now = self._read()
            self._before = without_pause(self._before, self._paused, now)
            if not self._begun:
                self._before = self._before._replace(frequency_hz=now.frequency_hz)
            self._paused = None
        self._begun = True
        try:
            yield
        finally:
            self.pause()

    def _read(self) -> Counters:
        return read_counters(self._files, self._cpu, self._thread)

    def end(self, speed: CpuSpeed | None = None) -> Environment:
        """Return the record of the run so far, with the speed of the CPU if `speed` is given."""
        # Read the counters first: the other reads are not part of the run.
        after = self._read() if self._paused is None else self._paused
        cpu, kernel = processor(self._files, self._cpu), kernel_facts(self._files)
        return {
            "slowpath": engine.version(),
            "kernel": kernel,
            "processor": cpu,
            "host": host(self._files, self._cpu),
            "run": between(self._before, after, self._cpu, cpu["siblings"]),
            "pace": None if kernel["bpf"]["jit_enable"] == 0 else _pace(speed),
        }


def _pace(speed: CpuSpeed | None) -> Pace | None:
    if speed is None:
        return None
    return {
        "clock_hz": speed.clock_hz,
        "instructions_per_cycle": round(speed.instructions_per_cycle, 2),
    }


def begin(cpu: int, *, thread: int | None = None, files: Files | None = None) -> Watch:
    """Start to record the environment of a run on a CPU.

    The CPU should already be busy, because its frequency rises under load.

    Args:
        cpu: Number of the CPU that the run is pinned to.
        thread: System-wide number of the thread that measures; default: the calling thread.
        files: Files with facts about the machine; default: those of this machine.
    """
    import threading

    files = Files() if files is None else files
    thread = threading.get_native_id() if thread is None else thread
    return Watch(files, cpu, thread, read_counters(files, cpu, thread))
