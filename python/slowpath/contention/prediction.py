"""Predicted throughput by resource, with intervals and bottleneck.

It is detected from mixes with competitors for memory and for the accelerator at once (paper, 4.2).
Each pattern says what they come to, by models of the single resources, as a share of the
throughput alone that was measured beside the mix; `detection.py` compares how far off both are.
"""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.accelerator.round_robin import throughputs
from slowpath.contention.accelerator.service import RequestTime
from slowpath.contention.accelerator.waiting import waits_in
from slowpath.contention.composition import Pattern, contention_at, together
from slowpath.contention.execution_pattern import Detected, Reason, better_of
from slowpath.contention.memory.intervals import TOGETHER
from slowpath.contention.model import FunctionModel
from slowpath.contention.tables.columns import TRAFFIC_NAMES
from slowpath.contention.tables.profiles import Clients, Mixes, OwnContention, Query
from slowpath.core.errors import InputError

Floats = NDArray[np.float64]

MEMORY = "memory"
ACCELERATOR = "regex"
_LEAST = 1e-300
"""Times are above zero, whatever is taken from them."""
ACCELERATOR_SPREAD = 0.0163
"""Standard deviation of relative errors of the accelerator's model where rows do not tell it: that
of errors of 1.3 % on average (paper, 4.1.1 and appendix A)."""


class Predictions(NamedTuple):
    """Rows, in the unit of the profile's throughput."""

    throughput: Floats
    low: Floats
    high: Floats
    bottleneck: list[str]
    outside: list[list[str]]  # by row, what is beyond the training rows
    memory: Floats  # throughput if nothing but memory limited it
    accelerator: Floats | None  # and if nothing but the accelerator did
    alone: Floats | None = None  # throughput without others, where that was predicted on the way


def predict(model: FunctionModel, query: Query, confidence: float) -> Predictions:
    """What a query asks for."""
    found = _composed(model, query, confidence)
    if query.queued is None or model.widening == 1:
        return found
    widening = np.where(query.queued > 0, model.widening, 1.0)
    return found._replace(
        low=found.throughput * (found.low / found.throughput) ** widening,
        high=found.throughput * (found.high / found.throughput) ** widening,
    )


def _composed(model: FunctionModel, query: Query, confidence: float) -> Predictions:
    """The same with intervals as the stages have them."""
    low, middle, high, outside = _memory(model, query.columns, confidence)
    request_time = model.request_time
    if request_time is None or query.mtbr is None or query.queued is None:
        names = [MEMORY] * len(middle)
        return Predictions(middle, low, high, names, outside, middle, None)
    # A queue of the function is served once a round, in which each queue of others is, too.
    size = query.columns["packet_size_bytes"]
    own = request_time.at(query.mtbr, size)
    time = own + query.queued / model.queues
    spread = request_time.spread or ACCELERATOR_SPREAD
    margin = spread * NormalDist().inv_cdf((1 + confidence) / 2)
    memory = _Ends(low, middle, high)
    if model.pattern == "run-to-completion":
        # Memory rows have the accelerator's time at their own match ratio, with nobody else there.
        usual = request_time.at(np.array(model.memory.origin.mtbr or 0.0), size)
        if model.waits is not None:
            nobody = model.stage.log_throughput(model.without_competitors(query.columns))
            alone = np.maximum(np.exp(-nobody) + own - usual, _LEAST)
            time = own + waits_in(model.waits, query, alone, own) / model.queues
        _mark(outside, request_time.outside(query.mtbr))
        return _added(model, query.columns, memory, (time - usual, margin), outside)
    served = 1 / np.maximum(time, _LEAST)
    _mark(outside, request_time.outside(query.mtbr) & (served < high))
    stages = np.array([middle, served])
    throughput = stages.min(axis=0)
    return Predictions(
        throughput,
        np.minimum(low, served * np.exp(-margin)),
        np.maximum(np.minimum(high, served * np.exp(margin)), throughput),
        [(MEMORY, ACCELERATOR)[at] for at in stages.argmin(axis=0)],
        outside,
        middle,
        served,
    )


def _mark(outside: list[list[str]], rows: NDArray[np.bool_]) -> None:
    """Names the match ratio where it is outside, and may decide."""
    for row in np.flatnonzero(rows):
        outside[row] = [*(one for one in outside[row] if one != TOGETHER), "mtbr"]


class _Ends(NamedTuple):
    """What the memory stage lets through."""

    low: Floats
    middle: Floats
    high: Floats


def _added(
    model: FunctionModel,
    columns: Mapping[str, Floats],
    memory: _Ends,
    added: tuple[Floats, float],
    outside: list[list[str]],
) -> Predictions:
    """Run-to-completion (Eq. 4): each resource adds its time to that of a packet.

    `added` is what the accelerator adds to what memory rows contain, with its margin.
    """
    wait, margin = added
    alone = np.exp(model.stage.log_throughput(model.without_competitors(columns)))
    by_memory = 1 / memory.middle - 1 / alone
    served = 1 / np.maximum(1 / alone + wait, _LEAST)
    return Predictions(
        1 / np.maximum(1 / memory.middle + wait, _LEAST),
        1 / np.maximum(1 / memory.low + wait * np.exp(margin * np.sign(wait)), _LEAST),
        1 / np.maximum(1 / memory.high + wait * np.exp(-margin * np.sign(wait)), _LEAST),
        [ACCELERATOR if slower else MEMORY for slower in wait > by_memory],
        outside,
        memory.middle,
        served,
    )


def _memory(
    model: FunctionModel, columns: Mapping[str, Floats], confidence: float
) -> tuple[Floats, Floats, Floats, list[list[str]]]:
    """Ends and middle of the memory stage, and what is outside."""
    middle = model.stage.log_throughput(columns)
    low, high = model.intervals.interval(columns, confidence)
    outside = model.range.outside(columns)
    beyond = np.array([bool(one) for one in outside], dtype=bool)
    margin = model.margin_beyond(confidence)
    low = np.where(beyond, np.minimum(low, middle - margin), np.minimum(low, middle))
    high = np.where(beyond, np.maximum(high, middle + margin), np.maximum(high, middle))
    return np.exp(low), np.exp(middle), np.exp(high), outside


Named = tuple[str, FunctionModel]
"""A model, and its file as the user named it."""


def query_beside(
    target: Named, others: Sequence[Named], traffic: tuple[float, float, float | None]
) -> Query:
    """What to predict of `target`: the contention of the others together.

    The others send requests to the accelerator as fast as their own memory stages let them, beside
    everybody else; what they do not take of it is left to the target.

    Raises:
        InputError: when a competitor's own contention is not known, or it is of another device.
    """
    file, model = target
    flows, size, mtbr = traffic
    names = [
        name for name in model.memory.columns if name not in ("flow_count", "packet_size_bytes")
    ]
    parts = []
    for other_file, other in others:
        own_contention = contention_of(other, other_file)
        check_together(file, model, other_file, other)
        parts.append(contention_at(own_contention, flows, size))
    all_together = together(parts, names)
    columns = _columns(flows, size, all_together)
    if model.request_time is None or mtbr is None:
        return Query(file, (model.name,), columns, None, None)
    users = [
        (at, other, other.request_time)
        for at, (_, other) in enumerate(others)
        if other.request_time is not None
    ]
    clients = [(model.queues, model.request_time, np.inf)]
    if users:
        parts.append(contention_at(contention_of(model, file), flows, size))
    for at, other, time in users:
        beside = together([*parts[:at], *parts[at + 1 :]], names)
        clients.append((other.queues, time, _rate(other, _columns(flows, size, beside))))
    queued, them = _queued(clients, mtbr, size)
    asked = Query(file, (model.name,), columns, np.array([mtbr]), np.array([queued]))
    return asked._replace(clients=them if users else None)


def check_together(file: str, model: FunctionModel, other_file: str, other: FunctionModel) -> None:
    """Finds out whether two models are of one device, and tell contention in the same columns.

    Raises:
        InputError: when they do not.
    """
    one, two = model.memory.origin, other.memory.origin
    if None not in (one.device, two.device) and one.device != two.device:
        raise InputError(other_file, f"is of device {two.device!r}; {file} is of {one.device!r}")
    if differ := other.memory.columns.keys() ^ model.memory.columns.keys():
        reason = f"has other columns of contention than {file}: {', '.join(sorted(differ))}"
        raise InputError(other_file, reason)
    # Request times of one accelerator are added up.
    both = model.request_time is not None and other.request_time is not None
    if both and None not in (one.unit, two.unit) and one.unit != two.unit:
        raise InputError(
            other_file, f"has throughput in {two.unit!r}; {file} has it in {one.unit!r}"
        )


def contention_of(model: FunctionModel, file: str) -> OwnContention:
    """What a function does to others.

    Raises:
        InputError: when its model does not say.
    """
    if model.contention is None:
        reason = "does not say what it does to others: train it with a table of its own counters"
        raise InputError(file, reason)
    if missing := set(model.memory.columns) - set(model.contention.columns):
        reason = f"{', '.join(sorted(missing))}, which its memory rows have"
        raise InputError(file, f"does not say of what it does to others: {reason}")
    return model.contention


def _columns(flows: float, size: float, contention: Mapping[str, float]) -> dict[str, Floats]:
    """One row."""
    row = {"flow_count": flows, "packet_size_bytes": size, **contention}
    return {name: np.array([value]) for name, value in row.items()}


def _rate(model: FunctionModel, columns: Mapping[str, Floats]) -> float:
    """What the memory stage lets through."""
    return float(np.exp(model.stage.log_throughput(columns))[0])


def _queued(
    clients: Sequence[tuple[int, RequestTime, float]], mtbr: float, size: float
) -> tuple[float, Clients]:
    """Time that the others take of the accelerator for each request of a queue of the first.

    And the others, as one row.
    """
    queues = np.array([float(count) for count, _, _ in clients])
    times = np.array([float(time.at(np.array(mtbr), np.array(size))) for _, time, _ in clients])
    rates = np.array([rate for _, _, rate in clients])
    served = throughputs(queues, times, rates)[0]
    them = Clients(*(one[None, 1:] for one in (queues, times, rates)))
    return float(max(1 / served - times[0], 0.0) * queues[0]), them


USUAL: Pattern = "pipeline"
"""What is assumed where nothing tells."""
_CONFIDENCE = 0.9
"""Of intervals, at which nobody looks here."""


def detected(model: FunctionModel, mixes: Mixes) -> Detected | None:
    """The pattern that mixes with competitors for both resources have.

    None where there is no such mix, or the model does not know both resources, or the match ratio
    of its memory rows, without which it cannot tell what run-to-completion would do.
    """
    contention = [values for name, values in mixes.columns.items() if name not in TRAFFIC_NAMES]
    both = mixes.where(np.any(contention, axis=0) & (mixes.queued > 0))
    if model.request_time is None or model.memory.origin.mtbr is None or not both.rows:
        return None
    pipeline = model._replace(pattern="pipeline")
    completion = model._replace(pattern="run-to-completion")
    return better_of(_off(pipeline, both), _off(completion, both))


def _off(model: FunctionModel, mixes: Mixes) -> Floats:
    """How far a model is off in mixes."""
    query = mixes.query
    nobody = query.without_clients()._replace(columns=model.without_competitors(mixes.columns))
    beside, alone = (predict(model, one, _CONFIDENCE).throughput for one in (query, nobody))
    return np.asarray(np.abs(beside / alone * mixes.alone / mixes.throughput - 1))


def decided(
    given: Pattern | None, declared: Pattern | None, found: Detected | None
) -> tuple[Pattern, Reason]:
    """The pattern that is taken, and why: what is given, detected surely, declared, or usual."""
    if given is not None:
        return given, Reason("given", declared, found)
    if found is not None and found.pattern is not None:
        return found.pattern, Reason("detected", declared, found)
    if declared is not None:
        return declared, Reason("declared", declared, found)
    return USUAL, Reason("assumed", declared, found)
