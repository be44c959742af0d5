"""Measures the experiments of a run, block by block.

A block is an uninterrupted period in which one experiment is measured. The first blocks of all
experiments are measured before any second block. The samples of an experiment thus include changes
of the machine from one minute to the next.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from slowpath.calibrate.experiments.bed import BlockResult, Job, Limits, TestBed, TestBedSession
from slowpath.calibrate.experiments.documents import State
from slowpath.calibrate.experiments.folder import Block, Record, RunFolder, RunSettings, read_record
from slowpath.calibrate.experiments.specification import Experiment, Metric, swept_values
from slowpath.core import codes, engine
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from slowpath.core.programs.sources import provenance
from slowpath.measure.statistics import quantile

_UNSHARED, _ALONE = 0.9, 0.95
"""The `_UNSHARED` quantile of a run's paces is the pace of an unshared core; the maximum may be an
outlier. At a pace below `_ALONE` times this quantile, another CPU shared the core."""
_REPEATED, _LEAST_REPEATED = 0.1, 3
"""Maximum number of repeated blocks, as a share of all blocks; the limit is at least 3 blocks."""


class RunCallbacks(NamedTuple):
    """The request to stop a run, and the callback that receives progress."""

    stopping: Stopping
    say: Callable[[str, str], None]  # gets the name of an experiment and the current step


def run_settings(
    bed: str, limits: Limits, names: Sequence[str], *, quick: bool = False
) -> RunSettings:
    """Return the settings of a run in the form of `run.json`."""
    return {
        "testbed": bed,
        "quick": quick,
        "precision": limits.precision,
        "seconds": limits.seconds,
        "cpu": limits.cpu,
        "experiments": list(names),
    }


def metric_on(bed: TestBed, experiment: Experiment) -> Metric | None:
    """Return the first metric of an experiment that a test bed measures or computes.

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
    """Return the number of blocks that a run has yet to measure.

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
    """Measure experiments; yield the name of the experiment after each written block.

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

    Each item has the experiment, the number of the block, and the core's instructions per cycle in
    it. `unshared` is the same quantity for a core that no other CPU shares.
    """
    found = [
        (one, number, pace)
        for one in running
        for number, pace in one.paces()
        if pace < _ALONE * unshared
    ]
    return sorted(found, key=lambda block: block[2])


class _Running:
    """An experiment while it is being measured, with its record."""

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
        """Return number and instructions per cycle of each block for which they are known."""
        found = ((number, self.record.pace(number)) for number in range(1, self.record.blocks + 1))
        return [(number, pace) for number, pace in found if pace is not None]

    def measure(self, number: int) -> None:
        """Measure the block `number`; keep it if it is complete or the first block."""
        measured, block = self._block()
        if measured.complete or number == 1:
            self.record = self.record.with_block(number, block)
            self._write(number if measured.complete else 0, complete=measured.complete)

    def repeat(self, number: int, old_pace: float) -> None:
        """Measure a block again; keep the new result if it has more instructions per cycle.

        `old_pace` is the old number of instructions per cycle.
        """
        measured, block = self._block()
        record = self.record.with_block(number, block)
        pace = record.pace(number)
        if measured.complete and pace is not None and pace > old_pace:
            self.record = record
            self._write(record.blocks, complete=True)

    def note_disturbed(self, blocks: int) -> None:
        """Add a note that another CPU shared the core in `blocks` blocks.

        This is only done if all blocks of the experiment are measured.
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
    """Return the outcome of an experiment with this number of points."""
    if not complete:
        return "partial"
    if not bed.metrics:
        return "failed" if len(record.errors) == points else "written"
    return "complete" if record.samples else "failed"
