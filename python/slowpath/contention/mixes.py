"""Predicts the throughput of every function in a mix: a set of functions that share a NIC.

`prediction.query_with_competitors` is for one function, with the same traffic for all. This module
predicts every function of every mix, each under its own traffic. In both modules, the other
functions send requests to the accelerator as fast as contention for memory allows in this mix.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.accelerators import throughputs
from slowpath.contention.columns import TRAFFIC_NAMES, Clients, Query
from slowpath.contention.model import FunctionModel, contention_at, together_by_row
from slowpath.contention.prediction import check_compatible, contention_of, predict
from slowpath.core.arrays import Floats, Indices


class Kind(NamedTuple):
    """A function with its traffic. A mix can contain several instances of it."""

    file: str  # file of the model, as the user named it
    model: FunctionModel
    flows: float
    size: float  # packet size, bytes
    mtbr: float | None  # matches per MB; None without an accelerator

    @property
    def accelerated(self) -> bool:
        """True if the function sends requests to the accelerator."""
        return self.model.request_time is not None and self.mtbr is not None


class MixPredictions(NamedTuple):
    """Predictions for the functions of mixes. Equal functions of a mix share an entry."""

    mix: Indices  # index of the mix
    kind: Indices  # index of the function
    throughput: Floats
    low: Floats
    high: Floats
    memory: Floats  # throughput if memory were the only bottleneck
    accelerator: Floats  # throughput if only the accelerator limited it; infinite if unused
    outside: list[list[str]]  # traffic and contention outside the training range

    def where(self, rows: Indices) -> "MixPredictions":
        """Return only the predictions with the indices `rows`."""
        mix, kind, throughput, low, high, memory, accelerator, outside = self
        return MixPredictions(
            mix[rows],
            kind[rows],
            throughput[rows],
            low[rows],
            high[rows],
            memory[rows],
            accelerator[rows],
            [outside[at] for at in rows],
        )


class _Rows(NamedTuple):
    """Inputs of predictions: one row for each different function of each mix."""

    mixes: Sequence[tuple[int, ...]]
    mix: Indices
    kind: Indices
    columns: dict[str, Floats]


def predict_mixes(
    kinds: Sequence[Kind], mixes: Sequence[tuple[int, ...]], confidence: float
) -> MixPredictions:
    """Predict the throughput of each function in each mix.

    Args:
        kinds: the functions.
        mixes: indices of the functions in each mix; an index can occur several times.
        confidence: coverage of the intervals, as a share.

    Raises:
        InputError: if models do not fit together, or a model does not contain the contention that
            its function causes.
    """
    rows = _rows(kinds, mixes)
    count = len(rows.mix)
    found = [np.empty(count) for _ in range(4)]
    accelerator = np.full(count, np.inf)
    outside: list[list[str]] = [[] for _ in range(count)]
    queued, clients = _queued(kinds, rows)
    for group in _groups(kinds, rows.kind):
        query = _query(kinds, rows, group, queued, clients)
        part = predict(kinds[rows.kind[group[0]]].model, query, confidence)
        for one, values in zip(
            found, (part.throughput, part.low, part.high, part.memory), strict=True
        ):
            one[group] = values
        if part.accelerator is not None:
            accelerator[group] = part.accelerator
        for at, names in zip(group, part.outside, strict=True):
            outside[at] = names
    throughput, low, high, memory = found
    return MixPredictions(rows.mix, rows.kind, throughput, low, high, memory, accelerator, outside)


def _rows(kinds: Sequence[Kind], mixes: Sequence[tuple[int, ...]]) -> _Rows:
    """Return the inputs of predictions: one row for each different function of each mix.

    The columns of a row describe the other functions in its mix as competitors.
    """
    each = [(at, kind) for at, mix in enumerate(mixes) for kind in dict.fromkeys(mix)]
    mix, kind = np.array(each, dtype=np.intp).reshape(-1, 2).T
    counts = np.zeros((len(mixes), len(kinds)))
    for at, one in enumerate(mixes):
        for function in one:
            counts[at, function] += 1
    others = counts[mix]
    others[np.arange(len(kind)), kind] -= 1
    traffic = np.array([(one.flows, one.size) for one in kinds]).reshape(-1, 2)
    columns = {name: traffic[kind, at] for at, name in enumerate(TRAFFIC_NAMES)}
    names = [name for name in kinds[0].model.memory.columns if name not in TRAFFIC_NAMES]
    own = _own(kinds, names, {function for one in mixes if len(one) > 1 for function in one})
    return _Rows(mixes, mix, kind, columns | together_by_row(others, own, names))


def _own(kinds: Sequence[Kind], names: Sequence[str], needed: set[int]) -> dict[str, Floats]:
    """Return the contention for memory that each function causes, by column (`names`).

    It is zero for functions whose index is not in `needed`, because they always run alone.
    """
    found = {name: np.zeros(len(kinds)) for name in names}
    first = kinds[0]
    for at, one in enumerate(kinds):
        check_compatible(first.file, first.model, one.file, one.model)
        if at not in needed:
            continue
        values = contention_at(contention_of(one.model, one.file), one.flows, one.size)
        for name in names:
            found[name][at] = values[name]
    return found


def _groups(kinds: Sequence[Kind], kind: Indices) -> list[Indices]:
    """Return groups of row indices, so that a group can be predicted at once.

    `kind` has the function of each row. The functions of a group have the same model, and all or
    none of them use the accelerator.
    """
    found = dict[tuple[int, bool], list[int]]()
    for row, at in enumerate(kind):
        one = kinds[at]
        found.setdefault((id(one.model), one.accelerated), []).append(row)
    return [np.array(rows, dtype=np.intp) for rows in found.values()]


def _query(
    kinds: Sequence[Kind], rows: _Rows, group: Indices, queued: Floats, clients: Clients
) -> Query:
    one = kinds[rows.kind[group[0]]]
    mtbr = None
    if one.accelerated:
        mtbr = np.array([kinds[at].mtbr for at in rows.kind[group]], dtype=float)
    return Query(
        one.file,
        tuple(str(at) for at in group),
        {name: values[group] for name, values in rows.columns.items()},
        mtbr,
        queued[group] if one.accelerated else None,
        clients=Clients(*(of[group] for of in clients)) if one.accelerated else None,
    )


def _queued(kinds: Sequence[Kind], rows: _Rows) -> tuple[Floats, Clients]:
    """Return how long the accelerator serves other functions per request, and these functions.

    Both are by row: the request is one of the row's function, and the others are those of its mix.
    The time is 0 if the row's function does not use the accelerator.
    """
    count = len(rows.kind)
    found = np.zeros(count)
    users = [row for row, kind in enumerate(rows.kind) if kinds[kind].accelerated]
    if not users:
        return found, _idle_clients(count, 0)
    rates = _rates(kinds, rows, np.array(users, dtype=np.intp))
    row_of = {(int(rows.mix[at]), int(rows.kind[at])): at for at in users}
    clients = [_clients(kinds, rows, at) for at in users]
    widest = max(map(len, clients))
    queues, times = np.ones((len(users), widest)), np.ones((len(users), widest))
    arriving = np.zeros((len(users), widest))  # padding clients send nothing
    request = [_request_time(one) for one in kinds]
    for row, (at, functions) in enumerate(zip(users, clients, strict=True)):
        for place, kind in enumerate(functions):
            queues[row, place] = kinds[kind].model.queues
            times[row, place] = request[kind]
            arriving[row, place] = rates[row_of[int(rows.mix[at]), kind]]
        arriving[row, 0] = np.inf
    served = throughputs(queues, times, arriving)[:, 0]
    found[users] = np.maximum(1 / served - times[:, 0], 0.0) * queues[:, 0]
    others = _idle_clients(count, widest - 1)
    for values, of_users in zip(others, (queues, times, arriving), strict=True):
        values[users] = of_users[:, 1:]
    return found, others


def _idle_clients(rows: int, clients: int) -> Clients:
    """Return arrays of accelerator clients that send no requests, with axes `[row, client]`."""
    shape = (rows, clients)
    return Clients(np.ones(shape), np.ones(shape), np.zeros(shape))


def _rates(kinds: Sequence[Kind], rows: _Rows, users: Indices) -> Floats:
    """Return the rate of accelerator requests that contention for memory allows, by row.

    The rate is that of the row's function. It is 0 for rows not in `users`.
    """
    rates = np.zeros(len(rows.kind))
    for group in _groups(kinds, rows.kind[users]):
        at = users[group]
        columns = {name: values[at] for name, values in rows.columns.items()}
        stage = kinds[rows.kind[at[0]]].model.stage
        rates[at] = np.exp(stage.log_throughput(columns))
    return rates


def _clients(kinds: Sequence[Kind], rows: _Rows, at: int) -> list[int]:
    """Return the functions in the mix of row `at` that use the accelerator.

    The row's own comes first.
    """
    own = int(rows.kind[at])
    others = [kind for kind in rows.mixes[rows.mix[at]] if kinds[kind].accelerated]
    others.remove(own)
    return [own, *others]


def _request_time(kind: Kind) -> float:
    if kind.model.request_time is None or kind.mtbr is None:
        return 1.0
    return float(kind.model.request_time.at(np.array(kind.mtbr), np.array(kind.size)))
