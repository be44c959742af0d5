"""Measurement of the experiments of a run, block by block.

Every experiment has its first block before any has its second. The samples of an experiment thus
include changes of the machine from one minute to the next.
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
from slowpath.core import engine
from slowpath.core.errors import InputError
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.programs.sources import provenance
from slowpath.measure.statistics import quantile

_USUAL, _ALONE = 0.9, 0.95
"""The `_USUAL` quantile of a run's paces is the pace of an unshared core; the maximum may be an
outlier. At a pace below `_ALONE` times this quantile, another CPU shared the core."""
_AGAIN, _LEAST_AGAIN = 0.1, 3
"""Limit for repeated blocks: this share of all blocks, or this number if it is greater."""


class RunCallbacks(NamedTuple):
    """Receiver of progress, and source of stop requests."""

    stopping: Stopping
    say: Callable[[str, str], None]  # receives the name of an experiment and the current step


def run_settings(bed: str, limits: Limits, names: Sequence[str]) -> RunSettings:
    """Return the settings of a run in the form of `run.json`."""
    return {
        "testbed": bed,
        "precision": limits.precision,
        "seconds": limits.seconds,
        "cpu": limits.cpu,
        "experiments": list(names),
    }


def metric_on(bed: TestBed, experiment: Experiment) -> Metric | None:
    """Return the first requested metric that a test bed yields; None if it only writes programs.

    Raises:
        InputError: when the test bed does not support the experiment or any requested metric.
    """
    name, kind = experiment["name"], experiment["component"]["kind"]
    allowed = experiment.get("testbeds")
    if allowed is not None and bed.name not in allowed:
        raise InputError(name, f"is for {', '.join(allowed)}, not for {bed.name}")
    if kind not in bed.kinds():
        known = ", ".join(bed.kinds())
        raise InputError(name, f"{bed.name} has no component {kind}; it has {known}")
    bed.check(experiment)
    wanted = [metric for metric in experiment["metrics"] if metric in bed.metrics]
    if bed.metrics and not wanted:
        asked, told = ", ".join(experiment["metrics"]), ", ".join(bed.metrics)
        raise InputError(name, f"asks for {asked}, and {bed.name} tells {told}")
    return wanted[0] if wanted else None


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
    audience: RunCallbacks,
) -> Iterator[str]:
    """Measure experiments; yield the name of an experiment after each of its blocks is written.

    At the end, blocks during which another CPU shared the core are measured once more, the most
    disturbed first, up to a tenth of all blocks (at least 3). The less disturbed measurement is
    kept, and a note reports blocks that remain disturbed. After a stop request, no further block
    begins. An interrupted block is kept only if it is the experiment's first.

    Raises:
        InputError: when this machine lacks something, or the directory cannot be written.
    """
    with bed.open(limits, audience.stopping) as station:
        every = [_Running(one, folder, bed, station, audience) for one in experiments]
        for number in range(1, bed.blocks + 1):
            for one in every:
                if audience.stopping.asked:
                    return
                if one.record.blocks < number:
                    one.measure(number)
                    yield one.name
        paces = [pace for one in every for _, pace in one.paces()]
        usual = quantile(paces, _USUAL) if paces else 0.0
        for one, number, pace in _disturbed(every, usual)[: _most_again(len(every) * bed.blocks)]:
            if audience.stopping.asked:
                break
            one.measure_again(number, pace)
        for one in {id(one): one for one, _, _ in _disturbed(every, usual)}.values():
            one.say_disturbed(sum(pace < _ALONE * usual for _, pace in one.paces()))


def _disturbed(every: Sequence["_Running"], usual: float) -> list[tuple["_Running", int, float]]:
    """Return the blocks during which the core was shared, with their paces, slowest first."""
    found = [
        (one, number, pace)
        for one in every
        for number, pace in one.paces()
        if pace < _ALONE * usual
    ]
    return sorted(found, key=lambda block: block[2])


def _most_again(blocks: int) -> int:
    """Return the maximum number of blocks to measure again."""
    return max(_LEAST_AGAIN, round(_AGAIN * blocks))


class _Running:
    """An experiment of a run."""

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        bed: TestBed,
        station: TestBedSession,
        audience: RunCallbacks,
    ) -> None:
        self.name = experiment["name"]
        self._into = folder.of(self.name)
        self._bed, self._station, self._stopping = bed, station, audience.stopping
        metric = metric_on(bed, experiment) or "ns"
        say = partial(audience.say, self.name)
        self._job = Job(experiment, metric, swept_values(experiment), self._into.programs, say)
        self.record = read_record(self._into)

    def paces(self) -> list[tuple[int, float]]:
        """Return the blocks with a known pace, each with its instructions per cycle."""
        found = ((number, self.record.pace(number)) for number in range(1, self.record.blocks + 1))
        return [(number, pace) for number, pace in found if pace is not None]

    def measure(self, number: int) -> None:
        """Measure the next block; keep it if it is complete, or if it is the first."""
        measured, block = self._block()
        if measured.complete or number == 1:
            self.record = self.record.with_block(number, block)
            self._write(number if measured.complete else 0, complete=measured.complete)

    def measure_again(self, number: int, before: float) -> None:
        """Measure a block again; keep the new result if its pace is better than `before`."""
        measured, block = self._block()
        again = self.record.with_block(number, block)
        pace = again.pace(number)
        if measured.complete and pace is not None and pace > before:
            self.record = again
            self._write(again.blocks, complete=True)

    def say_disturbed(self, blocks: int) -> None:
        """Add a note on the number of blocks that remain disturbed."""
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
            return self._station.measure(job)
        except InputError as problem:
            return BlockResult([], dict.fromkeys(job.points, problem.reason), complete=True)
        except KeyboardInterrupt:  # during a compilation
            self._stopping.ask()
            return BlockResult([], {}, complete=False)

    def _write(self, blocks: int, *, complete: bool) -> None:
        bed, record = self._bed, self.record
        state = _state(bed, record, complete=complete and blocks == bed.blocks)
        self._into.keep(
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


def _state(bed: TestBed, record: Record, *, complete: bool) -> State:
    if not complete:
        return "partial"
    if not bed.metrics:
        return "failed" if record.errors else "written"
    return "complete" if record.samples else "failed"
