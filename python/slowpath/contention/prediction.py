"""Predicts throughput by resource, finds the bottleneck, and detects the execution pattern.

The execution pattern (pipeline or run-to-completion) is detected from mixes with competitors for
memory and for the accelerator at once (Tomur paper, 4.2). For each pattern, models of the single
resources predict these mixes, as a share of the solo throughput measured with each mix.
`model.better_of` compares the errors of both patterns.
"""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from slowpath.contention.accelerators import RequestTime, throughputs, waits_in
from slowpath.contention.columns import TRAFFIC_NAMES, Clients, Mixes, OwnContention, Query
from slowpath.contention.memory.intervals import TOGETHER
from slowpath.contention.model import (
    Detected,
    FunctionModel,
    Pattern,
    Reason,
    better_of,
    contention_at,
    total_contention,
)
from slowpath.core import codes
from slowpath.core.arrays import Floats, Mask
from slowpath.core.errors import InputError

MEMORY = "memory"
ACCELERATOR = "regex"
_LEAST = 1e-300
"""Minimum time of a packet, because times must stay positive after subtractions."""
ACCELERATOR_SPREAD = 0.0163
"""Standard deviation of the relative errors of predicted request times, used if measured request
times have no residuals. It corresponds to the mean error of 1.3 % in the paper (4.1.1 and appendix
A).
"""


class Predictions(NamedTuple):
    """Predicted throughput and interval for each row of a query, in the unit of the profile."""

    throughput: Floats
    low: Floats
    high: Floats
    bottleneck: list[str]
    outside: list[list[str]]  # by row, the columns outside the training range
    memory: Floats  # throughput if memory were the only bottleneck
    accelerator: Floats | None  # throughput if the accelerator were the only bottleneck
    alone: Floats | None = None  # predicted solo throughput; None if the method has none
    solo: Floats | None = None  # solo throughput that shares refer to; None if it is unknown

    @property
    def share(self) -> Floats | None:
        """Throughput as a share of solo throughput, at most 1; None if the latter is unknown."""
        return None if self.solo is None else np.minimum(self.throughput / self.solo, 1.0)


_SAME = 1e-9
"""Relative width below which an interval counts as empty; such widths are rounding errors."""


def error_known(value: float, low: float, high: float) -> bool:
    """Return true if the error of a prediction is known: its interval has a width.

    If all held-out rows are predicted exactly, as in made-up tables, intervals have no width.
    """
    return high - low > _SAME * abs(value)


def predict(model: FunctionModel, query: Query, confidence: float) -> Predictions:
    """Predict the throughput for each row of a query.

    `confidence` is the probability that an interval contains the throughput.
    """
    found = _composed(model, query, confidence)
    if query.queued is None or model.widening == 1:
        return found
    widening = np.where(query.queued > 0, model.widening, 1.0)
    return found._replace(
        low=found.throughput * (found.low / found.throughput) ** widening,
        high=found.throughput * (found.high / found.throughput) ** widening,
    )


def predict_solo(model: FunctionModel, query: Query, confidence: float) -> Predictions:
    """Predict the throughput of the function alone, under the traffic of each row of a query."""
    alone = query.without_clients()._replace(columns=model.without_competitors(query.columns))
    return predict(model, alone, confidence)


def _composed(model: FunctionModel, query: Query, confidence: float) -> Predictions:
    """Predict throughput for the rows of a query, from the models of memory and accelerator.

    Intervals are not yet widened for other clients of the accelerator.
    """
    low, middle, high, outside = _memory(model, query.columns, confidence)
    request_time = model.request_time
    if request_time is None or query.mtbr is None or query.queued is None:
        names = [MEMORY] * len(middle)
        return Predictions(middle, low, high, names, outside, middle, None)
    # Each round serves every queue once: the function's own and those of the others.
    size = query.columns["packet_size_bytes"]
    own = request_time.at(query.mtbr, size)
    time = own + query.queued / model.queues
    spread = request_time.spread or ACCELERATOR_SPREAD
    margin = spread * NormalDist().inv_cdf((1 + confidence) / 2)
    memory = _Ends(low, middle, high)
    if model.pattern == "run-to-completion":
        # Memory rows contain the accelerator's time at their match ratio, without other clients.
        included = request_time.at(np.array(model.memory.origin.mtbr or 0.0), size)
        if model.waits is not None:
            solo = model.stage.log_throughput(model.without_competitors(query.columns))
            alone = np.maximum(np.exp(-solo) + own - included, _LEAST)
            time = own + waits_in(model.waits, query, alone, own) / model.queues
        _mark(outside, request_time.outside(query.mtbr))
        return _added(model, query.columns, memory, (time - included, margin), outside)
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


def _mark(outside: list[list[str]], rows: Mask) -> None:
    """Add `mtbr` to the unusual columns of rows whose match ratio is outside the training range.

    `rows` is a mask of these rows, `outside` has the unusual columns of each row. `mtbr` replaces
    `TOGETHER` (an unusual combination of values).
    """
    for row in np.flatnonzero(rows):
        outside[row] = [*(one for one in outside[row] if one != TOGETHER), "mtbr"]


class _Ends(NamedTuple):
    """Throughput predicted from contention for memory, and both ends of its interval."""

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
    """Predict the throughput of a function that runs to completion (Eq. 4).

    In this pattern, each resource adds time to each packet. `memory` is the throughput with
    contention for memory only. `added` has the accelerator time per packet that memory measurements
    do not contain, and the margin of its logarithm. `outside` has the unusual columns of each row.
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
    """Predict throughput with contention for memory only: low end, middle, high end of intervals.

    The last result has the columns of each row that are outside the training range.
    """
    middle = model.stage.log_throughput(columns)
    low, high = model.intervals.interval(columns, confidence)
    outside = model.range.outside(columns)
    beyond = np.array([bool(one) for one in outside], dtype=bool)
    margin = model.margin_beyond(confidence)
    low = np.where(beyond, np.minimum(low, middle - margin), np.minimum(low, middle))
    high = np.where(beyond, np.maximum(high, middle + margin), np.maximum(high, middle))
    return np.exp(low), np.exp(middle), np.exp(high), outside


NamedModel = tuple[str, FunctionModel]
"""A model with the name of its file, as the user wrote it."""


def query_with_competitors(
    target: NamedModel, others: Sequence[NamedModel], traffic: tuple[float, float, float | None]
) -> Query:
    """Return a query for the model `target` with the contention of all `others` together.

    `traffic` has flows, packet size and match ratio. The competitors send requests to the
    accelerator as fast as contention for memory allows. The target gets the rest of the
    accelerator's time.

    Raises:
        InputError: if the contention that a competitor causes is unknown, or the models are of
            different devices.
    """
    file, model = target
    flows, size, mtbr = traffic
    names = [name for name in model.memory.columns if name not in TRAFFIC_NAMES]
    parts = []
    for other_file, other in others:
        own_contention = contention_of(other, other_file)
        check_compatible(file, model, other_file, other)
        parts.append(contention_at(own_contention, flows, size))
    all_together = total_contention(parts, names)
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
        beside = total_contention([*parts[:at], *parts[at + 1 :]], names)
        clients.append((other.queues, time, _rate(other, _columns(flows, size, beside))))
    queued, other_clients = _queued(clients, mtbr, size)
    query = Query(file, (model.name,), columns, np.array([mtbr]), np.array([queued]))
    return query._replace(clients=other_clients if users else None)


def check_compatible(
    file: str, model: FunctionModel, other_file: str, other: FunctionModel
) -> None:
    """Check that two models are of the same device and have the same columns of contention.

    `file` and `other_file` are their names for the error.

    Raises:
        InputError: if they differ.
    """
    one, two = model.memory.origin, other.memory.origin
    if None not in (one.device, two.device) and one.device != two.device:
        raise InputError(
            codes.MODELS_INCOMPATIBLE,
            other_file,
            f"the model is of the device {two.device!r}, but {file} "
            f"is of the device {one.device!r}",
        )
    if differ := other.memory.columns.keys() ^ model.memory.columns.keys():
        reason = (
            f"this model and {file} use different contention columns: {', '.join(sorted(differ))}"
        )
        raise InputError(codes.MODELS_INCOMPATIBLE, other_file, reason)
    # Request times of one accelerator are added, so they need the same unit.
    both = model.request_time is not None and other.request_time is not None
    if both and None not in (one.unit, two.unit) and one.unit != two.unit:
        raise InputError(
            codes.MODELS_INCOMPATIBLE,
            other_file,
            f"the model has throughput in {two.unit!r}, but {file} in "
            f"{one.unit!r}; train both in one unit",
        )


def contention_of(model: FunctionModel, file: str) -> OwnContention:
    """Return the contention that a function causes for others, from its model.

    `file` is the name of the model for the error.

    Raises:
        InputError: if the model does not contain the contention.
    """
    if model.contention is None:
        reason = (
            "the model lacks the contention that the function causes; train it with a table "
            "of the function's counters"
        )
        raise InputError(codes.MODELS_INCOMPATIBLE, file, reason)
    if missing := set(model.memory.columns) - set(model.contention.columns):
        reason = f"{', '.join(sorted(missing))}, which the model's memory rows have"
        raise InputError(
            codes.MODELS_INCOMPATIBLE,
            file,
            f"the model lacks a part of the contention that the function causes: {reason}",
        )
    return model.contention


def _columns(flows: float, size: float, contention: Mapping[str, float]) -> dict[str, Floats]:
    """Return the columns of a query with one row: flows, packet size, and contention."""
    row = {**dict(zip(TRAFFIC_NAMES, (flows, size), strict=True)), **contention}
    return {name: np.array([value]) for name, value in row.items()}


def _rate(model: FunctionModel, columns: Mapping[str, Floats]) -> float:
    """Return the throughput of a function that only contention for memory limits.

    `columns` has one row.
    """
    return float(np.exp(model.stage.log_throughput(columns))[0])


def _queued(
    clients: Sequence[tuple[int, RequestTime, float]], mtbr: float, size: float
) -> tuple[float, Clients]:
    """Return how long the accelerator serves other clients per request of the first client.

    The second result describes these other clients. The time is the sum over the queues of the
    first client. Each client is given by its number of queues, its request time and its maximum
    rate.
    """
    queues = np.array([float(count) for count, _, _ in clients])
    times = np.array([float(time.at(np.array(mtbr), np.array(size))) for _, time, _ in clients])
    rates = np.array([rate for _, _, rate in clients])
    served = throughputs(queues, times, rates)[0]
    others = Clients(*(one[None, 1:] for one in (queues, times, rates)))
    return float(max(1 / served - times[0], 0.0) * queues[0]), others


DEFAULT_PATTERN: Pattern = "pipeline"
"""Execution pattern of a function if options, mixes and the profile do not determine it."""
_CONFIDENCE = 0.9
"""Confidence of intervals. Any value is right, because the detection of patterns ignores intervals.
"""


def detect_pattern(model: FunctionModel, mixes: Mixes) -> Detected | None:
    """Detect a function's execution pattern from mixes with competitors for both resources.

    Return None without such a mix, or if the model lacks a resource. Also return None if the match
    ratio of its memory rows is unknown, because predictions for run-to-completion need it.
    """
    contention = [values for name, values in mixes.columns.items() if name not in TRAFFIC_NAMES]
    both = mixes.where(np.any(contention, axis=0) & (mixes.queued > 0))
    if model.request_time is None or model.memory.origin.mtbr is None or not both.rows:
        return None
    pipeline = model._replace(pattern="pipeline")
    completion = model._replace(pattern="run-to-completion")
    return better_of(_errors(pipeline, both), _errors(completion, both))


def _errors(model: FunctionModel, mixes: Mixes) -> Floats:
    """Return the absolute relative error of the model's prediction for each measured mix."""
    query = mixes.query
    beside = predict(model, query, _CONFIDENCE).throughput
    solo = predict_solo(model, query, _CONFIDENCE).throughput
    return np.asarray(np.abs(beside / solo * mixes.alone / mixes.throughput - 1))


def choose_pattern(
    given: Pattern | None, declared: Pattern | None, found: Detected | None
) -> tuple[Pattern, Reason]:
    """Return the execution pattern of a function, and the reason for this choice.

    In order of precedence, it is `given` by the user, `found` by detection with high confidence,
    `declared` by the profile, or the default.
    """
    if given is not None:
        return given, Reason("given", declared, found)
    if found is not None and found.pattern is not None:
        return found.pattern, Reason("detected", declared, found)
    if declared is not None:
        return declared, Reason("declared", declared, found)
    return DEFAULT_PATTERN, Reason("assumed", declared, found)
