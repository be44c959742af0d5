"""Interface of test beds, and the loop that measures the experiments of a run, block by block.

A test bed measures or computes the costs of the programs of an experiment. A block is an
uninterrupted period in which one experiment is measured. The first blocks of all experiments are
measured before any second block. The samples of an experiment thus include changes of the machine
from one minute to the next.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from slowpath.calibrate.experiments.components import COMPONENTS
from slowpath.calibrate.experiments.documents import Sample, State
from slowpath.calibrate.experiments.folder import Block, Record, RunFolder, RunSettings, read_record
from slowpath.calibrate.experiments.specification import Experiment, Metric, swept_values
from slowpath.core import codes, engine
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from slowpath.core.programs.sources import provenance
from slowpath.measure.environment import Environment
from slowpath.measure.statistics import quantile


class Limits(NamedTuple):
    """Precision, time limit and CPU that the user requested for measurements."""

    precision: float  # requested half width of a time's 95 % interval, as a share of the time
    seconds: float  # time limit for one experiment, all blocks together
    cpu: int | None  # number of the CPU; None: the last CPU that this process may use


class Job(NamedTuple):
    """An experiment for a test bed to measure, with the values of its swept parameter."""

    experiment: Experiment
    metric: Metric
    points: Sequence[int]  # values of the swept parameter
    folder: Path  # folder for the generated programs
    say: Callable[[str], None]  # gets a description of the current step


class BlockResult(NamedTuple):
    """Samples of an experiment from one block, an uninterrupted period of measuring."""

    samples: list[Sample]
    errors: Mapping[int, str]  # reasons for missing samples, by value of the parameter
    complete: bool  # false if interrupted
    environment: Environment | None = None  # None: nothing was timed
    notes: Sequence[str] = ()
    paths: Mapping[str, str] = MappingProxyType({})
    """Executed paths of programs as text that the core model reads, by names such as
    `component-16`.
    """


class TestBedSession(Protocol):
    """Interface of a test bed that is ready to measure; `TestBed.open` creates it."""

    def measure(self, job: Job) -> BlockResult:
        """Measure one block of an experiment: a part of its samples, without interruption.

        After a stop request, only a part of the block is measured.

        Raises:
            InputError: when the experiment cannot be measured at all.
        """


class TestBed(ABC):
    """Base class of test beds, which run the programs of experiments or compute their costs."""

    name: str
    """Name of the test bed."""
    says: str
    """Description of the test bed in one sentence."""
    target: str
    """Name of the target whose costs the test bed measures or computes."""
    templates: Path
    """Folder with a program template for each supported component."""
    ending: str
    """Suffix of the template files' names."""
    metrics: Sequence[Metric] = ()
    """Costs of a packet that the test bed yields, such as nanoseconds; empty if it only writes
    programs.
    """
    exact = False
    """True if the test bed computes costs instead of measuring them."""
    blocks = 1
    """Number of blocks in which each experiment is measured; other experiments run between them."""

    def kinds(self) -> Sequence[str]:
        """Return the names of the components that the test bed has templates for."""
        return sorted(
            name for name in COMPONENTS if (self.templates / f"{name}{self.ending}").exists()
        )

    @abstractmethod
    def check(self, experiment: Experiment) -> None:
        """Check that the test bed can run an experiment; it supports the experiment's component.

        Raises:
            InputError: if it cannot; it has the reason.
        """

    @abstractmethod
    def open(self, limits: Limits, stopping: Stopping) -> AbstractContextManager[TestBedSession]:
        """Prepare the test bed, and return a context manager for measurements.

        Raises:
            InputError: when this machine lacks something; it has advice.
        """


_UNSHARED, _ALONE = 0.9, 0.95
"""Criteria for a core that another CPU shared during a block. The instructions per cycle of an
unshared core are the `_UNSHARED` quantile over the blocks of a run; the maximum may be an outlier.
With less than `_ALONE` times this value, a block counts as disturbed.
"""
_REPEATED, _LEAST_REPEATED = 0.1, 3
"""Maximum number of blocks that are measured again: a share of all blocks, but at least 3."""


class RunCallbacks(NamedTuple):
    """Stop request of a run, and callback that receives its progress."""

    stopping: Stopping
    say: Callable[[str, str], None]  # gets the name of an experiment and the current step


def run_settings(
    bed: str, limits: Limits, names: Sequence[str], *, quick: bool = False
) -> RunSettings:
    """Return the settings of a run as stored in `run.json`.

    `bed` is the name of the test bed, `names` are those of the experiments.
    """
    return {
        "testbed": bed,
        "quick": quick,
        "precision": limits.precision,
        "seconds": limits.seconds,
        "cpu": limits.cpu,
        "experiments": list(names),
    }


def metric_on(bed: TestBed, experiment: Experiment) -> Metric | None:
    """Return the first metric of an experiment (such as nanoseconds) that a test bed yields.

    Return None if the test bed only writes programs.

    Raises:
        InputError: when the test bed does not support the experiment or any requested metric.
    """
    name, kind = experiment["name"], experiment["component"]["kind"]
    allowed = experiment.get("testbeds")
    if allowed is not None and bed.name not in allowed:
        raise InputError(
            codes.EXPERIMENT_NOT_FOR_BED,
            name,
            f"the experiment is for the test beds {', '.join(allowed)}, not for {bed.name}",
        )
    if kind not in bed.kinds():
        known = ", ".join(bed.kinds())
        raise InputError(
            codes.EXPERIMENT_NOT_FOR_BED,
            name,
            f"the test bed {bed.name} does not have the component {kind}; it has {known}",
        )
    bed.check(experiment)
    metrics = [metric for metric in experiment["metrics"] if metric in bed.metrics]
    if bed.metrics and not metrics:
        requested, known = ", ".join(experiment["metrics"]), ", ".join(bed.metrics)
        raise InputError(
            codes.EXPERIMENT_NOT_FOR_BED,
            name,
            f"the experiment asks for {requested}, but the test bed {bed.name} provides {known}",
        )
    return metrics[0] if metrics else None


def blocks_left(folder: RunFolder, bed: TestBed, experiments: Sequence[Experiment]) -> int:
    """Return the number of blocks (periods of measuring) that a run has yet to measure.

    Raises:
        InputError: when a file in the directory is damaged.
    """
    return sum(bed.blocks - read_record(folder.of(one["name"])).blocks for one in experiments)


def run(
    folder: RunFolder,
    bed: TestBed,
    experiments: Sequence[Experiment],
    limits: Limits,
    callbacks: RunCallbacks,
) -> Iterator[str]:
    """Measure experiments block by block; yield the experiment's name after each written block.

    At the end, blocks during which another CPU shared the core are measured once more, the most
    disturbed first, up to a tenth of all blocks (at least 3). The less disturbed measurement is
    kept, and a note reports blocks that remain disturbed. After a stop request, no further block
    begins. An interrupted block is kept only if it is the experiment's first block.

    Raises:
        InputError: when this machine lacks something, or the directory cannot be written.
    """
    with bed.open(limits, callbacks.stopping) as session:
        running = [_Running(one, folder, bed, session, callbacks) for one in experiments]
        for number in range(1, bed.blocks + 1):
            for one in running:
                if callbacks.stopping.asked:
                    return
                if one.record.blocks < number:
                    one.measure(number)
                    yield one.name
        paces = [pace for one in running for _, pace in one.paces()]
        unshared = quantile(paces, _UNSHARED) if paces else 0.0
        most = max(_LEAST_REPEATED, round(_REPEATED * len(running) * bed.blocks))
        for one, number, pace in _disturbed(running, unshared)[:most]:
            if callbacks.stopping.asked:
                break
            one.repeat(number, pace)
        for one in {id(one): one for one, _, _ in _disturbed(running, unshared)}.values():
            one.note_disturbed(sum(pace < _ALONE * unshared for _, pace in one.paces()))


def _disturbed(
    running: Sequence["_Running"], unshared: float
) -> list[tuple["_Running", int, float]]:
    """Return the blocks during which another CPU shared the core, the slowest block first.

    Each result has the experiment, the number of the block, and the instructions per cycle in the
    block. `unshared` is the number of instructions per cycle on a core that no other CPU shares.
    """
    found = [
        (one, number, pace)
        for one in running
        for number, pace in one.paces()
        if pace < _ALONE * unshared
    ]
    return sorted(found, key=lambda block: block[2])


class _Running:
    """An experiment that is being measured, with its results so far."""

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        bed: TestBed,
        session: TestBedSession,
        callbacks: RunCallbacks,
    ) -> None:
        self.name = experiment["name"]
        self._folder = folder.of(self.name)
        self._bed, self._session, self._stopping = bed, session, callbacks.stopping
        metric = metric_on(bed, experiment) or "ns"
        say = partial(callbacks.say, self.name)
        self._job = Job(experiment, metric, swept_values(experiment), self._folder.programs, say)
        self.record = read_record(self._folder)

    def paces(self) -> list[tuple[int, float]]:
        """Return the number of each block with its instructions per cycle, if these are known."""
        found = ((number, self.record.pace(number)) for number in range(1, self.record.blocks + 1))
        return [(number, pace) for number, pace in found if pace is not None]

    def measure(self, number: int) -> None:
        """Measure block `number`.

        The result is kept if it is complete, or if it is the first block.
        """
        measured, block = self._block()
        if measured.complete or number == 1:
            self.record = self.record.with_block(number, block)
            self._write(number if measured.complete else 0, complete=measured.complete)

    def repeat(self, number: int, old_pace: float) -> None:
        """Measure block `number` again.

        The new result is kept if it has more instructions per cycle. `old_pace` is the number of
        instructions per cycle in the old result.
        """
        measured, block = self._block()
        record = self.record.with_block(number, block)
        pace = record.pace(number)
        if measured.complete and pace is not None and pace > old_pace:
            self.record = record
            self._write(record.blocks, complete=True)

    def note_disturbed(self, blocks: int) -> None:
        """Add a note that another CPU shared the core in this number of blocks.

        Nothing is added unless all blocks of the experiment are measured.
        """
        if self.record.blocks == self._bed.blocks:
            note = f"Another CPU shared the core during {blocks} of {self._bed.blocks} blocks."
            self.record = self.record.with_note(note)
            self._write(self.record.blocks, complete=True)

    def _block(self) -> tuple[BlockResult, Block]:
        begun, started = datetime.now(UTC), time.monotonic()
        measured = self._measured()
        date = begun.strftime("%Y-%m-%dT%H:%M:%SZ")
        rest = measured.environment, measured.notes, measured.paths
        seconds = time.monotonic() - started
        return measured, Block(measured.samples, measured.errors, *rest, date, seconds)

    def _measured(self) -> BlockResult:
        job = self._job
        try:
            return self._session.measure(job)
        except InputError as problem:
            return BlockResult([], dict.fromkeys(job.points, problem.reason), complete=True)
        except KeyboardInterrupt:  # during a compilation
            self._stopping.ask()
            return BlockResult([], {}, complete=False)

    def _write(self, blocks: int, *, complete: bool) -> None:
        bed, record = self._bed, self.record
        complete = complete and blocks == bed.blocks
        state = _state(bed, record, len(self._job.points), complete=complete)
        self._folder.keep(
            {
                "slowpath": engine.version(),
                **provenance(compiled=any(self._job.folder.glob("*.bpf.c"))),
                "testbed": bed.name,
                "target": bed.target,
                "metric": self._job.metric,
                "state": state,
                "exact": bed.exact,
                "date": record.date,
                "seconds": round(record.seconds, 3),
                "blocks": blocks,
                "points": list(self._job.points),
                "errors": [
                    {"value": value, "reason": reason}
                    for value, reason in sorted(record.errors.items())
                ],
                "notes": list(record.notes),
                "samples_sha256": None,
            },
            record.samples,
            record.environments,
            record.paths,
        )


def _state(bed: TestBed, record: Record, points: int, *, complete: bool) -> State:
    """Return the outcome of an experiment.

    `points` is its number of parameter values. `complete` is true if all blocks are measured.
    """
    if not complete:
        return "partial"
    if not bed.metrics:
        return "failed" if len(record.errors) == points else "written"
    return "complete" if record.samples else "failed"
