"""Finds the resource that limits a function, and the traffic at which this resource changes.

A function runs as a pipeline or to completion. In both patterns, the bottleneck is the resource
with the least partial throughput: the function's throughput with contention for this resource only
(`model.py`). Without the bottleneck, the next resource limits the function: the next stage of a
pipeline, or the remaining time in run-to-completion. In both patterns, the margin is *next partial
throughput / throughput - 1*.

A sweep determines the bottleneck at the points of a grid. Where two neighbours differ, bisection
locates the change: to one flow or byte, as these are whole numbers, or to 12 digits. Models can
have steps, which rule out faster methods than bisection. For example, flow tables double at powers
of two, and the contention of competitors is that of the nearest measured traffic. The grid has a
point on both sides of each power of two. The sweep misses two changes between the same neighbours.
Along the match ratio there is at most one change: memory does not depend on it, and the
accelerator's throughput falls as it grows.
"""

import math
import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from slowpath.contention.columns import ATTRIBUTES as COLUMNS
from slowpath.contention.columns import TRAFFIC_NAMES, Query
from slowpath.contention.documents import (
    Crossing,
    Diagnosed,
    DiagnosedSweep,
    ResourcePart,
    SweptPoint,
)
from slowpath.contention.mixes import Kind, MixPredictions, predict_mixes
from slowpath.contention.prediction import (
    ACCELERATOR,
    ACCELERATOR_SPREAD,
    MEMORY,
    error_known,
    predict_solo,
)
from slowpath.core.arrays import Floats


class Setting(NamedTuple):
    """A function with its traffic, and the functions that share the NIC with it."""

    target: Kind
    others: tuple[Kind, ...]

    def map(self, change: Callable[[Kind], Kind]) -> "Setting":
        """Return the setting with `change` applied to each of its functions."""
        return Setting(change(self.target), tuple(change(other) for other in self.others))


def bottlenecks(settings: Sequence[Setting], confidence: float) -> list[str]:
    """Return the resource that limits the target function in each setting: accelerator or memory.

    `confidence` is the probability that intervals contain the throughput.
    """
    found = _predict_targets(settings, confidence)
    return [
        ACCELERATOR if found.accelerator[at] < found.memory[at] else MEMORY
        for at in range(len(settings))
    ]


def diagnose(settings: Sequence[Setting], confidence: float) -> list[Diagnosed]:
    """Determine the bottleneck, the next resource and the margin between them in each setting.

    `confidence` is the probability that intervals contain the throughput.

    Raises:
        InputError: if models do not fit together.
    """
    if not settings:
        return []
    full = _predict_targets(settings, confidence)
    without_accelerator = [one.map(lambda kind: kind._replace(mtbr=None)) for one in settings]
    memory = _predict_targets(without_accelerator, confidence)
    solo = _predict_solo(settings, confidence)
    share = np.minimum(full.throughput / solo, 1.0)
    return [
        _diagnosed(one.target, at, full, memory, share=float(share[at]), confidence=confidence)
        for at, one in enumerate(settings)
    ]


def _predict_solo(settings: Sequence[Setting], confidence: float) -> Floats:
    """Predict the throughput of each setting's target function alone, under the same traffic."""
    solo = np.empty(len(settings))
    groups = dict[tuple[int, bool], list[int]]()
    for at, one in enumerate(settings):
        groups.setdefault((id(one.target.model), one.target.accelerated), []).append(at)
    for rows in groups.values():
        targets = [settings[at].target for at in rows]
        model = targets[0].model
        traffic = np.array([(one.flows, one.size) for one in targets]).T
        columns = {name: np.zeros(len(rows)) for name in model.memory.columns}
        columns |= dict(zip(TRAFFIC_NAMES, traffic, strict=True))
        mtbr = queued = None
        if targets[0].accelerated:
            mtbr = np.array([one.mtbr for one in targets], dtype=float)
            queued = np.zeros(len(rows))
        names = tuple(str(at) for at in rows)
        query = Query(targets[0].file, names, columns, mtbr, queued)
        solo[rows] = predict_solo(model, query, confidence).throughput
    return solo


def _predict_targets(settings: Sequence[Setting], confidence: float) -> MixPredictions:
    """Predict the throughput of the target function in each setting, beside the other functions."""
    kinds, mixes, targets = list[Kind](), list[tuple[int, ...]](), list[int]()
    for one in settings:
        targets.append(len(kinds))
        mixes.append(tuple(range(len(kinds), len(kinds) + 1 + len(one.others))))
        kinds += [one.target, *one.others]
    found = predict_mixes(kinds, mixes, confidence)
    return found.where(np.flatnonzero(np.isin(found.kind, targets)))


def _diagnosed(  # noqa: PLR0913 - one caller
    target: Kind,
    at: int,
    full: MixPredictions,
    memory: MixPredictions,
    *,
    share: float,
    confidence: float,
) -> Diagnosed:
    parts = [_part(MEMORY, memory.throughput[at], memory.low[at], memory.high[at])]
    request_time = target.model.request_time
    if target.accelerated and request_time is not None:
        spread = request_time.spread or ACCELERATOR_SPREAD
        factor = float(np.exp(spread * NormalDist().inv_cdf((1 + confidence) / 2)))
        served = full.accelerator[at]
        parts.append(_part(ACCELERATOR, served, served / factor, served * factor))
    least, *larger = sorted(parts, key=lambda one: one["throughput"])
    throughput = float(full.throughput[at])
    low, high = _interval(throughput, float(full.low[at]), float(full.high[at]))
    return {
        "throughput": throughput,
        "low": low,
        "high": high,
        "share_of_solo": share,
        "bottleneck": least["resource"],
        "sure": not larger or _apart(least["high"], larger[0]["low"]),
        "next": larger[0]["resource"] if larger else None,
        "margin": max(larger[0]["throughput"] / throughput - 1, 0.0) if larger else None,
        "resources": parts,
        "outside": full.outside[at],
    }


def _part(resource: str, throughput: float, low: float, high: float) -> ResourcePart:
    ends = _interval(float(throughput), float(low), float(high))
    return {
        "resource": resource,
        "throughput": float(throughput),
        "low": ends[0],
        "high": ends[1],
    }


def _interval(throughput: float, low: float, high: float) -> tuple[float | None, float | None]:
    """Return both ends of an interval.

    None for both if they equal the throughput: unknown error.
    """
    return (low, high) if error_known(throughput, low, high) else (None, None)


def _apart(high: float | None, low: float | None) -> bool:
    """Return true if one interval lies entirely below another.

    `high` is the upper end of the first, `low` the lower end of the second. Unknown ends (None)
    yield false.
    """
    return high is not None and low is not None and high < low


Attribute = Literal["flows", "size", "mtbr"]
ATTRIBUTES: tuple[Attribute, ...] = ("flows", "size", "mtbr")
WHOLE = ("flows", "size")
"""Traffic attributes whose values are integers."""

_WIDE = 20.0
_DIGITS = 1e-12


class Swept(NamedTuple):
    """The traffic attribute that a sweep changes, and its range."""

    attribute: Attribute
    first: float
    last: float  # greater than the first
    points: int  # at least 2


def grid(swept: Swept) -> list[float]:
    """Return the values of a sweep in ascending order, including both ends of its range.

    Values are evenly spaced. If the range of flows is wide, neighbours have a constant ratio
    instead.
    """
    name, first, last, count = swept
    steps = range(count)
    if name == "flows" and last > _WIDE * first:
        found = [first * (last / first) ** (at / (count - 1)) for at in steps]
    else:
        found = [first + (last - first) * at / (count - 1) for at in steps]
    found[-1] = last
    if name in WHOLE:
        found = [float(round(one)) for one in found]
    if name == "flows":
        powers = [2.0**at for at in range(math.ceil(math.log2(last)) + 1)]
        found += [end for one in powers for end in (one - 1, one) if first <= end <= last]
    return sorted({*found})


def with_attribute(setting: Setting, attribute: Attribute, value: float) -> Setting:
    """Return a copy of the setting in which all functions have this value of the attribute."""
    return setting.map(lambda kind: _with(kind, attribute, value))


def _with(kind: Kind, attribute: Attribute, value: float) -> Kind:
    if attribute == "flows":
        return kind._replace(flows=value)
    if attribute == "size":
        return kind._replace(size=value)
    return kind if kind.mtbr is None else kind._replace(mtbr=value)


def sweep(setting: Setting, swept: Swept, confidence: float) -> DiagnosedSweep:
    """Determine the bottleneck for many values of a traffic attribute, and where it changes.

    Raises:
        InputError: if models do not fit together.
    """

    def along(values: Sequence[float]) -> list[Setting]:
        return [with_attribute(setting, swept.attribute, value) for value in values]

    def ask(values: Sequence[float]) -> list[str]:
        return bottlenecks(along(values), confidence)

    values = grid(swept)
    found = diagnose(along(values), confidence)
    names = [one["bottleneck"] for one in found]
    changes = crossings(values, names, ask, whole=swept.attribute in WHOLE)
    new = [one["at"] for one in changes if one["at"] not in values]
    found += diagnose(along(new), confidence)
    points: list[SweptPoint] = [
        {"value": value, "diagnosis": one}
        for value, one in sorted(zip([*values, *new], found, strict=True), key=itemgetter(0))
    ]
    return {"attribute": swept.attribute, "points": points, "crossings": changes}


def crossings(
    values: Sequence[float],
    names: Sequence[str],
    ask: Callable[[Sequence[float]], list[str]],
    *,
    whole: bool,
) -> list[Crossing]:
    """Find the values of a traffic attribute at which the bottleneck changes.

    Args:
        values: sampled values, ascending.
        names: bottleneck at each of these values.
        ask: function that returns the bottlenecks at other values.
        whole: true if the attribute has integer values.
    """
    changes = [at for at in range(1, len(names)) if names[at] != names[at - 1]]
    low = [values[at - 1] for at in changes]
    high = [values[at] for at in changes]
    while True:
        middle = [_between(one, two, whole=whole) for one, two in zip(low, high, strict=True)]
        left = {at: one for at, one in enumerate(middle) if one is not None}
        if not left:
            break
        for (at, value), name in zip(left.items(), ask([*left.values()]), strict=True):
            side = low if name == names[changes[at] - 1] else high
            side[at] = value
    return [
        {"at": value, "before": names[at - 1], "after": names[at]}
        for at, value in zip(changes, high, strict=True)
    ]


def _between(low: float, high: float, *, whole: bool) -> float | None:
    """Return the middle of `low` and `high` for bisection; None if they are close enough.

    `whole` is true if only integers are valid.
    """
    if whole:
        return float((low + high) // 2) if high - low > 1 else None
    if high - low <= _DIGITS * max(abs(low), abs(high)):
        return None
    return low + (high - low) / 2


_QUEUES, _TIME = f"{ACCELERATOR} queues", f"{ACCELERATOR} time"
_CHANGE = re.compile(r"(?P<what>[a-z][a-z ]*?)\s*(?P<how>[x=])\s*(?P<value>[0-9.eE+-]+)")
_WITHOUT = "without "
_MOST_QUEUES = 4096
_MOST_TIMES = 1e6
_WORDS = f"'{_QUEUES} xN', '{_TIME} xN', 'flows xN', 'size =N', 'mtbr =N' or 'without MODEL'"


class ChangeError(ValueError):
    """A hypothetical change is invalid or does not apply to the setting.

    The text has the reason.
    """


class Change(NamedTuple):
    """A hypothetical change of a function's setting, such as a faster accelerator."""

    text: str  # as the user wrote it
    subject: str  # resource or traffic attribute that changes, or `without FILE`
    value: float
    is_factor: bool  # true if the value multiplies the present one


def read_change(text: str) -> Change:
    """Parse the argument of `--what-if`, such as `flows x10`.

    Raises:
        ChangeError: if the text is not a valid change.
    """
    words = " ".join(text.split())
    if words.startswith(_WITHOUT):
        return Change(text, words, 0.0, is_factor=False)
    match = _CHANGE.fullmatch(words)
    if match is None or match["what"] not in (_QUEUES, _TIME, *ATTRIBUTES):
        raise ChangeError(f"{text!r} is not a change; write {_WORDS}")
    try:
        value = float(match["value"])
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf or (value == 0 and match["what"] != "mtbr"):
        raise ChangeError(f"the value {match['value']!r} in {text!r} is not a number above zero")
    if match["what"] == _TIME and match["how"] == "=":
        raise ChangeError(
            f"{text!r} sets a time, but only factors of times are supported; write '{_TIME} x0.5'"
        )
    if match["what"] == _TIME and not 1 / _MOST_TIMES <= value <= _MOST_TIMES:
        raise ChangeError(
            f"the factor {value:g} in {text!r} is not from {1 / _MOST_TIMES:g} to {_MOST_TIMES:g}"
        )
    return Change(text, match["what"], value, match["how"] == "x")


def changed(setting: Setting, change: Change) -> Setting:
    """Return the setting with a hypothetical change applied.

    Raises:
        ChangeError: if the change does not apply to the setting.
    """
    target = setting.target
    if change.subject.startswith(_WITHOUT):
        return _without(setting, change.subject.removeprefix(_WITHOUT))
    if change.subject in ATTRIBUTES:
        return _traffic(setting, change.subject, change)
    if not target.accelerated:
        raise ChangeError(
            f"{change.text!r} cannot be applied, because the model {target.file} has no accelerator"
        )
    if change.subject == _QUEUES:
        queues = change.value * target.model.queues if change.is_factor else change.value
        if not (queues.is_integer() and 1 <= queues <= _MOST_QUEUES):
            raise ChangeError(
                f"{change.text!r} yields {queues:g}, which is not a possible number of queues"
            )
        return setting._replace(
            target=target._replace(model=target.model._replace(queues=int(queues)))
        )
    if target.model.pattern == "run-to-completion":
        reason = "throughputs of run-to-completion functions include the time of requests"
        raise ChangeError(
            f"{change.text!r} cannot be predicted: {reason}; measure the "
            "function with the other accelerator"
        )
    return setting.map(lambda kind: _scale_request_time(kind, change.value))


def _without(setting: Setting, file: str) -> Setting:
    names = [one.file for one in setting.others]
    if file not in names:
        known = ", ".join(names) or "none"
        raise ChangeError(
            f"'{_WITHOUT}{file}' names a model that --with does not list; --with lists: {known}"
        )
    at = names.index(file)
    return setting._replace(others=setting.others[:at] + setting.others[at + 1 :])


def _traffic(setting: Setting, attribute: Attribute, change: Change) -> Setting:
    now = getattr(setting.target, attribute)
    if now is None:
        now = next((one.mtbr for one in setting.others if one.mtbr is not None), None)
    if now is None:
        raise ChangeError(
            f"{change.text!r} cannot be applied, because none of the functions uses an accelerator"
        )
    value = now * change.value if change.is_factor else change.value
    of = COLUMNS[attribute]
    if not of.least <= value <= of.most:
        limits = f"from {of.least:g} to {of.most:g} {of.unit}"
        raise ChangeError(f"{change.text!r} yields {value:g}, which is not {limits}")
    if attribute in WHOLE:
        value = float(round(value))
    return with_attribute(setting, attribute, value)


def _scale_request_time(kind: Kind, factor: float) -> Kind:
    """Return a copy of the function whose accelerator requests take `factor` times as long."""
    time = kind.model.request_time
    if time is None:
        return kind
    return kind._replace(model=kind.model._replace(request_time=time.scaled(factor)))
