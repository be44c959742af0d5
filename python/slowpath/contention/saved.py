"""Model files, and checks for required packages (extra `contention`).

Reading a file trains the model again. This needs no trust in foreign code, unlike pickled objects.
The search for kernel parameters of Gaussian processes takes nearly all of the training time and is
not repeated. The file also contains reference predictions for some rows: if the retrained model
predicts other values, the file is refused.
"""

import importlib.util
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from slowpath.contention.columns import (
    ALL,
    ALONE,
    CLIENT_QUEUES,
    CLIENT_TIME,
    COUNTERS,
    DMA,
    MTBR,
    REQUEST_TIME,
    SCORE,
    SIZE,
    THROUGHPUT,
    TRAFFIC,
    WORKING_SET,
    AcceleratorProfile,
    CoRuns,
    MemoryProfile,
    Origin,
    OwnContention,
    invalid_reason,
)
from slowpath.contention.composition import Detected, Reason
from slowpath.contention.documents import (
    Checked,
    SavedDetection,
    SavedModel,
    SavedOrigin,
    SavedReason,
    SavedRows,
)
from slowpath.contention.memory.recipes import RECIPES, Kernels
from slowpath.contention.memory.selection import Score
from slowpath.contention.model import FunctionModel, ModelChoice, Profiles, learn
from slowpath.contention.reading import FEWEST, FEWEST_REQUESTS, SAME
from slowpath.core import engine
from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.inputs import read_text
from slowpath.core.printable import json_line
from slowpath.core.schema.validation import ShapeError, check_shape, schema
from slowpath.core.tables import parse_json

_BY_NAME = {one.name: one for one in ALL}
_CONTENTION = tuple(
    {one.name for one in (*TRAFFIC, *columns)} for columns in (COUNTERS, (*COUNTERS, DMA), SCORE)
)
_CO_RUNS = (CLIENT_QUEUES.name, CLIENT_TIME.name, ALONE.name, THROUGHPUT.name)
_REQUESTS = ({MTBR.name, REQUEST_TIME.name}, {MTBR.name, REQUEST_TIME.name, SIZE.name})


def saved_rows(origin: Origin, rows: tuple[str, ...], columns: Mapping[str, Any]) -> SavedRows:
    """Return rows in the schema of a model file."""
    of: SavedOrigin = {
        "files": list(origin.files),
        "function": origin.function,
        "device": origin.device,
        "unit": origin.unit,
        "source": origin.source,
        "cache_mb": origin.cache_mb,
        "mtbr": origin.mtbr,
    }
    values = {name: [float(one) for one in column] for name, column in columns.items()}
    return {"origin": of, "rows": list(rows), "columns": values}


def saved_requests(profile: AcceleratorProfile) -> SavedRows:
    """Return request times in the schema of a model file."""
    sizes = {} if profile.size is None else {SIZE.name: profile.size}
    columns = {MTBR.name: profile.mtbr, REQUEST_TIME.name: profile.request_time, **sizes}
    return saved_rows(profile.origin, profile.rows, columns)


def saved_co_runs(runs: CoRuns) -> SavedRows:
    """Return co-runs in the schema of a model file."""
    columns = dict(zip(_CO_RUNS, runs[2:], strict=True))
    return saved_rows(runs.origin, runs.rows, columns)


def read_memory_rows(file: str, saved: SavedRows) -> MemoryProfile:
    """Return the memory profile in a model file.

    Raises:
        InputError: if columns or values are not those of a memory profile.
    """
    columns = _columns(file, "memory", saved, [one | {THROUGHPUT.name} for one in _CONTENTION])
    throughput = columns.pop(THROUGHPUT.name)
    if len(throughput) < FEWEST:
        reason = f"memory has {len(throughput)} rows; a memory model takes at least {FEWEST}"
        raise no_model(file, reason)
    return MemoryProfile(_origin(file, "memory", saved), tuple(saved["rows"]), columns, throughput)


def read_requests(file: str, saved: SavedRows) -> AcceleratorProfile:
    """Return the request times in a model file.

    Raises:
        InputError: if columns or values are not those of request times.
    """
    columns = _columns(file, "accelerator", saved, _REQUESTS)
    different = len({*columns[MTBR.name].tolist()})
    if different < FEWEST_REQUESTS:
        reason = f"accelerator has {different} different values of {MTBR.name}; a line takes two"
        raise no_model(file, reason)
    return AcceleratorProfile(
        _origin(file, "accelerator", saved),
        tuple(saved["rows"]),
        columns[MTBR.name],
        columns[REQUEST_TIME.name],
        columns.get(SIZE.name),
    )


def read_co_runs(file: str, saved: SavedRows) -> CoRuns:
    """Return the co-runs in a model file.

    Raises:
        InputError: if columns or values are not those of co-runs.
    """
    columns = _columns(file, "co_runs", saved, [{*_CO_RUNS}])
    if not saved["rows"]:
        raise no_model(file, "co_runs has no rows")
    found = [columns[name] for name in _CO_RUNS]
    return CoRuns(_origin(file, "co_runs", saved), tuple(saved["rows"]), *found)


def read_contention_rows(file: str, saved: SavedRows) -> OwnContention:
    """Return the contention that the function causes, from a model file.

    Raises:
        InputError: if columns or values are not those of contention.
    """
    columns = _columns(file, "contention", saved, _CONTENTION)
    if not saved["rows"]:
        raise no_model(file, "contention has no rows")
    return OwnContention(_origin(file, "contention", saved), tuple(saved["rows"]), columns)


def no_model(file: str, reason: str) -> InputError:
    """Return the error for a file that cannot be used as a model."""
    return InputError(file, f"is not a model: {reason}")


def _origin(file: str, part: str, saved: SavedRows) -> Origin:
    of = saved["origin"]
    for name, column in (("cache_mb", WORKING_SET), ("mtbr", MTBR)):
        value = of[name]  # type: ignore[literal-required]
        reason = None if value is None else invalid_reason(column, value)
        if reason is not None:
            raise no_model(file, f"{part}.origin.{name}: {reason}")
    return Origin(
        tuple(of["files"]) or ("",),
        of["function"],
        of["device"],
        of["unit"],
        of["source"],
        of["cache_mb"],
        of["mtbr"],
    )


def _columns(file: str, part: str, saved: SavedRows, allowed: Sequence[set[str]]) -> dict[str, Any]:
    """Return the columns of a part, after checks of names and values."""
    names = {*saved["columns"]}
    if names not in allowed:
        nearest = min(allowed, key=lambda one: len(one ^ names))
        lacks, has = sorted(nearest - names), sorted(names - nearest)
        said = [f"lacks column {', '.join(lacks)}"] if lacks else []
        said += [f"has a column {', '.join(has)} that is not known there"] if has else []
        raise no_model(file, f"{part} {' and '.join(said)}")
    for name, values in saved["columns"].items():
        if len(values) != len(saved["rows"]):
            reason = f"{part}.columns.{name} has {len(values)} values of {len(saved['rows'])} rows"
            raise no_model(file, reason)
        for row, value in zip(saved["rows"], values, strict=True):
            why = invalid_reason(_BY_NAME[name], value) if math.isfinite(value) else "is not finite"
            if why is not None:
                raise no_model(file, f"{part}, row {row}, column {name}: {why}")
    return {name: np.array(values, dtype=float) for name, values in saved["columns"].items()}


VERSION = 1
MOST_QUEUES = 4096
"""Maximum number of request queues of the function at the accelerator."""
_CHECKS = 5
_SAME = 1e-3
_LARGEST = 100.0
"""Largest absolute value of a kernel parameter's logarithm."""


def written(model: FunctionModel) -> str:
    """Return the model as a JSON document on one line."""
    document: SavedModel = {
        "slowpath": engine.version(),
        "version": VERSION,
        "pattern": model.pattern,
        "queues": model.queues,
        "recipe": model.choice.recipe.name,
        "scores": [
            {"recipe": one.recipe, "among": one.among, "beyond": one.beyond}
            for one in model.choice.scores
        ],
        "end_errors": [float(one) for one in model.choice.end_errors],
        "memory": saved_rows(
            model.memory.origin,
            model.memory.rows,
            {**model.memory.columns, "throughput": model.memory.throughput},
        ),
        "accelerator": None if model.accelerator is None else saved_requests(model.accelerator),
        "contention": None
        if model.contention is None
        else saved_rows(model.contention.origin, model.contention.rows, model.contention.columns),
        "co_runs": None if model.co_runs is None else saved_co_runs(model.co_runs),
        "widening": model.widening,
        "checks": _checks(model),
    }
    kernels = [stage.kernels() for stage in (model.stage, *model.intervals.stages)]
    if any(one is not None for stage in kernels for one in stage):
        document["kernels"] = [
            [None if one is None else [float(value) for value in one] for one in stage]
            for stage in kernels
        ]
    if model.why is not None:
        document["pattern_reason"] = _saved_reason(model.why)
    return json_line(document)


def read(file: str) -> FunctionModel:
    """Read a model from a file by training it again.

    Raises:
        InputError: if the file is not a model, or the retrained model predicts other values.
    """
    document = _document(file)
    if document["version"] != VERSION:
        reason = f"is a model of version {document['version']}; this slowpath reads {VERSION}"
        raise InputError(file, f"{reason}: train it again")
    recipe = RECIPES.get(document["recipe"])
    if recipe is None:
        raise InputError(file, f"has a recipe {document['recipe']!r}, which is not known here")
    scores = tuple(Score(one["recipe"], one["among"], one["beyond"]) for one in document["scores"])
    choice = ModelChoice(recipe, scores, np.array(document["end_errors"], dtype=float))
    profiles = _profiles(file, document)
    try:
        known = _kernels(file, document)
        model = learn(profiles, choice, document["pattern"], document["queues"], known)
        model = model._replace(
            widening=_widening(file, document), why=_read_reason(document.get("pattern_reason"))
        )
    except InputError as problem:  # names the original table, not the model file
        raise no_model(file, problem.reason) from None
    except ValueError as problem:
        raise no_model(file, f"kernels: {problem}") from None
    _check(file, model, document["checks"])
    return model


def _kernels(file: str, document: SavedModel) -> list[Kernels] | None:
    """Return kernel parameters of each stage; None in files of older versions."""
    saved = document.get("kernels")
    if saved is None:
        return None
    if not saved:
        raise no_model(file, "kernels: is empty")
    if any(abs(value) > _LARGEST for stage in saved for one in stage for value in one or ()):
        raise no_model(file, f"kernels: a logarithm is larger than {_LARGEST:g}")
    return [[None if one is None else np.array(one) for one in stage] for stage in saved]


def _widening(file: str, document: SavedModel) -> float:
    """Return the factor on interval widths beside clients of the accelerator."""
    found = document.get("widening", 1.0)
    if not 0 < found < math.inf:
        raise no_model(file, f"widening is {found:g}, which is no factor")
    return found


def _saved_reason(why: Reason) -> SavedReason:
    """Return the reason for the pattern, as a part of the document."""
    detected: SavedDetection | None = None
    if why.detected is not None:
        pattern, confidence, pipeline, completion, co_runs = why.detected
        detected = {
            "pattern": pattern,
            "confidence": confidence,
            "pipeline_error": pipeline,
            "run_to_completion_error": completion,
            "co_runs": co_runs,
        }
    return {"source": why.source, "declared": why.declared, "detected": detected}


def _read_reason(saved: SavedReason | None) -> Reason | None:
    if saved is None:
        return None
    found = saved["detected"]
    detected = None
    if found is not None:
        detected = Detected(
            found["pattern"],
            found["confidence"],
            found["pipeline_error"],
            found["run_to_completion_error"],
            found["co_runs"],
        )
    return Reason(saved["source"], saved["declared"], detected)


def _profiles(file: str, document: SavedModel) -> Profiles:
    """Return the measurements, which have to be of one function on one device."""
    memory = read_memory_rows(file, document["memory"])
    requests, contention = document["accelerator"], document["contention"]
    accelerator = None if requests is None else read_requests(file, requests)
    own = None if contention is None else read_contention_rows(file, contention)
    saved = document.get("co_runs")
    co_runs = None if saved is None else read_co_runs(file, saved)
    others = {"accelerator": accelerator, "contention": own, "co_runs": co_runs}
    origins = {name: part.origin for name, part in others.items() if part is not None}
    for name, origin in origins.items():
        for key in SAME:
            one, other = getattr(memory.origin, key), getattr(origin, key)
            if one != other and None not in (one, other):
                raise no_model(file, f"{name} is of {key} {other!r}, memory of {one!r}")
    added_up = document["pattern"] == "run-to-completion" and accelerator is not None
    if added_up and memory.origin.mtbr is None:
        raise no_model(file, "run-to-completion needs memory.origin.mtbr")
    return Profiles(memory, accelerator, own, co_runs)


def _document(file: str) -> SavedModel:
    try:
        document = parse_json(read_text(file))
    except (ValueError, RecursionError) as problem:
        raise InputError(file, f"is not JSON: {problem}") from None
    shape = schema("contention")
    try:
        check_shape(document, shape, shape["$defs"], "document")
    except ShapeError as problem:
        raise no_model(file, str(problem)) from None
    found: SavedModel = document
    if not 1 <= found["queues"] <= MOST_QUEUES:
        raise no_model(file, f"queues: {found['queues']} is not between 1 and {MOST_QUEUES:,}")
    if any(one < 0 for one in found["end_errors"]):
        raise no_model(file, "end_errors: has a negative one")
    if not found["checks"]:
        raise no_model(file, "checks: is empty; nothing tells whether it still says the same")
    return found


def _checks(model: FunctionModel) -> list[Checked]:
    """Return reference predictions of the memory stage for some of its rows."""
    count = len(model.memory.rows)
    rows = sorted({round(at) for at in np.linspace(0, count - 1, _CHECKS)})
    predicted = np.exp(model.stage.log_throughput(model.memory.columns))
    low, _ = model.intervals.interval(model.memory.columns, 0.9)
    return [
        {"row": at, "throughput": float(predicted[at]), "low": float(np.exp(low[at]))}
        for at in rows
    ]


def _check(file: str, model: FunctionModel, checks: list[Checked]) -> None:
    """Check that the retrained model repeats the reference predictions."""
    predicted = np.exp(model.stage.log_throughput(model.memory.columns))
    low = np.exp(model.intervals.interval(model.memory.columns, 0.9)[0])
    for one in checks:
        at = one["row"]
        if not 0 <= at < len(predicted):
            raise no_model(file, f"checks name row {at}")
        for now, then in ((predicted[at], one["throughput"]), (low[at], one["low"])):
            if not math.isclose(now, then, rel_tol=_SAME):
                reason = f"row {model.memory.rows[at]} is now {now:g}, and was {then:g}"
                raise InputError(file, f"predicts otherwise than when it was trained: {reason}")


_NEEDED = {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_SOLVER = {"ortools": "ortools"}
_PARQUET = {"pyarrow": "pyarrow"}


def need() -> None:
    """Check that the required packages are installed, and limit them to one thread.

    Matrices have some tens of rows, so further threads would only busy-wait. The libraries read
    these environment variables at import; values set by the user stay.

    Raises:
        UnavailableError: names missing packages and their installation.
    """
    _find(_NEEDED)
    for name in _THREADS:
        os.environ.setdefault(name, "1")


def need_solver() -> None:
    """Check that the solver for placements is installed.

    Raises:
        UnavailableError: if it is not installed.
    """
    _find(_SOLVER)


def need_parquet() -> None:
    """Check that the Parquet library is installed (extra `parquet`).

    Raises:
        UnavailableError: if it is not installed.
    """
    _find(_PARQUET, "parquet")


def _find(packages: Mapping[str, str], extra: str = "contention") -> None:
    missing = [
        name for module, name in packages.items() if importlib.util.find_spec(module) is None
    ]
    if missing:
        are = "are" if len(missing) > 1 else "is"
        reason = f"{' and '.join(missing)} {are} not installed; pip install slowpath[{extra}]"
        raise UnavailableError(reason)
