"""Models in files: what they were learnt from and which recipe was chosen, not what was learnt.

A model is learnt again when it is read, which takes a second or two and needs no trust in foreign
code, as pickled objects would. Predictions for some rows stand beside it: when what is learnt here
says something else, the file is refused.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_text
from slowpath.cli.printable import json_line
from slowpath.contention.documents import Checked, SavedModel, SavedOrigin, SavedRows
from slowpath.contention.memory.learning.recipes import RECIPES
from slowpath.contention.memory.selection import Score
from slowpath.contention.model import Choice, FunctionModel, Profiles, learn
from slowpath.contention.tables.profiles import (
    AcceleratorProfile,
    MemoryProfile,
    Origin,
    OwnContention,
)
from slowpath.engine import identity
from slowpath.schema.json_schema import schema
from slowpath.schema.shapes import ShapeError, check_shape

VERSION = 1
_CHECKS = 5
_SAME = 1e-3


def written(model: FunctionModel) -> str:
    """The document on one line."""
    document: SavedModel = {
        "slowpath": identity.version(),
        "version": VERSION,
        "pattern": model.pattern,
        "queues": model.queues,
        "recipe": model.choice.recipe.name,
        "scores": [
            {"recipe": one.recipe, "among": one.among, "beyond": one.beyond}
            for one in model.choice.scores
        ],
        "end_errors": [float(one) for one in model.choice.end_errors],
        "memory": _rows(
            model.memory.origin,
            model.memory.rows,
            {**model.memory.columns, "throughput": model.memory.throughput},
        ),
        "accelerator": None
        if model.accelerator is None
        else _rows(
            model.accelerator.origin,
            model.accelerator.rows,
            _requests(model.accelerator),
        ),
        "contention": None
        if model.contention is None
        else _rows(model.contention.origin, model.contention.rows, model.contention.columns),
        "checks": _checks(model),
    }
    return json_line(document)


def read(file: str) -> FunctionModel:
    """The model in a file, learnt again.

    Raises:
        InputError: when the file is no model, or what is learnt from it is not what was.
    """
    document = _document(file)
    if document["version"] != VERSION:
        reason = f"is a model of version {document['version']}; this slowpath reads {VERSION}"
        raise InputError(file, f"{reason}: train it again")
    recipe = RECIPES.get(document["recipe"])
    if recipe is None:
        raise InputError(file, f"has a recipe {document['recipe']!r}, which is not known here")
    scores = tuple(Score(**one) for one in document["scores"])
    choice = Choice(recipe, scores, np.array(document["end_errors"], dtype=float))
    memory = document["memory"]
    columns = _columns(file, "memory", memory)
    throughput = columns.pop("throughput", np.empty(0))
    if not (len(throughput) and (throughput > 0).all()):
        raise InputError(file, "is not a model: memory has no throughput above zero")
    profile = MemoryProfile(_origin(memory), tuple(memory["rows"]), columns, throughput)
    _check_names(file, columns)
    profiles = Profiles(
        profile,
        _accelerator(file, document["accelerator"]),
        _contention(file, document["contention"]),
    )
    model = learn(profiles, choice, document["pattern"], document["queues"])
    _check(file, model, document["checks"])
    return model


def _document(file: str) -> SavedModel:
    try:
        document = json.loads(read_text(file), parse_constant=_refuse)
    except (ValueError, RecursionError) as problem:
        raise InputError(file, f"is not JSON: {problem}") from None
    shape = schema("contention")
    try:
        check_shape(document, shape, shape["$defs"], "document")
    except ShapeError as problem:
        raise InputError(file, f"is not a model: {problem}") from None
    found: SavedModel = document
    if found["queues"] < 1:
        raise InputError(file, "is not a model: it has no queues")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _rows(origin: Origin, rows: tuple[str, ...], columns: Mapping[str, Any]) -> SavedRows:
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


def _origin(saved: SavedRows) -> Origin:
    of = saved["origin"]
    return Origin(
        tuple(of["files"]) or ("",),
        of["function"],
        of["device"],
        of["unit"],
        of["source"],
        of["cache_mb"],
        of["mtbr"],
    )


def _requests(profile: AcceleratorProfile) -> dict[str, Any]:
    sizes = {} if profile.size is None else {"packet_size_bytes": profile.size}
    return {"mtbr": profile.mtbr, "inverse_throughput": profile.request_time, **sizes}


def _columns(file: str, part: str, saved: SavedRows) -> dict[str, Any]:
    for name, values in saved["columns"].items():
        if len(values) != len(saved["rows"]):
            reason = f"{part}.columns.{name} has {len(values)} values of {len(saved['rows'])} rows"
            raise InputError(file, f"is not a model: {reason}")
        if any(value < 0 or not math.isfinite(value) for value in values):
            raise InputError(file, f"is not a model: {part}.columns.{name} has negative values")
    return {name: np.array(values) for name, values in saved["columns"].items()}


def _check_names(file: str, columns: Mapping[str, Any]) -> None:
    traffic = {"flow_count", "packet_size_bytes"}
    counters = {"ipc", "irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb"}
    known = (traffic | counters, traffic | counters | {"dma_mb"}, traffic | {"score"})
    if set(columns) not in known:
        raise InputError(file, f"is not a model: memory has columns {', '.join(sorted(columns))}")


def _accelerator(file: str, saved: SavedRows | None) -> AcceleratorProfile | None:
    if saved is None:
        return None
    columns = _columns(file, "accelerator", saved)
    size = columns.pop("packet_size_bytes", None)
    if set(columns) != {"mtbr", "inverse_throughput"} or not columns["inverse_throughput"].all():
        raise InputError(file, "is not a model: accelerator lacks match ratios or request times")
    return AcceleratorProfile(
        _origin(saved), tuple(saved["rows"]), columns["mtbr"], columns["inverse_throughput"], size
    )


def _contention(file: str, saved: SavedRows | None) -> OwnContention | None:
    if saved is None:
        return None
    columns = _columns(file, "contention", saved)
    _check_names(file, columns)
    return OwnContention(_origin(saved), tuple(saved["rows"]), columns)


def _checks(model: FunctionModel) -> list[Checked]:
    """What the memory stage says of some of its rows."""
    count = len(model.memory.rows)
    rows = sorted({round(at) for at in np.linspace(0, count - 1, _CHECKS)})
    predicted = np.exp(model.stage.log_throughput(model.memory.columns))
    low, _ = model.intervals.interval(model.memory.columns, 0.9)
    return [
        {"row": at, "throughput": float(predicted[at]), "low": float(np.exp(low[at]))}
        for at in rows
    ]


def _check(file: str, model: FunctionModel, checks: list[Checked]) -> None:
    """Finds out whether what was learnt is what it was when the file was written."""
    predicted = np.exp(model.stage.log_throughput(model.memory.columns))
    low = np.exp(model.intervals.interval(model.memory.columns, 0.9)[0])
    for one in checks:
        at = one["row"]
        if not 0 <= at < len(predicted):
            raise InputError(file, f"is not a model: checks name row {at}")
        for now, then in ((predicted[at], one["throughput"]), (low[at], one["low"])):
            if not math.isclose(now, then, rel_tol=_SAME):
                reason = f"row {model.memory.rows[at]} is now {now:g}, and was {then:g}"
                raise InputError(file, f"predicts otherwise than when it was trained: {reason}")
