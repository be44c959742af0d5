"""Reads and writes the files of trained models.

A file contains the training rows, and reading it trains the model again. So unlike pickled objects,
files cannot run foreign code. The search for kernel parameters of Gaussian processes takes nearly
all of the training time and is not repeated: the file contains its result. The file also contains
reference predictions for some rows. If the retrained model predicts other values, the file is
refused.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

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
from slowpath.contention.model import Detected, FunctionModel, ModelChoice, Profiles, Reason, learn
from slowpath.contention.reading import FEWEST, FEWEST_REQUESTS, SAME
from slowpath.core import codes, engine
from slowpath.core.errors import Coded, InputError
from slowpath.core.formats import codes_of
from slowpath.core.inputs import read_text
from slowpath.core.printable import json_line
from slowpath.core.schema.validation import ShapeError, check_shape, schema
from slowpath.core.spanned import parse_json

_BY_NAME = {one.name: one for one in ALL}
_CONTENTION = tuple(
    {one.name for one in (*TRAFFIC, *columns)} for columns in (COUNTERS, (*COUNTERS, DMA), SCORE)
)
_CO_RUNS = (CLIENT_QUEUES.name, CLIENT_TIME.name, ALONE.name, THROUGHPUT.name)
_REQUESTS = ({MTBR.name, REQUEST_TIME.name}, {MTBR.name, REQUEST_TIME.name, SIZE.name})


def _saved_rows(origin: Origin, rows: tuple[str, ...], columns: Mapping[str, Any]) -> SavedRows:
    of = cast("SavedOrigin", {**origin._asdict(), "files": [*origin.files]})
    values = {name: [float(one) for one in column] for name, column in columns.items()}
    return {"origin": of, "rows": list(rows), "columns": values}


def _saved_requests(profile: AcceleratorProfile) -> SavedRows:
    sizes = {} if profile.size is None else {SIZE.name: profile.size}
    columns = {MTBR.name: profile.mtbr, REQUEST_TIME.name: profile.request_time, **sizes}
    return _saved_rows(profile.origin, profile.rows, columns)


def _saved_co_runs(runs: CoRuns) -> SavedRows:
    columns = dict(zip(_CO_RUNS, runs[2:], strict=True))
    return _saved_rows(runs.origin, runs.rows, columns)


def _read_memory(file: str, saved: SavedRows) -> MemoryProfile:
    columns = _columns(file, "memory", saved, [one | {THROUGHPUT.name} for one in _CONTENTION])
    throughput = columns.pop(THROUGHPUT.name)
    if len(throughput) < FEWEST:
        reason = (
            f"the part memory has {len(throughput)} rows; a memory model needs at least {FEWEST}"
        )
        raise _no_model(file, reason)
    return MemoryProfile(_origin(file, "memory", saved), tuple(saved["rows"]), columns, throughput)


def _read_requests(file: str, saved: SavedRows) -> AcceleratorProfile:
    columns = _columns(file, "accelerator", saved, _REQUESTS)
    different = len({*columns[MTBR.name].tolist()})
    if different < FEWEST_REQUESTS:
        reason = (
            f"the part accelerator has {different} different values of {MTBR.name}; a "
            "line needs at least two"
        )
        raise _no_model(file, reason)
    return AcceleratorProfile(
        _origin(file, "accelerator", saved),
        tuple(saved["rows"]),
        columns[MTBR.name],
        columns[REQUEST_TIME.name],
        columns.get(SIZE.name),
    )


def _read_co_runs(file: str, saved: SavedRows) -> CoRuns:
    columns = _columns(file, "co_runs", saved, [{*_CO_RUNS}])
    if not saved["rows"]:
        raise _no_model(file, "the part co_runs has no rows")
    found = [columns[name] for name in _CO_RUNS]
    return CoRuns(_origin(file, "co_runs", saved), tuple(saved["rows"]), *found)


def _read_contention(file: str, saved: SavedRows) -> OwnContention:
    columns = _columns(file, "contention", saved, _CONTENTION)
    if not saved["rows"]:
        raise _no_model(file, "the part contention has no rows")
    return OwnContention(_origin(file, "contention", saved), tuple(saved["rows"]), columns)


def _no_model(file: str, reason: str) -> InputError:
    """Return the error for a file that cannot be used as a model."""
    return InputError(
        codes.NOT_A_CONTENTION_MODEL,
        file,
        f"the file is not a model of slowpath contention train: {reason}",
    )


def _origin(file: str, part: str, saved: SavedRows) -> Origin:
    of: dict[str, Any] = {**saved["origin"]}
    for name, column in (("cache_mb", WORKING_SET), ("mtbr", MTBR)):
        reason = None if of[name] is None else invalid_reason(column, of[name])
        if reason is not None:
            raise _no_model(file, f"{part}.origin.{name}: {reason}")
    return Origin._make(of[name] for name in Origin._fields)._replace(
        files=tuple(of["files"]) or ("",)
    )


def _columns(file: str, part: str, saved: SavedRows, allowed: Sequence[set[str]]) -> dict[str, Any]:
    """Check the columns of a section of a model file, and return their values.

    `part` is the name of the section, such as `memory`; `allowed` has the sets of columns that it
    can have.
    """
    names = {*saved["columns"]}
    if names not in allowed:
        nearest = min(allowed, key=lambda one: len(one ^ names))
        lacking, unknown = sorted(nearest - names), sorted(names - nearest)
        faults = [f"the part lacks the column {', '.join(lacking)}"] if lacking else []
        faults += [f"the part has an unknown column {', '.join(unknown)}"] if unknown else []
        raise _no_model(file, f"{part}: {' and '.join(faults)}")
    for name, values in saved["columns"].items():
        if len(values) != len(saved["rows"]):
            reason = f"{part}.columns.{name} has {len(values)} values for {len(saved['rows'])} rows"
            raise _no_model(file, reason)
        column = _BY_NAME[name]
        for row, value in zip(saved["rows"], values, strict=True):
            fault = (
                invalid_reason(column, value) if math.isfinite(value) else "the value is not finite"
            )
            if fault is not None:
                raise _no_model(file, f"{part}, row {row}, column {name}: {fault}")
    return {name: np.array(values, dtype=float) for name, values in saved["columns"].items()}


_VERSION = 1
_MOST_QUEUES = 4096
"""Maximum number of request queues that a function can have at the accelerator."""
_CHECKS = 5
_SAME = 1e-3
_LARGEST = 100.0
"""Largest valid absolute value of a kernel parameter's logarithm."""


def written(model: FunctionModel, warnings: Sequence[Coded] = ()) -> str:
    """Return a model as a JSON document on one line, with the warnings about its training."""
    head = engine.head("contention train", "contention")
    document: SavedModel = {
        "slowpath": head["slowpath"],
        "command": head["command"],
        "schema": head["schema"],
        "version": _VERSION,
        "pattern": model.pattern,
        "queues": model.queues,
        "recipe": model.choice.recipe.name,
        "scores": [
            {"recipe": one.recipe, "among": one.among, "beyond": one.beyond}
            for one in model.choice.scores
        ],
        "end_errors": [float(one) for one in model.choice.end_errors],
        "memory": _saved_rows(
            model.memory.origin,
            model.memory.rows,
            {**model.memory.columns, "throughput": model.memory.throughput},
        ),
        "accelerator": None if model.accelerator is None else _saved_requests(model.accelerator),
        "contention": None
        if model.contention is None
        else _saved_rows(model.contention.origin, model.contention.rows, model.contention.columns),
        "co_runs": None if model.co_runs is None else _saved_co_runs(model.co_runs),
        "widening": model.widening,
        "checks": _checks(model),
        "warnings": [*warnings],
        "warning_codes": codes_of(warnings),
    }
    kernels = [stage.kernels() for stage in (model.stage, *model.intervals.stages)]
    if any(one is not None for stage in kernels for one in stage):
        document["kernels"] = [
            [None if one is None else [float(value) for value in one] for one in stage]
            for stage in kernels
        ]
    if model.pattern_reason is not None:
        document["pattern_reason"] = _saved_reason(model.pattern_reason)
    return json_line(document)


def read(file: str) -> FunctionModel:
    """Read a model from a file by training it again.

    Raises:
        InputError: if the file is not a model, or the retrained model predicts other values.
    """
    document = _document(file)
    if document["version"] != _VERSION:
        reason = (
            f"the model has format version {document['version']}, but this slowpath reads "
            f"version {_VERSION}"
        )
        raise InputError(codes.NOT_A_CONTENTION_MODEL, file, f"{reason}; train the model again")
    recipe = RECIPES.get(document["recipe"])
    if recipe is None:
        raise InputError(
            codes.NOT_A_CONTENTION_MODEL,
            file,
            f"the model has an unknown recipe {document['recipe']!r}",
        )
    scores = tuple(Score(one["recipe"], one["among"], one["beyond"]) for one in document["scores"])
    choice = ModelChoice(recipe, scores, np.array(document["end_errors"], dtype=float))
    profiles = _profiles(file, document)
    known = _kernels(file, document)
    try:
        model = learn(profiles, choice, document["pattern"], document["queues"], known)
        model = model._replace(
            widening=_widening(file, document),
            pattern_reason=_read_reason(document.get("pattern_reason")),
        )
    except InputError as problem:  # replace the name of the original table
        raise _no_model(file, problem.reason) from None
    except ValueError as problem:
        raise _no_model(file, f"kernels: {problem}") from None
    _check(file, model, document["checks"])
    return model


def _kernels(file: str, document: SavedModel) -> list[Kernels] | None:
    """Return the kernel parameters in a model file; None in files of older versions."""
    saved = document.get("kernels")
    if saved is None:
        return None
    if not saved:
        raise _no_model(file, "the list kernels is empty")
    if any(abs(value) > _LARGEST for stage in saved for one in stage for value in one or ()):
        raise _no_model(file, f"kernels has a logarithm larger than {_LARGEST:g}")
    return [[None if one is None else np.array(one) for one in stage] for stage in saved]


def _widening(file: str, document: SavedModel) -> float:
    """Return the factor that widens intervals if other functions use the accelerator, too."""
    found = document.get("widening", 1.0)
    if not 0 < found < math.inf:
        raise _no_model(file, f"widening is {found:g}, which is not a positive number")
    return found


def _saved_reason(reason: Reason) -> SavedReason:
    detected = None
    if reason.detected is not None:
        detected = cast("SavedDetection", reason.detected._asdict())
    return {"source": reason.source, "declared": reason.declared, "detected": detected}


def _read_reason(saved: SavedReason | None) -> Reason | None:
    if saved is None:
        return None
    detected = None
    if saved["detected"] is not None:
        found: dict[str, Any] = {**saved["detected"]}
        detected = Detected._make(found[name] for name in Detected._fields)
    return Reason(saved["source"], saved["declared"], detected)


def _profiles(file: str, document: SavedModel) -> Profiles:
    """Return the measured tables in a model file, after checking that they are of one function."""
    memory = _read_memory(file, document["memory"])
    requests, contention = document["accelerator"], document["contention"]
    accelerator = None if requests is None else _read_requests(file, requests)
    own = None if contention is None else _read_contention(file, contention)
    saved = document.get("co_runs")
    co_runs = None if saved is None else _read_co_runs(file, saved)
    others = {"accelerator": accelerator, "contention": own, "co_runs": co_runs}
    origins = {name: part.origin for name, part in others.items() if part is not None}
    for name, origin in origins.items():
        for key in SAME:
            one, other = getattr(memory.origin, key), getattr(origin, key)
            if one != other and None not in (one, other):
                raise _no_model(
                    file, f"the part {name} is for the {key} {other!r}, but memory is for {one!r}"
                )
    times_add_up = document["pattern"] == "run-to-completion" and accelerator is not None
    if times_add_up and memory.origin.mtbr is None:
        raise _no_model(file, "a run-to-completion model needs memory.origin.mtbr")
    return Profiles(memory, accelerator, own, co_runs)


def _document(file: str) -> SavedModel:
    try:
        document = parse_json(read_text(file))
    except (ValueError, RecursionError) as problem:
        raise InputError(codes.NOT_JSON, file, f"the file is not JSON: {problem}") from None
    shape = schema("contention")
    try:
        check_shape(document, shape, shape["$defs"], "document")
    except ShapeError as problem:
        raise _no_model(file, str(problem)) from None
    found: SavedModel = document
    if not 1 <= found["queues"] <= _MOST_QUEUES:
        raise _no_model(
            file, f"the number of queues, {found['queues']}, is not between 1 and {_MOST_QUEUES:,}"
        )
    if any(one < 0 for one in found["end_errors"]):
        raise _no_model(file, "the list end_errors has a negative value")
    if not found["checks"]:
        raise _no_model(file, "the list checks is empty, so that the model cannot be verified")
    return found


def _checks(model: FunctionModel) -> list[Checked]:
    """Return reference predictions of a model, by which it is checked after reading."""
    count = len(model.memory.rows)
    rows = sorted({round(at) for at in np.linspace(0, count - 1, _CHECKS)})
    predicted = np.exp(model.stage.log_throughput(model.memory.columns))
    low, _ = model.intervals.interval(model.memory.columns, 0.9)
    return [
        {"row": at, "throughput": float(predicted[at]), "low": float(np.exp(low[at]))}
        for at in rows
    ]


def _check(file: str, model: FunctionModel, checks: list[Checked]) -> None:
    """Check that a retrained model repeats the reference predictions in its file.

    Raises:
        InputError: if it predicts other values.
    """
    predicted = np.exp(model.stage.log_throughput(model.memory.columns))
    low = np.exp(model.intervals.interval(model.memory.columns, 0.9)[0])
    for one in checks:
        at = one["row"]
        if not 0 <= at < len(predicted):
            raise _no_model(file, f"the list checks names row {at}, which does not exist")
        for now, then in ((predicted[at], one["throughput"]), (low[at], one["low"])):
            if not math.isclose(now, then, rel_tol=_SAME):
                reason = (
                    f"the throughput of row {model.memory.rows[at]} is now {now:g}, but "
                    f"was {then:g}"
                )
                raise InputError(
                    codes.MODEL_CHANGED,
                    file,
                    f"the loaded model predicts different values from those in its file: {reason}",
                )
