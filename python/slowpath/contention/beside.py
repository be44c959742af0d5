"""A query of one row: a function beside others, all under the same traffic."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from slowpath.cli.errors import InputError
from slowpath.contention.accelerator.round_robin import throughputs
from slowpath.contention.accelerator.service import RequestTime
from slowpath.contention.competitors import contention_at, together
from slowpath.contention.model import FunctionModel
from slowpath.contention.tables.profiles import Clients, OwnContention, Query

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
