"""Prediction methods: ours and published baselines; calibration of intervals.

SLOMO (Manousis et al., SIGCOMM 2020) learns throughput from the competitors' counters under one
traffic. For other traffic it extrapolates from the function's solo throughput under that traffic
(its section 6; compared with in 7.1 of the paper). In our reading, the curve keeps its shape and
starts at the new solo throughput. Memory is the only resource that SLOMO models.

`sum` and `min` compose our models of the single resources, for any execution pattern. The baselines
have no intervals: their ends are NaN. If the query has a measured solo throughput (`Query.alone`),
our method and the compositions start from it, and SLOMO extrapolates to it.

Intervals of the memory stage are calibrated on rows without clients of the accelerator, and the
line through request times has no information about waiting. Mixes with such clients calibrate the
composed predictions. Models that have not seen the mix predict it. The error is divided by the
interval's half width. A quantile of these ratios is the factor that widens all intervals beside
clients (Papadopoulos, Proedrou, Vovk and Gammerman, "Inductive confidence machines for regression",
ECML 2002, with normalised residuals).
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from slowpath.contention.accelerators import co_runs_of, waits_by
from slowpath.contention.columns import TRAFFIC_NAMES, MemoryProfile, Mixes, Query
from slowpath.contention.composition import COMPOSITIONS, bottleneck
from slowpath.contention.memory.features import Columns
from slowpath.contention.memory.recipes import RECIPES, MemoryStage, fit_stage
from slowpath.contention.model import FunctionModel, rows_of
from slowpath.contention.prediction import ACCELERATOR, MEMORY, Predictions, predict
from slowpath.core.arrays import Floats, Indices
from slowpath.core.errors import InputError


class Slomo(NamedTuple):
    """Gradient-boosted trees on counters, trained under one traffic."""

    stage: MemoryStage
    solo: float | None  # solo throughput under the training traffic

    def predict(self, columns: Columns, solo: Floats | None = None) -> Floats:
        """Return the throughput, extrapolated to other traffic if its `solo` throughput is given.

        Raises:
            ValueError: if `solo` is given, but the one under the training traffic is unknown.
        """
        predicted = np.exp(self.stage.log_throughput(columns))
        if solo is None:
            return np.asarray(predicted)
        if self.solo is None:
            raise ValueError("the throughput alone under the traffic of the training is not known")
        return np.asarray(predicted * solo / self.solo)


def fit_slomo(profile: MemoryProfile, solo: float | None = None) -> Slomo:
    """Train SLOMO on rows, which should have the same traffic."""
    return Slomo(fit_stage(RECIPES["slomo"], rows_of(profile)), solo)


def solo_throughput(profile: MemoryProfile) -> float | None:
    """Return the median throughput of rows without competitors; None without such rows."""
    contention = [values for name, values in profile.columns.items() if name not in TRAFFIC_NAMES]
    without = ~np.any(contention, axis=0)
    return float(np.median(profile.throughput[without])) if without.any() else None


Method = Literal["slowpath", "sum", "min", "slomo"]

_UNLIKE = 3.0
"""Factor between given and profiled solo throughput above which a note is printed."""
METHODS: dict[Method, str] = {
    "slowpath": "by the execution pattern",
    "sum": "sum of what each resource takes",
    "min": "least of what each resource leaves",
    "slomo": "SLOMO",
}
"""Descriptions of the methods."""


class Partial(NamedTuple):
    """Partial throughputs: with contention for one resource only."""

    parts: Floats  # partial throughputs `[resource, row]`, memory first
    solo: Floats  # throughput without contention, by row


def predict_by(
    method: Method, model: FunctionModel, query: Query, confidence: float
) -> Predictions:
    """Predict a query by a method; the baselines return NaN as `low` and `high`.

    Raises:
        InputError: if SLOMO has to extrapolate, but the profile has no row without competitors.
    """
    if method == "slowpath":
        return scale_to_solo(model, query, predict(model, query, confidence), confidence)
    if method == "slomo":
        return _slomo(model, query)
    whole = predict(model, query, confidence)
    parts, solo = partial(model, query, whole, confidence)
    throughput = COMPOSITIONS[method](parts, solo)
    nothing = np.full(len(throughput), np.nan)
    return Predictions(
        throughput,
        nothing,
        nothing,
        [(MEMORY, ACCELERATOR)[at] for at in bottleneck(parts)],
        whole.outside,
        parts[0],
        parts[1] if len(parts) > 1 else None,
    )


def scale_to_solo(
    model: FunctionModel, query: Query, found: Predictions, confidence: float
) -> Predictions:
    """Scale our predictions to the measured solo throughput, if the query has it.

    Changes of the machine since the profile, such as other tenants of its caches or another clock,
    also affect functions that run alone. The predicted share of the solo throughput remains valid.
    In a pipeline, the measured solo throughput is that of the stage that limits the function alone.
    The other stage is at least as fast as that, and otherwise as predicted. Intervals keep their
    relative width. This width includes the uncertainty of the solo throughput, so it is wider than
    necessary. No prediction exceeds the measured solo throughput.
    """
    if query.alone is None:
        return found
    alone = predict(model, _nobody(model, query), confidence)
    memory, accelerator, names = found.memory, found.accelerator, found.bottleneck
    by = query.alone / alone.throughput
    throughput = found.throughput * by
    if accelerator is None or alone.accelerator is None:
        memory = memory * by
    elif model.pattern == "pipeline":
        limits = np.array([name == ACCELERATOR for name in alone.bottleneck])
        headers, requests = query.alone / alone.memory, query.alone / alone.accelerator
        memory = memory * np.where(limits, np.maximum(headers, 1.0), headers)
        accelerator = accelerator * np.where(limits, requests, np.maximum(requests, 1.0))
        throughput = np.minimum(memory, accelerator)
        names = [(MEMORY, ACCELERATOR)[int(one)] for one in accelerator < memory]
    else:
        memory, accelerator = memory * by, accelerator * by
    moved = throughput / found.throughput
    return found._replace(
        throughput=np.minimum(throughput, query.alone),
        low=np.minimum(found.low * moved, query.alone),
        high=found.high * moved,
        bottleneck=names,
        memory=memory,
        accelerator=accelerator,
        alone=alone.throughput,
    )


def solo_notes(
    model: FunctionModel, query: Query, found: Predictions, confidence: float
) -> list[str]:
    """Return notes about contradictions between the given solo throughput and the profile.

    `found` are the predictions for the query. Another note names a profile without solo rows.
    """
    if query.alone is None:
        return []
    notes = []
    if solo_throughput(model.memory) is None:
        notes.append(
            "the profile has no row without competitors, so the least contention that it has "
            "counts as none, and predictions from a throughput alone may be too high"
        )
    usual = found.alone
    if usual is None:
        usual = predict(model, _nobody(model, query), confidence).throughput
    by = query.alone / usual
    if ((by > _UNLIKE) | (by < 1 / _UNLIKE)).any():
        notes.append(
            f"the throughput alone is more than {_UNLIKE:g} times off what the profile has: "
            "another unit, or another machine?"
        )
    return notes


def _nobody(model: FunctionModel, query: Query) -> Query:
    """Return the same traffic without competitors."""
    return query.without_clients()._replace(columns=model.without_competitors(query.columns))


def partial(model: FunctionModel, query: Query, whole: Predictions, confidence: float) -> Partial:
    """Return the partial throughputs; `whole` is our prediction for the query.

    In a pipeline, these are the throughputs of the stages. In run-to-completion, each resource is
    predicted without the contention for the other one.
    """
    without, nobody = query.without_clients(), _nobody(model, query)
    solo = query.alone
    if solo is None:
        solo = predict(model, nobody, confidence).throughput
    if whole.accelerator is None:
        parts = [whole.memory]
    elif model.pattern == "pipeline":
        parts = [whole.memory, whole.accelerator]
    else:
        asked = (without, query._replace(columns=nobody.columns))
        parts = [predict(model, one, confidence).throughput for one in asked]
    return Partial(np.minimum(np.array(parts), solo), solo)


def _slomo(model: FunctionModel, query: Query) -> Predictions:
    slomo = fit_slomo(model.memory, solo_throughput(model.memory))
    if query.alone is not None and slomo.solo is None:
        reason = "has no row without competitors, whose throughput SLOMO would extrapolate from"
        raise InputError(model.memory.origin.files[0], reason)
    throughput = slomo.predict(query.columns, query.alone)
    nothing = np.full(len(throughput), np.nan)
    outside = model.range.outside(query.columns)
    names = [MEMORY] * len(throughput)
    return Predictions(throughput, nothing, nothing, names, outside, throughput, None)


_CONFIDENCE = 0.9
_FEWEST = 5
"""Least number of mixes for a calibration."""
_FOLDS = 5
_NARROWEST = 1e-3
"""Least half width of an interval, as a logarithm, to avoid a division by zero."""
_UNSEEN = -1


def widening(model: FunctionModel, mixes: Mixes) -> float:
    """Return the factor on interval widths beside clients; 1 with too few mixes with clients.

    Args:
        model: model of the function, with the chosen execution pattern.
        mixes: all measured mixes of the function.
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
    if rank > len(units):  # too few for the quantile: cover the farthest, never narrow
        return max(1.0, float(units[-1]))
    return float(units[rank - 1])


def _held_out(model: FunctionModel, mixes: Mixes) -> Floats:
    """Predict each mix by models that have seen neither its competitors nor its wait."""
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


def _stages(model: FunctionModel, mixes: Mixes) -> Indices:
    """Return the fold's stage that has not seen the competitors of a mix; `_UNSEEN` if none has."""
    names = [name for name in model.memory.columns if name not in TRAFFIC_NAMES]
    known = np.column_stack([model.memory.columns[name] for name in names])
    asked = np.column_stack([mixes.columns[name] for name in names])
    same = (asked[:, None] == known[None]).all(axis=2)
    return np.where(same.any(axis=1), model.intervals.fold[same.argmax(axis=1)], _UNSEEN)


def _predicted(model: FunctionModel, mixes: Mixes) -> Predictions:
    return predict(model, mixes.query, _CONFIDENCE)
