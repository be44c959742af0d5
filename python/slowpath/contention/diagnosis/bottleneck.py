"""The bottleneck of a function in settings, with its margin and how sure that is.

Both patterns blame the resource with the least partial throughput: that of the function with
contention for this resource only (`composition.py`). Without it, the function would be as fast as
the next one allows: the next stage of a pipeline; of run-to-completion the time that is left. So
the margin is *next partial throughput / throughput - 1* in both.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from slowpath.contention.diagnosis.documents import Diagnosed, ResourcePart
from slowpath.contention.mixes import Kind, Mixed, predict_mixes
from slowpath.contention.prediction import ACCELERATOR, ACCELERATOR_SPREAD, MEMORY


class Setting(NamedTuple):
    """A function, and who is beside it."""

    target: Kind
    others: tuple[Kind, ...]


def bottlenecks(settings: Sequence[Setting], confidence: float) -> list[str]:
    """The bottleneck in each setting."""
    found = _asked(settings, confidence)
    return [
        ACCELERATOR if found.accelerator[at] < found.memory[at] else MEMORY
        for at in range(len(settings))
    ]


def diagnose(settings: Sequence[Setting], confidence: float) -> list[Diagnosed]:
    """What holds the function back in each setting.

    Raises:
        InputError: when functions do not go together.
    """
    if not settings:
        return []
    whole = _asked(settings, confidence)
    memory = _asked([_without_accelerator(one) for one in settings], confidence)
    return [
        _diagnosed(one.target, at, whole, memory, confidence) for at, one in enumerate(settings)
    ]


def _asked(settings: Sequence[Setting], confidence: float) -> Mixed:
    """Predictions of the functions that are asked about, one for each setting."""
    kinds, mixes, targets = list[Kind](), list[tuple[int, ...]](), list[int]()
    for one in settings:
        targets.append(len(kinds))
        mixes.append(tuple(range(len(kinds), len(kinds) + 1 + len(one.others))))
        kinds += [one.target, *one.others]
    found = predict_mixes(kinds, mixes, confidence)
    asked = np.flatnonzero(np.isin(found.kind, targets))
    return found.where(asked)


def _without_accelerator(setting: Setting) -> Setting:
    return Setting(
        setting.target._replace(mtbr=None),
        tuple(one._replace(mtbr=None) for one in setting.others),
    )


def _diagnosed(target: Kind, at: int, whole: Mixed, memory: Mixed, confidence: float) -> Diagnosed:
    parts = [_part(MEMORY, memory.throughput[at], memory.low[at], memory.high[at])]
    request_time = target.model.request_time
    if target.accelerated and request_time is not None:
        spread = request_time.spread or ACCELERATOR_SPREAD
        factor = float(np.exp(spread * NormalDist().inv_cdf((1 + confidence) / 2)))
        served = whole.accelerator[at]
        parts.append(_part(ACCELERATOR, served, served / factor, served * factor))
    least, *more = sorted(parts, key=lambda one: one["throughput"])
    throughput = float(whole.throughput[at])
    return {
        "throughput": throughput,
        "low": float(whole.low[at]),
        "high": float(whole.high[at]),
        "bottleneck": least["resource"],
        "sure": not more or least["high"] < more[0]["low"],
        "next": more[0]["resource"] if more else None,
        "margin": max(more[0]["throughput"] / throughput - 1, 0.0) if more else None,
        "resources": parts,
        "outside": whole.outside[at],
    }


def _part(resource: str, throughput: float, low: float, high: float) -> ResourcePart:
    return {
        "resource": resource,
        "throughput": float(throughput),
        "low": float(low),
        "high": float(high),
    }
