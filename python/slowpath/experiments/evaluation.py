"""What an experiment came to: points and a model from its samples, and nothing else.

The same samples and the same specification yield the same bytes.
"""

import json
from typing import TYPE_CHECKING, NamedTuple

from slowpath.cli.inputs import write_error
from slowpath.experiments.results.documents import (
    CalibratedExperiment,
    Measurement,
    ModelDocument,
    Point,
)
from slowpath.experiments.results.folder import ExperimentFolder, write
from slowpath.experiments.results.samples import (
    points_csv,
    points_from,
    shared_spread,
    standard_error,
)
from slowpath.experiments.specification.documents import Experiment
from slowpath.experiments.specification.points import settings_at
from slowpath.models.documents import FittedModel

if TYPE_CHECKING:
    from slowpath.models.points import Points


class _Model(NamedTuple):
    model: FittedModel | None
    reason: str | None


def evaluate(folder: ExperimentFolder) -> CalibratedExperiment:
    """Derives points and model from the samples in a directory, and writes them there.

    Raises:
        InputError: when the directory lacks something, or its samples are not those measured.
        OptionError: when the extra `models` is not installed.
    """
    experiment, measurement = folder.experiment(), folder.measurement()
    samples = folder.samples()
    points = points_from(samples, exact=measurement["exact"])
    document = _document(experiment, measurement, points, shared_spread(samples))
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


def picture(folder: ExperimentFolder, document: ModelDocument) -> None:
    """Draws points and model into the directory, if there is a model.

    Raises:
        InputError: when that cannot be written.
    """
    model = document["model"]
    if model is None:
        return
    from slowpath.models.reports.plot import draw

    file = str(folder.path / "plot.svg")
    table = _table(document["parameter"], document["metric"], document["points"])
    try:
        draw(file, model, table)
    except OSError as problem:
        raise write_error(file, problem) from None


def _model(
    parameter: str, measurement: Measurement, points: list[Point], shared: list[list[float]]
) -> _Model:
    """The model of the costs; what is measured counts by how sure it is."""
    if not points:
        return _Model(None, "nothing was measured")
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
    # What is computed has intervals of no length, and what was seen once has none.
    if any(spread) and len(spread) == len(points):
        return points_of({**columns, "spread": spread}, [parameter], metric, spread="spread")
    return points_of(columns, [parameter], metric)
