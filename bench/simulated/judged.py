"""Predictions beside what was measured: ours, and the paper's baselines."""

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
WAYS = ("slowpath", "SLOMO", "sum", "min", "constant")
"""What predicts; a constant is the throughput alone, as measured."""
_NEAR, _FAIR = 0.05, 0.10


class Row(NamedTuple):
    """A function in a mix: relative errors."""

    name: str
    beside: int  # others
    off: Mapping[str, float]  # by what predicts
    covered: bool  # by the interval
    outside: bool
    drop: float  # of throughput, beside that alone


def rows(
    known: Mapping[str, Known], asked: Sequence[Mix], truth: Sequence[Sequence[float]]
) -> list[Row]:
    """All predictions, function by function."""
    found = []
    for name, target in known.items():
        for at in range(len(TRAFFIC)):
            there = [
                (mix, throughput[mix.names.index(name)])
                for mix, throughput in zip(asked, truth, strict=True)
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
    """Queries of one function as one."""
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
    """Predictions of one function.

    Args:
        target: the function.
        query: what is predicted.
        solo: throughput alone, as measured, under the traffic of each row.
        wanted: what was measured.
        beside: how many others there are.
    """
    told = query._replace(alone=solo)
    asked: dict[Method, Query] = {"slowpath": query, "sum": told, "min": told}
    by = {
        method: predict_by(method, target.model, one, CONFIDENCE) for method, one in asked.items()
    }
    found = by["slowpath"]
    predicted: dict[str, Floats] = {
        **{str(method): one.throughput for method, one in by.items()},
        "SLOMO": target.slomo.predict(query.columns, solo),
        "constant": solo,
    }
    off = {way: np.abs(values / wanted - 1) for way, values in predicted.items()}
    return [
        Row(
            target.name,
            beside[row],
            {way: float(values[row]) for way, values in off.items()},
            bool(found.low[row] <= wanted[row] <= found.high[row]),
            bool(found.outside[row]),
            float(1 - wanted[row] / solo[row]),
        )
        for row in range(len(wanted))
    ]


def summary(name: str, some: Sequence[Row]) -> figures.Row:
    """A line of a table: of a function, or of whatever the rows have in common."""
    ours = np.array([row.off["slowpath"] for row in some])
    found: figures.Row = {"name": name, "rows": len(some)}
    found["drop"] = 100 * float(np.mean([row.drop for row in some]))
    for way in WAYS:
        found[way] = 100 * float(np.mean([row.off[way] for row in some]))
    found["near"] = 100 * float(np.mean(ours <= _NEAR))
    found["fair"] = 100 * float(np.mean(ours <= _FAIR))
    found["covered"] = 100 * float(np.mean([row.covered for row in some]))
    found["outside"] = 100 * float(np.mean([row.outside for row in some]))
    return found


COLUMNS = [
    figures.Column("", "name"),
    figures.Column("rows", "rows"),
    figures.Column("drop, %", "drop", 1),
    *(figures.Column(f"{way}: MAPE, %", way, 1) for way in WAYS),
    figures.Column("within 5 %, % of rows", "near", 0),
    figures.Column("within 10 %", "fair", 0),
    figures.Column("90 % intervals cover, %", "covered", 0),
]
PAPER_COLUMNS = [
    figures.Column("paper: SLOMO", "paper_slomo", 1),
    figures.Column("paper", "paper", 1),
]
