"""Experiments of a run, one after the other.

Where a test bed measures in several blocks, all experiments have their first one before any has its
second: what changes on the machine from one minute to the next is then in the data.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from slowpath.calibrate.experiments.bed import Bed, Job, Limits, Measured, Station
from slowpath.calibrate.experiments.documents import State
from slowpath.calibrate.experiments.folder import Block, Record, RunFolder, RunSettings, recorded
from slowpath.calibrate.experiments.specification import Experiment, Metric, points_of
from slowpath.core.engine import identity
from slowpath.core.errors import InputError
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.programs.sources import provenance
from slowpath.measure.statistics import quantile

_USUAL, _ALONE = 0.9, 0.95
"""This quantile of the paces of a run is that of a core that nobody shares, the best one may be an
accident; with less than this part of it, another CPU shared the core."""
_AGAIN, _LEAST_AGAIN = 0.1, 3
"""Of all blocks of a run, the part that is measured again at most; and so many at least."""


class Audience(NamedTuple):
    """Who waits for a run."""

    stopping: Stopping
    say: Callable[[str, str], None]  # is told the name of an experiment, and what is being done


def run_settings(bed: str, limits: Limits, names: Sequence[str]) -> RunSettings:
    """How a run is measured, as its directory has it."""
    return {
        "testbed": bed,
        "precision": limits.precision,
        "seconds": limits.seconds,
        "cpu": limits.cpu,
        "experiments": list(names),
    }


def metric_on(bed: Bed, experiment: Experiment) -> Metric | None:
    """What a test bed tells about an experiment: the first that is wanted; None: it only writes.

    Raises:
        InputError: when it does not have the component, or nothing that is wanted.
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


def blocks_left(folder: RunFolder, bed: Bed, experiments: Sequence[Experiment]) -> int:
    """How many blocks of experiments a run has yet to measure.

    Raises:
        InputError: when a file in the directory is damaged.
    """
    return sum(bed.blocks - recorded(folder.of(one["name"])).blocks for one in experiments)


def run(
    folder: RunFolder,
    bed: Bed,
    experiments: Sequence[Experiment],
    limits: Limits,
    audience: Audience,
) -> Iterator[str]:
    """Measures experiments; the name of each whenever a block of it is in the directory.

    Blocks during which another CPU shared the core are measured once more in the end, those first
    that were disturbed most, as many as a tenth of all; what was disturbed less is kept, and of
    what is still disturbed it is said. When it has to stop, the others are not begun; of an
    experiment whose first block is under way, what is known is kept.

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
    """Blocks during which the core was shared, with their paces; the slowest first."""
    found = [
        (one, number, pace)
        for one in every
        for number, pace in one.paces()
        if pace < _ALONE * usual
    ]
    return sorted(found, key=lambda block: block[2])


def _most_again(blocks: int) -> int:
    """How many of so many blocks are measured again at most."""
    return max(_LEAST_AGAIN, round(_AGAIN * blocks))


class _Running:
    """An experiment of a run."""

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        bed: Bed,
        station: Station,
        audience: Audience,
    ) -> None:
        self.name = experiment["name"]
        self._into = folder.of(self.name)
        self._bed, self._station, self._stopping = bed, station, audience.stopping
        metric = metric_on(bed, experiment) or "ns"
        say = partial(audience.say, self.name)
        self._job = Job(experiment, metric, points_of(experiment), self._into.programs, say)
        self.record = recorded(self._into)

    def paces(self) -> list[tuple[int, float]]:
        """The blocks of which it is known, and how many instructions the CPU did in a cycle."""
        found = ((number, self.record.pace(number)) for number in range(1, self.record.blocks + 1))
        return [(number, pace) for number, pace in found if pace is not None]

    def measure(self, number: int) -> None:
        """Measures the next block, and keeps it if it is whole, or all that there is."""
        measured, block = self._block()
        if measured.complete or number == 1:
            self.record = self.record.with_block(number, block)
            self._write(number if measured.complete else 0, complete=measured.complete)

    def measure_again(self, number: int, before: float) -> None:
        """Measures a block anew, and keeps that if it was paced better than before."""
        measured, block = self._block()
        again = self.record.with_block(number, block)
        pace = again.pace(number)
        if measured.complete and pace is not None and pace > before:
            self.record = again
            self._write(again.blocks, complete=True)

    def say_disturbed(self, blocks: int) -> None:
        """Notes that so many blocks stay that were disturbed."""
        if self.record.blocks == self._bed.blocks:
            note = f"Another CPU shared the core during {blocks} of {self._bed.blocks} blocks."
            self.record = self.record.with_note(note)
            self._write(self.record.blocks, complete=True)

    def _block(self) -> tuple[Measured, Block]:
        begun, started = datetime.now(UTC), time.monotonic()
        measured = self._measured()
        date = begun.strftime("%Y-%m-%dT%H:%M:%SZ")
        rest = measured.environment, measured.notes, measured.paths
        seconds = time.monotonic() - started
        return measured, Block(measured.samples, measured.errors, *rest, date, seconds)

    def _measured(self) -> Measured:
        job = self._job
        try:
            return self._station.measure(job)
        except InputError as problem:
            return Measured([], dict.fromkeys(job.points, problem.reason), complete=True)
        except KeyboardInterrupt:  # while clang was at work
            self._stopping.ask()
            return Measured([], {}, complete=False)

    def _write(self, blocks: int, *, complete: bool) -> None:
        bed, record = self._bed, self.record
        state = _state(bed, record, complete=complete and blocks == bed.blocks)
        self._into.keep(
            {
                "slowpath": identity.version(),
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


def _state(bed: Bed, record: Record, *, complete: bool) -> State:
    if not complete:
        return "partial"
    if not bed.metrics:
        return "failed" if record.errors else "written"
    return "complete" if record.samples else "failed"
