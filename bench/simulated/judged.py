"""Compares predicted with measured throughput, for slowpath and the paper's baselines."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import figures
import numpy as np
from numpy.typing import NDArray

from simulated.asked import Mix
from simulated.functions import TRAFFIC
from simulated.learnt import Known
from slowpath.contention.columns import Query
from slowpath.contention.methods import Method, predict_by
from slowpath.contention.prediction import query_with_competitors

Floats = NDArray[np.float64]

CONFIDENCE = 0.9
METHODS = ("slowpath", "SLOMO", "sum")
"""The compared methods.

`min` is left out, because its errors differ from ours by at most 0.3 points.
"""
_FAIR = 0.10


class Row(NamedTuple):
    """Errors of the predicted throughput of one function in one mix."""

    name: str
    beside: int  # number of competitors
    errors: Mapping[str, float]  # by method
    covered: bool  # by the interval
    outside: bool
    drop: float  # loss of throughput, as a share of solo throughput


def rows(
    known: Mapping[str, Known], mixes: Sequence[Mix], truth: Sequence[Sequence[float]]
) -> list[Row]:
    """Predict the throughput of all functions in all mixes, and return the errors.

    `truth` has the measured throughput of each function in each mix.
    """
    found = []
    for name, target in known.items():
        for at in range(len(TRAFFIC)):
            there = [
                (mix, throughput[mix.names.index(name)])
                for mix, throughput in zip(mixes, truth, strict=True)
                if mix.traffic == at and name in mix.names
            ]
            if there:
                some, wanted = zip(*there, strict=True)
                queries = [_query(known, name, mix) for mix in some]
                beside = [len(mix.names) - 1 for mix in some]
                solo = np.full(len(there), target.solo[at])
                found += judged(target, joined(queries), solo, np.array(wanted), beside)
    return found


def _query(known: Mapping[str, Known], name: str, mix: Mix) -> Query:
    traffic = TRAFFIC[mix.traffic]
    others = [(one, known[one].model) for one in mix.names if one != name]
    return query_with_competitors((name, known[name].model), others, traffic)


def joined(queries: Sequence[Query]) -> Query:
    """Combine several queries about one function into one query with all their rows."""
    first = queries[0]
    names = first.columns
    accelerated = first.mtbr is not None
    return Query(
        first.file,
        tuple(str(number) for number in range(len(queries))),
        {name: np.concatenate([query.columns[name] for query in queries]) for name in names},
        np.concatenate([query.mtbr for query in queries]) if accelerated else None,
        np.concatenate([query.queued for query in queries]) if accelerated else None,
    )


def judged(
    target: Known, query: Query, solo: Floats, wanted: Floats, beside: Sequence[int]
) -> list[Row]:
    """Compare the predictions for one function with its measured throughput.

    Args:
        target: The function.
        query: The traffic and competitors to predict, one combination in each row.
        solo: Measured throughput alone, under the traffic of each row.
        wanted: Measured throughput.
        beside: Number of competitors in each row.
    """
    with_solo = query._replace(alone=solo)
    queries: dict[Method, Query] = {"slowpath": query, "sum": with_solo}
    by = {
        method: predict_by(method, target.model, one, CONFIDENCE) for method, one in queries.items()
    }
    found = by["slowpath"]
    predicted: dict[str, Floats] = {
        **{str(method): one.throughput for method, one in by.items()},
        "SLOMO": target.slomo.predict(query.columns, solo),
    }
    errors = {method: np.abs(values / wanted - 1) for method, values in predicted.items()}
    return [
        Row(
            target.name,
            beside[row],
            {method: float(values[row]) for method, values in errors.items()},
            bool(found.low[row] <= wanted[row] <= found.high[row]),
            bool(found.outside[row]),
            float(1 - wanted[row] / solo[row]),
        )
        for row in range(len(wanted))
    ]


def summary(name: str, some: Sequence[Row]) -> figures.Row:
    """Return the table row `name` with the mean errors of some predictions."""
    ours = np.array([row.errors["slowpath"] for row in some])
    found: figures.Row = {"name": name, "rows": len(some)}
    found["drop"] = 100 * float(np.mean([row.drop for row in some]))
    for method in METHODS:
        found[method] = 100 * float(np.mean([row.errors[method] for row in some]))
    found["fair"] = 100 * float(np.mean(ours <= _FAIR))
    found["covered"] = 100 * float(np.mean([row.covered for row in some]))
    found["outside"] = 100 * float(np.mean([row.outside for row in some]))
    return found


COLUMNS = [
    figures.Column("", "name"),
    figures.Column("rows", "rows"),
    figures.Column("drop, %", "drop", 1),
    *(figures.Column(f"{method}: MAPE, %", method, 1) for method in METHODS),
    figures.Column("within 10 %, % of rows", "fair", 0),
    figures.Column("90 % intervals cover, %", "covered", 0),
]
PAPER_COLUMNS = [
    figures.Column("paper: SLOMO", "paper_slomo", 1),
    figures.Column("paper", "paper", 1),
]
