"""How much wider intervals have to be beside clients of the accelerator, by mixes of the profile.

Intervals of the memory stage are calibrated on rows without any client, and a line through
request times tells nothing of waiting. Mixes with clients, each predicted by models that have not
seen it, show how far off what is composed is, in units of what its interval would be; the quantile
of that is by how much all of these are wider (Papadopoulos, Proedrou, Vovk and Gammerman,
"Inductive confidence machines for regression", ECML 2002, with normalised residuals).
"""

import math

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.model import FunctionModel
from slowpath.contention.prediction import Predictions, predict
from slowpath.contention.tables.columns import TRAFFIC_NAMES
from slowpath.contention.tables.profiles import Mixes
from slowpath.contention.waits import co_runs_of, waits_by

Floats = NDArray[np.float64]

_CONFIDENCE = 0.9
_FEWEST = 5
"""Fewer mixes tell nothing."""
_FOLDS = 5
_NARROWEST = 1e-3
"""Half an interval, as a logarithm, at least: nothing can be in units of one without width."""
_UNSEEN = -1


def widening(model: FunctionModel, mixes: Mixes) -> float:
    """By how much intervals are wider beside clients; 1 where too few mixes have any.

    Args:
        model: of the function, with the execution pattern that is taken.
        mixes: all that were measured with it.
    """
    there = mixes.queued > 0
    if model.request_time is None or np.count_nonzero(there) < _FEWEST:
        return 1.0
    plain = model._replace(widening=1.0)
    asked = mixes.where(there)
    usual, middle = _predicted(plain, asked), _held_out(plain, mixes)[there]
    off = np.log(asked.throughput / middle)
    down, up = np.log(usual.throughput / usual.low), np.log(usual.high / usual.throughput)
    units = np.sort(np.abs(off) / np.maximum(np.where(off < 0, down, up), _NARROWEST))
    rank = math.ceil(_CONFIDENCE * (len(units) + 1))
    if rank > len(units):  # too few to tell: as wide as the farthest asks for, and never narrower
        return max(1.0, float(units[-1]))
    return float(units[rank - 1])


def _held_out(model: FunctionModel, mixes: Mixes) -> Floats:
    """The throughput of each mix by models that have seen neither its competitors nor its wait."""
    stages, found = _stages(model, mixes), np.ones(len(mixes.rows))
    part = np.random.default_rng(0).permutation(len(mixes.rows)) % _FOLDS
    for one in range(_FOLDS):
        waits = model.waits
        if waits is not None:
            runs = co_runs_of(mixes.where(part != one))
            waits = None if runs is None else waits_by(runs)
        for stage in np.unique(stages[part == one]):
            rows = (part == one) & (stages == stage)
            kept = model.stage if stage == _UNSEEN else model.intervals.stages[stage]
            blind = model._replace(stage=kept, waits=waits)
            found[rows] = _predicted(blind, mixes.where(rows)).throughput
    return found


def _stages(model: FunctionModel, mixes: Mixes) -> NDArray[np.intp]:
    """The stage that has not seen the competitors of a mix; `_UNSEEN` where none has seen them."""
    names = [name for name in model.memory.columns if name not in TRAFFIC_NAMES]
    known = np.column_stack([model.memory.columns[name] for name in names])
    asked = np.column_stack([mixes.columns[name] for name in names])
    same = (asked[:, None] == known[None]).all(axis=2)
    return np.where(same.any(axis=1), model.intervals.fold[same.argmax(axis=1)], _UNSEEN)


def _predicted(model: FunctionModel, mixes: Mixes) -> Predictions:
    return predict(model, mixes.query, _CONFIDENCE)
