"""Rows in model files."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from slowpath.contention.documents import SavedOrigin, SavedRows
from slowpath.contention.tables.columns import (
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
    invalid_reason,
)
from slowpath.contention.tables.profiles import (
    AcceleratorProfile,
    CoRuns,
    MemoryProfile,
    Origin,
    OwnContention,
)
from slowpath.contention.tables.reading import FEWEST, FEWEST_REQUESTS
from slowpath.core.errors import InputError

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
