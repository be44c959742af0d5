"""Predictions of a function's throughput: by resource, composed, with intervals and bottleneck."""

from collections.abc import Mapping
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.ranges import TOGETHER
from slowpath.contention.model import FunctionModel
from slowpath.contention.tables.profiles import Query
from slowpath.contention.waits import waits_in

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
