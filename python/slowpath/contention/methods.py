"""Prediction methods (ours and published baselines), and the calibration of their intervals.

SLOMO (Manousis et al., SIGCOMM 2020) learns throughput from the competitors' counters under one
traffic. For other traffic it extrapolates from the function's solo throughput under that traffic
(its section 6; the paper compares with it in 7.1). In our reading, the curve keeps its shape and
starts at the new solo throughput. Memory is the only resource that SLOMO models.

`sum` and `min` compose our models of the single resources, for any execution pattern. The baselines
have no intervals: their ends are NaN. If the query has a measured solo throughput (`Query.alone`),
our method and the compositions start from it, and SLOMO extrapolates to it.

The memory model's intervals are calibrated on rows without clients of the accelerator, and the line
through request times has no information about waiting. Therefore, mixes with such clients calibrate
the composed predictions. Each mix is predicted by models trained without it. The error is divided
by the half width of the interval. A quantile of these ratios is the factor that widens all
intervals with clients (Papadopoulos, Proedrou, Vovk and Gammerman, "Inductive confidence machines
for regression", ECML 2002, with normalised residuals).
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from slowpath.contention.accelerators import co_runs_of, waits_by
from slowpath.contention.columns import TRAFFIC_NAMES, MemoryProfile, Mixes, Query
from slowpath.contention.memory.features import Columns
from slowpath.contention.memory.recipes import RECIPES, MemoryStage, fit_stage
from slowpath.contention.model import COMPOSITIONS, FunctionModel, bottleneck, rows_of
from slowpath.contention.prediction import (
    ACCELERATOR,
    MEMORY,
    Predictions,
    predict,
    predict_solo,
)
from slowpath.core import codes
from slowpath.core.arrays import Floats, Indices
from slowpath.core.errors import InputError


class Slomo(NamedTuple):
    """The SLOMO baseline: gradient-boosted trees on competitors' counters, for a single traffic."""

    stage: MemoryStage
    solo: float | None  # solo throughput under the training traffic

    def predict(self, columns: Columns, solo: Floats | None = None) -> Floats:
        """Return the predicted throughput for each row of `columns`.

        `solo` is the throughput of the function alone under the traffic of each row. If it is
        given, predictions are scaled to it.

        Raises:
            ValueError: if `solo` is given, but the one under the training traffic is unknown.
        """
        predicted = np.exp(self.stage.log_throughput(columns))
        if solo is None:
            return np.asarray(predicted)
        if self.solo is None:
            raise ValueError("the solo throughput under the training traffic is unknown")
        return np.asarray(predicted * solo / self.solo)


def fit_slomo(profile: MemoryProfile, solo: float | None = None) -> Slomo:
    """Train the SLOMO baseline on measured rows, which should have the same traffic.

    `solo` is the throughput of the function alone under this traffic; None if it is unknown.
    """
    return Slomo(fit_stage(RECIPES["slomo"], rows_of(profile)), solo)


def solo_throughput(profile: MemoryProfile) -> float | None:
    """Return the median throughput of a function alone; None if all rows have competitors."""
    contention = [values for name, values in profile.columns.items() if name not in TRAFFIC_NAMES]
    without = ~np.any(contention, axis=0)
    return float(np.median(profile.throughput[without])) if without.any() else None


Method = Literal["slowpath", "sum", "min", "slomo"]

_MOST_RATIO = 3.0
"""Ratio of given to profiled solo throughput (or its inverse) above which a warning is given."""
METHODS: dict[Method, str] = {
    "slowpath": "by the execution pattern",
    "sum": "sum of the throughput drops of all resources",
    "min": "largest throughput drop of a resource",
    "slomo": "SLOMO",
}
"""Descriptions of the prediction methods, by the name that `--method` uses."""


class Partial(NamedTuple):
    """Throughputs of a function if competitors contend for one resource only, for each resource."""

    parts: Floats  # partial throughputs `[resource, row]`, memory first
    solo: Floats  # throughput without contention, by row


def predict_by(
    method: Method, model: FunctionModel, query: Query, confidence: float
) -> Predictions:
    """Predict throughput for a query by the given method. Intervals of baselines are NaN.

    Raises:
        InputError: if SLOMO has to extrapolate, but the profile has no row without competitors.
    """
    if method == "slowpath":
        found = scale_to_solo(model, query, predict(model, query, confidence), confidence)
        if query.alone is not None:
            return found._replace(solo=query.alone)
        return found._replace(solo=predict_solo(model, query, confidence).throughput)
    if method == "slomo":
        return _slomo(model, query)._replace(solo=query.alone)
    predictions = predict(model, query, confidence)
    parts, solo = partial(model, query, predictions, confidence)
    throughput = COMPOSITIONS[method](parts, solo)
    nothing = np.full(len(throughput), np.nan)
    return Predictions(
        throughput,
        nothing,
        nothing,
        [(MEMORY, ACCELERATOR)[at] for at in bottleneck(parts)],
        predictions.outside,
        parts[0],
        parts[1] if len(parts) > 1 else None,
        solo=solo,
    )


def scale_to_solo(
    model: FunctionModel, query: Query, found: Predictions, confidence: float
) -> Predictions:
    """Scale predictions of our method to the measured solo throughput, if the query has it.

    Changes of the machine since the profile, such as other tenants of its caches or another clock,
    also affect functions that run alone. The predicted share of the solo throughput remains valid.
    In a pipeline, the measured solo throughput is that of the stage that limits the function alone.
    The other stage is at least as fast as that, and otherwise as fast as predicted. Intervals keep
    their relative width. This width includes the uncertainty of the solo throughput, so it is wider
    than necessary. No prediction exceeds the measured solo throughput.
    """
    if query.alone is None:
        return found
    alone = predict_solo(model, query, confidence)
    memory, accelerator, names = found.memory, found.accelerator, found.bottleneck
    factor = query.alone / alone.throughput
    throughput = found.throughput * factor
    if accelerator is None or alone.accelerator is None:
        memory = memory * factor
    elif model.pattern == "pipeline":
        limits = np.array([name == ACCELERATOR for name in alone.bottleneck])
        by_memory, by_accelerator = query.alone / alone.memory, query.alone / alone.accelerator
        memory = memory * np.where(limits, np.maximum(by_memory, 1.0), by_memory)
        accelerator = accelerator * np.where(
            limits, by_accelerator, np.maximum(by_accelerator, 1.0)
        )
        throughput = np.minimum(memory, accelerator)
        names = [(MEMORY, ACCELERATOR)[int(one)] for one in accelerator < memory]
    else:
        memory, accelerator = memory * factor, accelerator * factor
    scale = throughput / found.throughput
    return found._replace(
        throughput=np.minimum(throughput, query.alone),
        low=np.minimum(found.low * scale, query.alone),
        high=found.high * scale,
        bottleneck=names,
        memory=memory,
        accelerator=accelerator,
        alone=alone.throughput,
    )


def solo_warnings(
    model: FunctionModel, query: Query, found: Predictions, confidence: float
) -> list[str]:
    """Return warnings about the query's solo throughput.

    They say that it contradicts the profile, or that the profile cannot verify it. `found` has the
    predictions for the query.
    """
    if query.alone is None:
        return []
    warnings = []
    if solo_throughput(model.memory) is None:
        warnings.append(
            "the profile has no rows without competitors, so that its least contention counts "
            "as none; predictions from a solo throughput may be too high"
        )
    profiled = found.alone
    if profiled is None:
        profiled = predict_solo(model, query, confidence).throughput
    ratio = query.alone / profiled
    if ((ratio > _MOST_RATIO) | (ratio < 1 / _MOST_RATIO)).any():
        warnings.append(
            "the solo throughput differs from the profile by a factor of more than "
            f"{_MOST_RATIO:g}; check its unit and the machine"
        )
    return warnings


def _without_competitors(model: FunctionModel, query: Query) -> Query:
    """Return a copy of a query with the same traffic, but without competitors."""
    return query.without_clients()._replace(columns=model.without_competitors(query.columns))


def partial(model: FunctionModel, query: Query, full: Predictions, confidence: float) -> Partial:
    """Predict the throughput of a function if competitors contend for one resource only.

    The result has one row for each resource. `full` has the predictions with all competitors. In a
    pipeline, the results are the throughputs of the stages. In run-to-completion, each resource is
    predicted without the contention for the other one.
    """
    alone, solo = _without_competitors(model, query), query.alone
    if solo is None:
        solo = predict_solo(model, query, confidence).throughput
    if full.accelerator is None:
        parts = [full.memory]
    elif model.pattern == "pipeline":
        parts = [full.memory, full.accelerator]
    else:
        queries = (query.without_clients(), query._replace(columns=alone.columns))
        parts = [predict(model, one, confidence).throughput for one in queries]
    return Partial(np.minimum(np.array(parts), solo), solo)


def _slomo(model: FunctionModel, query: Query) -> Predictions:
    slomo = fit_slomo(model.memory, solo_throughput(model.memory))
    if query.alone is not None and slomo.solo is None:
        reason = (
            "the table has no row without competitors, which SLOMO needs to extrapolate; "
            "measure one"
        )
        raise InputError(codes.PROFILE_INSUFFICIENT, model.memory.origin.files[0], reason)
    throughput = slomo.predict(query.columns, query.alone)
    nothing = np.full(len(throughput), np.nan)
    outside = model.range.outside(query.columns)
    names = [MEMORY] * len(throughput)
    return Predictions(throughput, nothing, nothing, names, outside, throughput, None)


_CONFIDENCE = 0.9
_FEWEST = 5
"""Minimum number of measured mixes for a calibration of intervals."""
_FOLDS = 5
_NARROWEST = 1e-3
"""Minimum half width of an interval on the logarithmic scale, to avoid a division by zero."""
_UNSEEN = -1


def widening(model: FunctionModel, mixes: Mixes) -> float:
    """Return the factor that widens intervals if other functions use the accelerator, too.

    It is 1 if too few of the measured mixes have such functions.

    Args:
        model: model of the function, with the chosen execution pattern.
        mixes: all measured mixes of the function.
    """
    with_clients = mixes.queued > 0
    if model.request_time is None or np.count_nonzero(with_clients) < _FEWEST:
        return 1.0
    plain = model._replace(widening=1.0)
    measured = mixes.where(with_clients)
    trained, held_out = _predicted(plain, measured), _held_out(plain, mixes)[with_clients]
    errors = np.log(measured.throughput / held_out)
    down = np.log(trained.throughput / trained.low)
    up = np.log(trained.high / trained.throughput)
    ratios = np.sort(np.abs(errors) / np.maximum(np.where(errors < 0, down, up), _NARROWEST))
    rank = math.ceil(_CONFIDENCE * (len(ratios) + 1))
    if rank > len(ratios):  # too few for the quantile: cover the largest error, never narrow
        return max(1.0, float(ratios[-1]))
    return float(ratios[rank - 1])


def _held_out(model: FunctionModel, mixes: Mixes) -> Floats:
    """Predict the throughput of each measured mix with models that were trained without it.

    No training row of the memory model has the competitors of the mix; waiting times are learnt
    from other mixes.
    """
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
            held_out = model._replace(stage=kept, waits=waits)
            found[rows] = _predicted(held_out, mixes.where(rows)).throughput
    return found


def _stages(model: FunctionModel, mixes: Mixes) -> Indices:
    """Return, for each mix, the fold whose memory model was trained without the mix's competitors.

    The result is `_UNSEEN` for a mix whose competitors are in no training row.
    """
    names = [name for name in model.memory.columns if name not in TRAFFIC_NAMES]
    known = np.column_stack([model.memory.columns[name] for name in names])
    measured = np.column_stack([mixes.columns[name] for name in names])
    same = (measured[:, None] == known[None]).all(axis=2)
    return np.where(same.any(axis=1), model.intervals.fold[same.argmax(axis=1)], _UNSEEN)


def _predicted(model: FunctionModel, mixes: Mixes) -> Predictions:
    return predict(model, mixes.query, _CONFIDENCE)
