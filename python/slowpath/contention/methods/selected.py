"""The ways to predict that can be selected: ours, and those that the paper compares with (2.2, 7).

`sum` and `min` are compositions of what our models say of each resource, whatever the execution
pattern; `slomo` knows memory only. None of them tells how sure it is: their intervals are not
numbers. Where the throughput alone was measured under the traffic that is asked about
(`Query.alone`), ours and the compositions begin there, and SLOMO extrapolates to it.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.cli.errors import InputError
from slowpath.contention.composition import COMPOSITIONS, bottleneck
from slowpath.contention.methods.baselines import fit_slomo, throughput_alone
from slowpath.contention.model import FunctionModel
from slowpath.contention.prediction import ACCELERATOR, MEMORY, Predictions, predict
from slowpath.contention.tables.profiles import Query

Floats = NDArray[np.float64]
Method = Literal["slowpath", "sum", "min", "slomo"]

_UNLIKE = 3.0
"""How many times a throughput alone is off that of a profile before somebody should look."""
METHODS: dict[Method, str] = {
    "slowpath": "by the execution pattern",
    "sum": "sum of what each resource takes",
    "min": "least of what each resource leaves",
    "slomo": "SLOMO",
}
"""With what they are."""


class Partial(NamedTuple):
    """What each resource leaves of a function when there is contention for that resource only."""

    parts: Floats  # [resource, row], memory first
    solo: Floats  # without any contention, by row


def predict_by(
    method: Method, model: FunctionModel, query: Query, confidence: float
) -> Predictions:
    """What a query asks for, by a method; `low` and `high` are not numbers for all but ours.

    Raises:
        InputError: when SLOMO is to extrapolate, and no row says from where.
    """
    if method == "slowpath":
        return begun_alone(model, query, predict(model, query, confidence), confidence)
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


def begun_alone(
    model: FunctionModel, query: Query, found: Predictions, confidence: float
) -> Predictions:
    """What our model says, where the throughput alone is known: the share of it that is left.

    What a machine does at another time than when its profile was measured, functions alone show as
    well: other tenants of its caches, another clock. Their share beside others is left by that. Of
    a pipeline, what was measured is the stage that limits it alone; the other is no slower than
    that, and else as it is. Intervals keep their width as a share, which has what the throughput
    alone is uncertain by in it and so is wider than it need be. Nothing is above the throughput
    alone.
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


def contradicted(
    model: FunctionModel, query: Query, found: Predictions, confidence: float
) -> list[str]:
    """What a throughput alone that is told says against the profile, or misses there.

    `found` is what was predicted of the query.
    """
    if query.alone is None:
        return []
    notes = []
    if throughput_alone(model.memory) is None:
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
    """The same traffic without others."""
    return query.without_clients()._replace(columns=model.without_competitors(query.columns))


def partial(model: FunctionModel, query: Query, whole: Predictions, confidence: float) -> Partial:
    """What each resource leaves; `whole` is what our model says of the query.

    Of a pipeline this is what its stages let through. Of run-to-completion, each resource is asked
    about without the contention of the other.
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
    slomo = fit_slomo(model.memory, throughput_alone(model.memory))
    if query.alone is not None and slomo.solo is None:
        reason = "has no row without competitors, whose throughput SLOMO would extrapolate from"
        raise InputError(model.memory.origin.files[0], reason)
    throughput = slomo.predict(query.columns, query.alone)
    nothing = np.full(len(throughput), np.nan)
    outside = model.range.outside(query.columns)
    names = [MEMORY] * len(throughput)
    return Predictions(throughput, nothing, nothing, names, outside, throughput, None)
