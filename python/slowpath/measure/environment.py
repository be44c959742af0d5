"""The environment of a measurement, recorded with every result.

    watch = environment.begin(cpu)
    ...  # the run, on the thread that called
    watch.pause()
    ...  # what is no part of it, such as an analysis
    with watch.resumed():
        ...  # more of the run
    record = watch.end()

What cannot be read is null: containers hide files, kernels lack them, other systems have none.
`disturbances.py` says what of it disturbs measurements.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypedDict

from slowpath.core.engine import identity
from slowpath.measure.bench import Paced
from slowpath.measure.machine.counters import Counters, left_out, read_counters
from slowpath.measure.machine.files import Files
from slowpath.measure.machine.host import Host, host
from slowpath.measure.machine.kernel import KernelFacts, kernel_facts
from slowpath.measure.machine.processor import Processor, processor
from slowpath.measure.machine.run import RunFacts, between


class Pace(TypedDict):
    """How fast the CPU was: medians of many additions that were timed during the run."""

    clock_hz: int
    """Its frequency: how many additions a second that wait for each other, which take one cycle."""
    instructions_per_cycle: float
    """How many additions that wait for none were done in a cycle, of at most 5: fewer than the core
    can where another CPU shares it."""


class Environment(TypedDict):
    """Where a measurement was made, and what happened there meanwhile."""

    slowpath: str
    """Version of slowpath."""
    kernel: KernelFacts
    """The running kernel, when the run had ended."""
    processor: Processor
    """The CPU that the run was pinned to."""
    host: Host
    """What the kernel runs on."""
    run: RunFacts
    """What happened during the run."""
    pace: Pace | None
    """How fast the CPU was; null where that was not timed, or programs are not compiled."""


class Watch:
    """A run that is being watched; `begin` makes one."""

    def __init__(self, files: Files, cpu: int, thread: int, before: Counters) -> None:
        self._files = files
        self._cpu = cpu
        self._thread = thread
        self._before = before
        self._paused: Counters | None = None  # what was counted when a pause began
        self._begun = False  # whether anything of the run is over

    def pause(self) -> None:
        """What comes now is no part of the run."""
        if self._paused is None:
            self._paused = self._read()

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """A part of the run, between pauses."""
        if self._paused is not None:
            now = self._read()
            self._before = left_out(self._before, self._paused, now)
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

    def end(self, paced: Paced | None = None) -> Environment:
        """The record of the run, which has ended. It can be asked again, for a longer run."""
        # The counters first: reading the rest is no part of the run.
        after = self._read() if self._paused is None else self._paused
        where, kernel = processor(self._files, self._cpu), kernel_facts(self._files)
        return {
            "slowpath": identity.version(),
            "kernel": kernel,
            "processor": where,
            "host": host(self._files, self._cpu),
            "run": between(self._before, after, self._cpu, where["siblings"]),
            "pace": None if kernel["bpf"]["jit_enable"] == 0 else _pace(paced),
        }


def _pace(paced: Paced | None) -> Pace | None:
    if paced is None:
        return None
    return {
        "clock_hz": paced.clock_hz,
        "instructions_per_cycle": round(paced.instructions_per_cycle, 2),
    }


def begin(cpu: int, *, thread: int | None = None, files: Files | None = None) -> Watch:
    """Begins to watch a run on a CPU, which should have been working already: frequencies rise.

    Args:
        cpu: the number of the CPU that the run is pinned to.
        thread: the thread that measures, by its number in the system; else the one that calls.
        files: where the machine tells about itself.
    """
    import threading

    files = Files() if files is None else files
    thread = threading.get_native_id() if thread is None else thread
    return Watch(files, cpu, thread, read_counters(files, cpu, thread))
