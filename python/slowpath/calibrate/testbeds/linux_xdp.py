"""Test bed for XDP programs in the running kernel.

Each load measures all programs of an experiment in turn, so that disturbances of the machine cancel
in differences. A load is one observation of each point. An experiment is measured in several
blocks; between two of its blocks, the test bed measures all other experiments.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from slowpath.calibrate.experiments.bed import BlockResult, Job, Limits
from slowpath.calibrate.experiments.documents import IMPRECISE, Sample
from slowpath.calibrate.experiments.specification import Experiment, Metric, swept_values
from slowpath.calibrate.programs.xdp import components_with_template, xdp_program
from slowpath.calibrate.testbeds.xdp_cases import CaseBudget, Cases
from slowpath.calibrate.testbeds.xdp_files import Compiler
from slowpath.core.engine import kernel
from slowpath.core.jobs.stopping import Stopping
from slowpath.measure import environment
from slowpath.measure.bench import KernelBench, PaceMeter
from slowpath.measure.machine.processor import chosen_cpu
from slowpath.measure.sampling import Outcome, Progress, StopCriteria, measure


class LinuxXdp(NamedTuple):
    """The test bed `linux-xdp`."""

    name: str = "linux-xdp"
    says: str = "XDP programs in the running kernel, timed in its loop for test runs"
    target: str = "linux-xdp"
    metrics: Sequence[Metric] = ("ns",)
    exact: bool = False
    blocks: int = 3
    """Blocks of an experiment, minutes apart: they expose slow drift and spread it over all
    experiments."""

    def kinds(self) -> Sequence[str]:
        """Return the supported components, see `Bed.kinds`."""
        return components_with_template()

    def check(self, experiment: Experiment) -> None:
        """Reject unsupported experiments, see `Bed.check`."""
        xdp_program(experiment, swept_values(experiment)[0], component=True)

    @contextmanager
    def open(self, limits: Limits, stopping: Stopping) -> "Iterator[_Station]":
        """Open the test bed, see `Bed.open`."""
        cpu = chosen_cpu(limits.cpu)
        compiler = Compiler(BED.name)
        station = kernel.open_station(kernel.open_kernel(), cpu)
        try:
            with stopping.calling(station.stop):
                yield _Station(station, compiler, cpu, limits, stopping)
        finally:
            compiler.stop()


BED = LinuxXdp()
_FEWEST_LOADS = 3  # of a block


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
        bench = KernelBench(self._station, cases.ready())
        # Averaging over all blocks narrows the interval to the requested precision.
        precision = self._limits.precision * BED.blocks**0.5
        quota = StopCriteria(precision, self._limits.seconds / BED.blocks, _FEWEST_LOADS)
        outcome = measure(bench, quota, go_on)
        where = watch.end(pace.paced())
        cases.let_go()
        samples = list(_samples(outcome, cases.pairs, errors))
        notes = [] if outcome.precise or self._stopping.asked else [IMPRECISE]
        complete = not self._stopping.asked
        return BlockResult(samples, errors, complete, where, notes, _paths(cases))

    def _cases_of(self, job: Job) -> Cases:
        name = job.experiment["name"]
        if name not in self._cases:
            self._cases[name] = Cases(self._station, self._compiler, job, self._room)
        return self._cases[name]


def _samples(
    outcome: Outcome, pairs: dict[int, tuple[int, int]], errors: dict[int, str]
) -> Iterator[Sample]:
    """Yield a sample for each point and load; add a reason to `errors` for points without one."""
    for value, (component, baseline) in pairs.items():
        both = outcome.subjects[component], outcome.subjects[baseline]
        if both[0] is None or both[1] is None:
            errors[value] = outcome.why(component if both[0] is None else baseline)
            continue
        for load, (mine, other) in enumerate(zip(both[0].loads, both[1].loads, strict=True), 1):
            if mine is not None:
                # The mean of the other loads replaces a baseline that was disturbed in this load.
                usual = both[1].run.value if other is None else other
                yield Sample(value, load, mine, usual)


def _paths(cases: Cases) -> dict[str, str]:
    """Return the known paths of programs, by names such as `component-16`."""
    found = dict[str, str]()
    for value, pair in cases.pairs.items():
        for which, number in zip(("component", "baseline"), pair, strict=True):
            flow = cases.flows[number]
            if flow is not None:
                found[f"{which}-{value}"] = flow.text()
    return found
