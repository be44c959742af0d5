"""Test bed that times XDP programs in the running kernel.

An experiment sweeps a parameter over several values, its points. Each load (loading of the programs
into the kernel) measures all programs of an experiment in turns, so that disturbances of the
machine cancel in differences. A load is one observation of each point. Measurements of an
experiment are divided into several blocks. Between two of them, the test bed measures a block of
every other experiment.

Programs are prepared once for all blocks of a run. Preparation runs a program in kernel and
interpreter, and counts how often it can be repeated. Prepared programs stay in memory between
blocks, except those with much map content. Each load nevertheless loads all programs anew.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from slowpath.calibrate.experiments.documents import IMPRECISE, Sample
from slowpath.calibrate.experiments.running import BlockResult, Job, Limits, TestBed
from slowpath.calibrate.experiments.specification import (
    Experiment,
    numeric_value,
    settings_at,
    swept_values,
)
from slowpath.calibrate.testbeds.xdp_files import Compiler, Pair, Written, XdpFiles
from slowpath.calibrate.testbeds.xdp_programs import ENDING, FOLDER, xdp_program
from slowpath.core.engine import kernel, objects, targets
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from slowpath.measure import environment
from slowpath.measure.bench import KernelBench, PaceMeter, random_runs
from slowpath.measure.machine import chosen_cpu
from slowpath.measure.sampling import Outcome, Progress, StopCriteria, measure

_LARGEST = 4 << 20
_ROOM = 64 << 20
"""Maximum size of map content, as text in bytes, for one case that stays in memory, and for all of
them. A case takes about ten times as much memory."""


class CaseBudget:
    """Limit on the map content of prepared programs that stay in memory between blocks."""

    def __init__(self) -> None:
        self._left = _ROOM

    def takes(self, size: int) -> bool:
        """Return true if map content of `size` bytes is within the limit, which it then reduces."""
        if size > min(_LARGEST, self._left):
            return False
        self._left -= size
        return True


class _Origin(NamedTuple):
    """The generated program of a prepared path, from which it can be prepared again."""

    value: int  # point of the program
    component: bool  # true: with the component
    kept: bool  # true: stays in memory between blocks


class Cases:
    """The prepared programs of an experiment. Points with the same program share one case.

    A point is a value of the swept parameter. A case is a program with a packet and map content
    that can be timed.
    """

    def __init__(
        self, station: kernel.Station, compiler: Compiler, job: Job, room: CaseBudget
    ) -> None:
        self._station, self._compiler, self._room = station, compiler, room
        self._points = job.points
        self._experiment = job.experiment
        self._parameter = job.experiment["component"]["sweep"]["parameter"]
        self._files = XdpFiles(job.experiment, job.folder)
        self._origins: list[_Origin] = []
        self._known: list[kernel.Case | None] = []
        self._complete = False
        self.flows: list[targets.Flow | None] = []
        self.entries: list[int] = []
        """For each case, the number of map entries from which packets choose at random; 0 if all
        packets are equal.
        """
        self.pairs = dict[int, tuple[int, int]]()
        """For each point, the indices of two cases: with the component and without it."""
        self.errors = dict[int, str]()
        """Reasons why points cannot be measured, by point."""

    def prepare(self, say: Callable[[str], None], stopped: Callable[[], bool]) -> bool:
        """Prepare all programs that are not in memory; return false if a stop was requested.

        `say` shows progress.
        """
        if not self._complete:
            return self._prepare_all(say, stopped)
        for number, origin in enumerate(self._origins):
            if self._known[number] is None:
                if stopped():
                    return False
                self._tell(say, origin.value)
                written = self._files.again(origin.value, component=origin.component)
                self._known[number] = self._prepared(written)
        return True

    def ready(self) -> list[kernel.Case]:
        """Return all prepared programs; the indices in `pairs` refer to this list."""
        return [case for case in self._known if case is not None]

    def release(self) -> None:
        """Release the programs that do not stay in memory between blocks.

        `prepare` prepares them again.
        """
        self._files.forget()
        for number, origin in enumerate(self._origins):
            if not origin.kept:
                self._known[number] = None

    def _prepare_all(self, say: Callable[[str], None], stopped: Callable[[], bool]) -> bool:
        for known in (
            self._origins,
            self._known,
            self.flows,
            self.entries,
            self.pairs,
            self.errors,
        ):
            known.clear()
        numbers = dict[str, int]()
        for value, pair in self._written(stopped):
            if stopped():
                return False
            self._tell(say, value)
            try:
                self.pairs[value] = (
                    self._number(pair.component, value, numbers, component=True),
                    self._number(pair.baseline, value, numbers, component=False),
                )
            except InputError as problem:
                self.errors[value] = problem.reason
        self._complete = not stopped()
        return self._complete

    def _written(self, stopped: Callable[[], bool]) -> list[tuple[int, Pair]]:
        """Write the programs of all points, and start to compile them.

        Return each point (value of the swept parameter) with its two programs. Points for which no
        program can be written are left out.
        """
        found = []
        for value in self._points:
            if stopped():
                break
            try:
                pair = self._files.pair(value)
            except InputError as problem:
                self.errors[value] = problem.reason
                continue
            for one in pair:
                self._compiler.begin(one)
            found.append((value, pair))
        return found

    def _number(
        self, written: Written, value: int, numbers: dict[str, int], *, component: bool
    ) -> int:
        """Return the index of the case that times a program.

        Prepare the program if it is a new one. `numbers` has the indices of known programs, by
        file; equal programs share a case.

        Raises:
            InputError: when the program cannot be compiled or measured.
        """
        if written.file not in numbers:
            case = self._prepared(written)
            numbers[written.file] = len(self._known)
            kept = self._room.takes(len(written.program.maps))
            self._origins.append(_Origin(value, component, kept))
            self._known.append(case)
            self.flows.append(targets.flow(case))
            self.entries.append(random_entries(self._experiment, value) if component else 0)
        return numbers[written.file]

    def _prepared(self, written: Written) -> kernel.Case:
        compiled = self._compiler.begin(written).result()
        subject = objects.Subject(written.file, compiled.object, compiled.number, None)
        return kernel.prepare_case(self._station, subject, witness_of(written), None)

    def _tell(self, say: Callable[[str], None], value: int) -> None:
        say(f"preparing {self._parameter} = {value:,}")


def random_entries(experiment: Experiment, value: int) -> int:
    """Return the number of map entries from which packets choose at random.

    0 if packets are equal.
    """
    if not experiment["traffic"]["vary"]:
        return 0
    return numeric_value(settings_at(experiment, value), "entries")


def witness_of(written: Written) -> str:
    """Return a program's packet and map content as JSON, in the format of a witness."""
    program = written.program
    return (
        f'{{"packet":"{program.packet.hex()}","length":{len(program.packet)},'
        f'"maps":{program.maps},"unknowns":[],"environment":[]}}'
    )


class LinuxXdp(TestBed):
    """The test bed `linux-xdp`, which times XDP programs in the running kernel."""

    name = target = "linux-xdp"
    says = "Times XDP programs in the running kernel's loop for test runs"
    templates, ending = FOLDER, ENDING
    metrics = ("ns",)

    def __init__(self, blocks: int) -> None:
        """Create the test bed, which measures each experiment in this number of blocks."""
        self.blocks = blocks

    def check(self, experiment: Experiment) -> None:
        """Check that the test bed can run an experiment, as described in `TestBed.check`."""
        xdp_program(experiment, swept_values(experiment)[0], component=True)

    @contextmanager
    def open(self, limits: Limits, stopping: Stopping) -> "Iterator[_Station]":
        """Prepare the test bed, as described in `TestBed.open`."""
        cpu = chosen_cpu(limits.cpu)
        compiler = Compiler(self.name)
        station = kernel.open_station(kernel.open_kernel(), cpu)
        try:
            with stopping.calling(station.stop):
                of_block = limits._replace(
                    # Averaging over all blocks narrows the interval, so one block needs less
                    # precision.
                    precision=limits.precision * self.blocks**0.5,
                    seconds=limits.seconds / self.blocks,
                )
                yield _Station(station, compiler, cpu, of_block, stopping)
        finally:
            compiler.stop()


BED = LinuxXdp(blocks=3)
"""Test bed of a full calibration. The blocks of an experiment are minutes apart, which reveals a
slow drift of the machine, and spreads it over all experiments.
"""
QUICK = LinuxXdp(blocks=1)
"""Test bed of a quick calibration, which measures each experiment in a single block."""
_FEWEST_LOADS = 3  # minimum number of loads per block


class _Station:
    def __init__(
        self,
        station: kernel.Station,
        compiler: Compiler,
        cpu: int,
        limits: Limits,
        stopping: Stopping,
    ) -> None:
        self._station, self._cpu = station, cpu
        self._limits, self._stopping = limits, stopping
        self._pace = kernel.load_pace(station)
        self._compiler = compiler
        self._cases = dict[str, Cases]()
        self._room = CaseBudget()

    def measure(self, job: Job) -> BlockResult:
        cases = self._cases_of(job)
        if not cases.prepare(job.say, lambda: self._stopping.asked):
            return BlockResult([], cases.errors, complete=False)
        errors = dict(cases.errors)
        if not cases.pairs:
            return BlockResult([], errors, complete=True)
        pace = PaceMeter(lambda runs: kernel.pace(self._station, self._pace, runs))

        def go_on(progress: Progress) -> bool:
            sure = "" if progress.widest is None else f", ± {progress.widest:.1%} at worst"
            job.say(f"loaded {progress.loads} times{sure}")
            pace.read()
            return not self._stopping.asked

        watch = environment.begin(self._cpu, thread=self._station.thread)
        untimed = [random_runs(entries) for entries in cases.entries]
        bench = KernelBench(self._station, cases.ready(), untimed)
        quota = StopCriteria(self._limits.precision, self._limits.seconds, _FEWEST_LOADS)
        outcome = measure(bench, quota, go_on)
        record = watch.end(pace.speed())
        cases.release()
        samples = list(_samples(outcome, cases.pairs, errors))
        notes = [] if outcome.precise or self._stopping.asked else [IMPRECISE]
        complete = not self._stopping.asked
        return BlockResult(samples, errors, complete, record, notes, _paths(cases))

    def _cases_of(self, job: Job) -> Cases:
        name = job.experiment["name"]
        if name not in self._cases:
            self._cases[name] = Cases(self._station, self._compiler, job, self._room)
        return self._cases[name]


def _samples(
    outcome: Outcome, pairs: dict[int, tuple[int, int]], errors: dict[int, str]
) -> Iterator[Sample]:
    """Yield a sample for each point and load; store an error for points without samples.

    A point is a value of the swept parameter. `pairs` has the indices of its two programs, with and
    without the component.
    """
    for value, (component, baseline) in pairs.items():
        both = outcome.subjects[component], outcome.subjects[baseline]
        if both[0] is None or both[1] is None:
            errors[value] = outcome.why(component if both[0] is None else baseline)
            continue
        for load, (time, other) in enumerate(zip(both[0].loads, both[1].loads, strict=True), 1):
            if time is not None:
                # If the baseline was disturbed in this load, use its mean over the other loads.
                yield Sample(value, load, time, both[1].run.value if other is None else other)


def _paths(cases: Cases) -> dict[str, str]:
    """Return the executed path of each program as text, by names such as `component-16`.

    Programs with an unknown path are left out.
    """
    found = dict[str, str]()
    for value, pair in cases.pairs.items():
        for which, number in zip(("component", "baseline"), pair, strict=True):
            flow = cases.flows[number]
            if flow is not None:
                found[f"{which}-{value}"] = flow.text()
    return found
