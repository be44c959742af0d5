"""A query of one row: a function beside others, all under the same traffic."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from slowpath.cli.errors import InputError
from slowpath.contention.accelerator.round_robin import throughputs
from slowpath.contention.competitors import contention_at, together
from slowpath.contention.model import FunctionModel
from slowpath.contention.tables.profiles import Query

Floats = NDArray[np.float64]

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
        _check(file, model, other_file, other)
        assert other.contention is not None
        parts.append(contention_at(other.contention, flows, size))
    all_together = together(parts, names)
    columns = {
        "flow_count": np.array([flows]),
        "packet_size_bytes": np.array([size]),
        **{name: np.array([value]) for name, value in all_together.items()},
    }
    if model.request_time is None or mtbr is None:
        return Query(file, (model.name,), columns, None, None)
    users = [(at, other) for at, (_, other) in enumerate(others) if other.request_time is not None]
    own = _contention_of(model, file, traffic) if users else {}
    rates = [_rate(at, other, parts, own, names, traffic) for at, other in users]
    queued = _queued(model, [other for _, other in users], rates, mtbr)
    return Query(file, (model.name,), columns, np.array([mtbr]), np.array([queued]))


def _check(file: str, model: FunctionModel, other_file: str, other: FunctionModel) -> None:
    if other.contention is None:
        reason = "does not say what it does to others: train it with a table of its own counters"
        raise InputError(other_file, reason)
    one, two = model.memory.origin.device, other.memory.origin.device
    if None not in (one, two) and one != two:
        raise InputError(other_file, f"is of device {two!r}; {file} is of {one!r}")
    if set(other.contention.columns) != set(model.memory.columns):
        raise InputError(other_file, f"has other columns of contention than {file}")


def _contention_of(
    model: FunctionModel, file: str, traffic: tuple[float, float, float | None]
) -> dict[str, float]:
    if model.contention is None:
        reason = "does not say what it does to the others at the accelerator: train it with a table"
        raise InputError(file, f"{reason} of its own counters")
    return contention_at(model.contention, traffic[0], traffic[1])


def _rate(  # noqa: PLR0913, PLR0917 - all of them at once
    at: int,
    other: FunctionModel,
    parts: Sequence[dict[str, float]],
    own: dict[str, float],
    names: Sequence[str],
    traffic: tuple[float, float, float | None],
) -> float:
    """What the memory stage of a competitor lets through beside all others and the target."""
    beside = together([*parts[:at], *parts[at + 1 :], own], names)
    columns = {
        "flow_count": np.array([traffic[0]]),
        "packet_size_bytes": np.array([traffic[1]]),
        **{name: np.array([value]) for name, value in beside.items()},
    }
    return float(np.exp(other.stage.log_throughput(columns))[0])


def _queued(
    model: FunctionModel, users: Sequence[FunctionModel], rates: Sequence[float], mtbr: float
) -> float:
    """Time that others take of the accelerator for each request of a queue of the target."""
    assert model.request_time is not None
    times = [float(model.request_time.at(np.array(mtbr)))]
    for other in users:
        assert other.request_time is not None
        times.append(float(other.request_time.at(np.array(mtbr))))
    queues = np.array([float(one.queues) for one in (model, *users)])
    arriving = np.array([np.inf, *rates])
    served = throughputs(queues, np.array(times), arriving)[0]
    return float(max(1 / served - times[0], 0.0) * model.queues)
