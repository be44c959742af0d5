"""Derives cost models from the samples of experiments, on all CPUs.

Each experiment is evaluated independently, so that the result does not depend on the process that
evaluates it. The same samples and the same specification yield the same bytes.
"""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from slowpath.calibrate.experiments.documents import (
    CalibratedExperiment,
    Measurement,
    ModelDocument,
    Point,
)
from slowpath.calibrate.experiments.folder import (
    ExperimentFolder,
    joint_deviations,
    points_csv,
    standard_error,
    summarise,
    write,
)
from slowpath.calibrate.experiments.specification import Experiment, settings_at
from slowpath.core.inputs import write_error
from slowpath.core.pictures import can_draw
from slowpath.models.documents import FittedModel

if TYPE_CHECKING:
    from slowpath.models.points import Points


class _Model(NamedTuple):
    model: FittedModel | None
    reason: str | None  # reason why there is no model


def evaluate(folder: ExperimentFolder) -> CalibratedExperiment:
    """Derive points and a cost model from an experiment's samples, and write them to its directory.

    Raises:
        InputError: when a file is missing, or the samples have changed since the measurement.
        OptionError: when the extra `models` is not installed.
    """
    experiment, measurement = folder.experiment(), folder.measurement()
    samples = folder.samples()
    points = summarise(samples, exact=measurement["exact"])
    document = _document(experiment, measurement, points, joint_deviations(samples))
    write(folder.path / "model.json", json.dumps(document, indent=1) + "\n")
    if points:
        parameter = document["parameter"]
        write(folder.path / "points.csv", points_csv(points, parameter))
    return {"name": experiment["name"], "measurement": measurement, "result": document}


def _document(
    experiment: Experiment,
    measurement: Measurement,
    points: list[Point],
    shared: list[list[float]],
) -> ModelDocument:
    part = experiment["component"]
    parameter = part["sweep"]["parameter"]
    settings = settings_at(experiment, part["sweep"]["first"])
    model, reason = _model(parameter, measurement, points, shared)
    return {
        "experiment": experiment["name"],
        "description": experiment["description"],
        "kind": part["kind"],
        "parameter": parameter,
        "fixed": {name: value for name, value in settings.items() if name != parameter},
        "baseline": experiment["baseline"],
        "testbed": measurement["testbed"],
        "target": measurement["target"],
        "metric": measurement["metric"],
        "exact": measurement["exact"],
        "date": measurement["date"],
        "samples_sha256": measurement["samples_sha256"],
        "points": points,
        "model": model,
        "reason": reason,
    }


def plot(folder: ExperimentFolder, document: ModelDocument) -> None:
    """Write a plot of the points and the cost model to the experiment's directory.

    Nothing is written if there is no model, or matplotlib is not installed.

    Raises:
        InputError: when the plot cannot be written.
    """
    model = document["model"]
    if model is None or not can_draw():
        return
    from slowpath.models.report import draw

    file = str(folder.path / "plot.svg")
    table = _table(document["parameter"], document["metric"], document["points"])
    try:
        draw(file, model, table)
    except OSError as problem:
        raise write_error(file, problem) from None


def _model(
    parameter: str, measurement: Measurement, points: list[Point], shared: list[list[float]]
) -> _Model:
    """Fit a cost model to the points of an experiment, weighted by their precision.

    `shared` has the deviations of all costs in each block (`joint_deviations`), which show how the
    costs vary together.
    """
    if not points:
        return _Model(None, "no value of the parameter was measured")
    import numpy as np

    from slowpath.models.fitting import fit
    from slowpath.models.points import PointsError

    try:
        table = _table(parameter, measurement["metric"], points)
        if any(map(any, shared)):
            table = table._replace(shared=np.array(shared))
        return _Model(fit(table), None)
    except PointsError as problem:
        return _Model(None, str(problem))


def _table(parameter: str, metric: str, points: list[Point]) -> "Points":
    from slowpath.models.points import points_of

    columns = {
        parameter: [float(one["value"]) for one in points],
        metric: [one["cost"] for one in points],
    }
    spread = [error for one in points if (error := standard_error(one)) is not None]
    # Computed costs have intervals of length 0, and a single observation has no interval.
    if any(spread) and len(spread) == len(points):
        return points_of({**columns, "spread": spread}, [parameter], metric, spread="spread")
    return points_of(columns, [parameter], metric)


_FEW = 8
"""Maximum number of experiments that are evaluated in this process; starting more processes would
take longer.
"""


def evaluate_all(
    folders: Sequence[ExperimentFolder], done: Callable[[str], None] = lambda _name: None
) -> list[CalibratedExperiment]:
    """Evaluate experiments in parallel, and write results and plots to their directories.

    `done` is called with the name of each evaluated experiment, in order.

    Raises:
        InputError: when a file is missing, or the samples have changed since the measurement.
        OptionError: when the extra `models` is not installed.
    """
    processes = len(os.sched_getaffinity(0))
    if processes > 1 and len(folders) > _FEW:
        # Import packages before the fork, so that the forked processes need not import them.
        if can_draw():
            import matplotlib.backends.backend_agg  # noqa: F401 - for the processes
        import scipy.optimize  # noqa: F401 - for the processes

        context = multiprocessing.get_context("fork")
        try:
            with ProcessPoolExecutor(processes, context, _leave_signals) as pool:
                return _collect(pool.map(_evaluated, [folder.path for folder in folders]), done)
        except BrokenProcessPool:
            pass  # an error that cannot be pickled; this process raises it again below
    return _collect((_evaluated(folder.path) for folder in folders), done)


def _collect(
    results: Iterable[CalibratedExperiment], done: Callable[[str], None]
) -> list[CalibratedExperiment]:
    """Return all results, and call `done` with each name as soon as its result is known."""
    experiments = list[CalibratedExperiment]()
    for one in results:
        experiments.append(one)
        done(one["name"])
    return experiments


def _leave_signals() -> None:
    """Ignore Ctrl-C in a worker process, because the parent process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _evaluated(path: Path) -> CalibratedExperiment:
    folder = ExperimentFolder(path)
    found = evaluate(folder)
    plot(folder, found["result"])
    return found
