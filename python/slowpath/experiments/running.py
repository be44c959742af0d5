"""Runs experiments on a test bed, one after the other, into the directory of a run."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from slowpath import engine
from slowpath.cli.errors import InputError
from slowpath.experiments.results.documents import Measurement, State
from slowpath.experiments.results.folder import RunFolder, RunSettings
from slowpath.experiments.specification.documents import Experiment, Metric
from slowpath.experiments.specification.points import points_of
from slowpath.experiments.testbeds.bed import Bed, Job, Limits, Measured, Station
from slowpath.work.stopping import Stopping

_ALONE = 0.95
"""Of the best pace of a run: with less, another CPU shared the core."""


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


def run(
    folder: RunFolder,
    bed: Bed,
    experiments: Sequence[Experiment],
    limits: Limits,
    audience: Audience,
) -> Iterator[str]:
    """Measures experiments; the name of each when its data are in the directory.

    Those during which another CPU shared the core are measured once more in the end, and what was
    disturbed less is kept. When it has to stop, what is known of the one under way is kept, and the
    others are not begun.

    Raises:
        InputError: when this machine lacks something, or the directory cannot be written.
    """
    with bed.open(limits, audience.stopping) as station:
        at_work = _Run(folder, bed, station, audience)
        paces = dict[str, float]()
        for experiment in experiments:
            if audience.stopping.asked:
                return
            name = experiment["name"]
            pace = at_work.measure(experiment, -math.inf)
            if pace is not None:
                paces[name] = pace
            yield name
        usual = max(paces.values(), default=0.0)
        for experiment in experiments:
            if audience.stopping.asked:
                return
            pace = paces.get(experiment["name"], usual)
            if pace < _ALONE * usual:
                at_work.measure(experiment, pace)


class _Run(NamedTuple):
    folder: RunFolder
    bed: Bed
    station: Station
    audience: Audience

    def measure(self, experiment: Experiment, before: float) -> float | None:
        """Measures an experiment, and keeps what comes of it, unless it was paced better before.

        How many instructions the CPU did in a cycle meanwhile, where that is known.
        """
        name, bed = experiment["name"], self.bed
        say, into = partial(self.audience.say, name), self.folder.of(name)
        metric = metric_on(bed, experiment) or "ns"
        job = Job(experiment, metric, points_of(experiment), into.programs, say)
        begun, started = datetime.now(UTC), time.monotonic()
        measured = _measured(self.station, job, self.audience.stopping)
        measurement = _measurement(bed, job, measured, begun, time.monotonic() - started)
        where = measured.environment
        paced = None if where is None else where["pace"]
        pace = None if paced is None else paced["instructions_per_cycle"]
        better = measured.complete and pace is not None and pace > before
        if before == -math.inf or better:
            into.keep(measurement, measured.samples, where, measured.paths)
        return pace


def _measured(station: Station, job: Job, stopping: Stopping) -> Measured:
    try:
        return station.measure(job)
    except InputError as problem:
        return Measured([], dict.fromkeys(job.points, problem.reason), complete=True)
    except KeyboardInterrupt:  # while clang was at work
        stopping.ask()
        return Measured([], {}, complete=False)


def _measurement(
    bed: Bed, job: Job, measured: Measured, begun: datetime, seconds: float
) -> Measurement:
    errors = sorted(measured.errors.items())
    return {
        "slowpath": engine.version(),
        "testbed": bed.name,
        "target": bed.target,
        "metric": job.metric,
        "state": _state(bed, measured),
        "exact": bed.exact,
        "date": begun.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": round(seconds, 3),
        "points": list(job.points),
        "errors": [{"value": value, "reason": reason} for value, reason in errors],
        "notes": list(measured.notes),
        "samples_sha256": None,
    }


def _state(bed: Bed, measured: Measured) -> State:
    if not measured.complete:
        return "partial"
    if not bed.metrics:
        return "failed" if measured.errors else "written"
    return "complete" if measured.samples else "failed"
