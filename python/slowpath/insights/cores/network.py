"""Computes the work of functions, and predicts throughput and latency with a queueing network.

A network function is a chain of elements, such as packet filters and hash table lookups. The
published measurements show that a packet's time depends on the amounts of work and on the chain
(docs/explanation/insights-cores.md). The third compute and accelerator blocks have no loop counts
of their own: they use those of the first blocks. After an address rewriter, lookups are cheaper,
because few flows remain. After the average counter, each visited hash table slot costs more.
`tcpdemux` finds its flow in the first slot if `tcpconn` fills the slots.

The measurements also show the shared resources. The internal memory (IMEM) has filter rules and
single records, the external memory (EMEM) has tables of flows. The network line delivers packets.
The interconnect of cores and memories slows down long before any resource is full.

The queue length factor c distinguishes resources that much common work uses. A memory bank serves
requests at a uniform rate, so its queue stays short until it is nearly full. On the interconnect,
each user slightly delays all others.

Published latencies exclude receiving and sending. They are proportional to the time of a packet
without its wait for the line, except for an undocumented factor and a term for each kind of work.
The latency model is linear. It is fitted to relative errors; outliers have little weight.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

import numpy as np

from slowpath.insights import output
from slowpath.insights.cores.functions import ABSENT, COMPUTE, CRC, Array, Functions, flag
from slowpath.insights.cores.queueing import THREADS, Demands, busy, curvature, solve, wait_at

ANY, AVERAGED, REWRITTEN, AS_SENT = "", " averaged", " rewritten", " as sent"
"""States of a chain of elements that change the time of a lookup: any state, after the element
`avgcounter`, after `iprewriter`, or without `iprewriter`."""

LOOKUPS = ("rewriter", "control", "data", "webgen", "demux", "conn", "demux+conn")
"""Names of lookups in hash tables. The elements `iprewriter` and `webgen` have one, `ftpportmapper`
has two. There is one for `tcpdemux` alone, one for `tcpconn` alone, and one for both together."""

LEVELS = (2, 3, 4, 5)


def at_least(lookup: str, state: str, slots: int) -> str:
    """Return the name of one kind of work: a lookup that may visit at least `slots` slots.

    The slots belong to a hash table. `state` describes the elements before the lookup, such as "
    rewritten" after an address rewriter.
    """
    return f"{lookup}{state} slots>={slots}"


def works(functions: Functions) -> Mapping[str, Array]:
    """Return how much of each kind of work a packet needs, by name of the kind.

    Examples are filter rules and lookups. Each array has one amount for each function.
    """
    found = {"packet": np.ones(functions.size)}
    for at in ("1", "2"):
        present = functions.has(f"ipfilter{at}")
        found |= {
            f"filter{at}": present,
            f"rules{at}": present * functions.columns[f"ipfilter{at}_rules"],
        }
    found["rules"] = found["rules1"] + found["rules2"]
    found |= {
        "average": functions.has("avgcounter"),
        "counter": functions.has("counter"),
        "encap": functions.has("udpipencap"),
    }
    found["blocks"], found["rounds"] = _blocks(functions, COMPUTE, "compute")
    found["calls"], found["crcs"] = _blocks(functions, CRC, "accel")
    for name, (present, slots) in _lookups(functions).items():
        found |= _states(name, present, slots, functions)
    return found


def _blocks(functions: Functions, known: Mapping[str, str], kind: str) -> tuple[Array, Array]:
    """Count the compute or accelerator blocks of each chain, and sum their loop counts.

    `known` maps the name of each measured block to the column with its loop count. `kind` is the
    name prefix of the blocks, `compute` or `accel`.
    """
    blocks = {**known, **{name: count for name, count in ABSENT.items() if name.startswith(kind)}}
    present = {name: functions.columns[flag(name)] for name in blocks}
    rounds = [present[name] * functions.columns[count] for name, count in blocks.items()]
    return np.sum(list(present.values()), axis=0), np.sum(rounds, axis=0)


def _lookups(functions: Functions) -> dict[str, tuple[Array, Array]]:
    """Return the lookups in each chain, by kind of lookup.

    The first array is 1 if the chain has such a lookup, else 0. The second is the maximum number of
    hash table slots that the lookup may visit.
    """
    slots = functions.columns
    demux, conn = functions.has("tcpdemux"), functions.has("tcpconn")
    mapper, flow = functions.has("ftpportmapper"), slots["tcpflow_slots"]
    found = (
        (functions.has("iprewriter"), slots["iprewriter_slots"]),
        (mapper, slots["ftpportmapper_control_slots"]),
        (mapper, slots["ftpportmapper_data_slots"]),
        (functions.has("webgen"), slots["webgen_slots"]),
        (demux * (1 - conn), flow),
        (conn * (1 - demux), flow),
        (demux * conn, flow),
    )
    return dict(zip(LOOKUPS, found, strict=True))


def _states(name: str, present: Array, slots: Array, functions: Functions) -> dict[str, Array]:
    """Return the amounts of work that a lookup causes, by name, for each state of the chain.

    A state says which elements precede the lookup `name`. `present` is 1 for chains with the
    lookup, and `slots` the number of slots it may visit. The amounts are the lookup's presence, the
    number of slots after the first, and, for each number in LEVELS, 1 if it may visit so many
    slots.
    """
    rewritten = functions.has("iprewriter")
    states = {
        ANY: np.ones(functions.size),
        AVERAGED: functions.has("avgcounter"),
        REWRITTEN: rewritten,
        AS_SENT: 1 - rewritten,
    }
    found = dict[str, Array]()
    for state, holds in states.items():
        in_state = present * holds
        found[f"{name}{state}"] = in_state
        found[f"{name}{state} slots"] = in_state * np.maximum(slots - 1, 0)
        for level in LEVELS:
            found[at_least(name, state, level)] = in_state * (slots >= level)
    return found


class Resource(NamedTuple):
    """A resource of the SmartNIC on which packets spend time, such as cores or a memory."""

    name: str
    work: tuple[str, ...]  # kinds of work that take time on the resource
    scale: float  # typical time per packet, ns
    queueing: tuple[float, float] = (0.0, 0.0)  # bounds of the factor c of a shared resource


_FLAGGED = tuple(name for name in LOOKUPS if name != "data")  # `data` is present with `control`
_REWRITER, *_OTHER_LOOKUPS = LOOKUPS


def _in(states: tuple[str, ...], lookups: tuple[str, ...] = LOOKUPS) -> tuple[str, ...]:
    """Return the names of the work that `lookups` cause in the given states of the chain.

    A state says which elements precede a lookup. Each lookup has up to two kinds of work: its
    presence, and the hash table slots after the first.
    """
    found = list[str]()
    for name in lookups:
        for state in states:
            if name == _REWRITER and state in (REWRITTEN, AS_SENT):
                continue
            found += [f"{name}{state}"] * (name in _FLAGGED) + [f"{name}{state} slots"]
    return tuple(found)


def _levels(state: str, lookups: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(at_least(name, state, level) for name in lookups for level in LEVELS)


_RECORDS = ("average", "counter", "encap")
_FILTERS = ("filter1", "rules1", "filter2", "rules2")
_CRC_WORK = ("calls", "crcs")
_IMEM = ("packet", "rules", *_RECORDS, *_FLAGGED)
_ALL_STATES = (ANY, AVERAGED, REWRITTEN, AS_SENT)

COMPUTING = Resource(
    "core", ("packet", *_FILTERS, *_RECORDS, "blocks", "rounds", *_CRC_WORK, *_in((ANY,))), 300.0
)
WAITING = Resource(
    "memory",
    (
        *("packet", *_FILTERS, *_RECORDS, *_CRC_WORK, *_in(_ALL_STATES)),
        *_levels(ANY, LOOKUPS),
        *_levels(AVERAGED, ("rewriter", "control", "data", "webgen")),
    ),
    1000.0,
)
SHARED = (
    Resource("IMEM", _IMEM, 10.0, (0.01, 3.0)),
    Resource(
        "EMEM",
        (
            "packet",
            *_in((AS_SENT, REWRITTEN, AVERAGED), tuple(_OTHER_LOOKUPS)),
            *_in((ANY,), (_REWRITER,)),
        ),
        10.0,
        (0.1, 20.0),
    ),
    Resource("line", ("packet",), 40.0, (0.1, 5.0)),
    Resource(
        "way to memory",
        tuple(dict.fromkeys((*_IMEM, *_in((ANY,)), "crcs", "rounds"))),
        10.0,
        (20.0, 400.0),
    ),
)
LINE = 2
"""Index of the line among the shared resources."""
RESOURCES = (COMPUTING, WAITING, *SHARED)


SIZES = tuple(len(one.work) for one in RESOURCES)
TIMES = sum(SIZES)
"""Number of network parameters that are times. The others are logarithms of the queue length factor
c, one per shared resource."""
COUNT = TIMES + len(SHARED)
_ENDS = tuple(np.cumsum((0, *SIZES)))
_LEAST = np.array([1.0, 1.0, *(1e-6 for _ in SHARED)])
"""Minimum demand of a packet on each resource, in ns."""
_OTHERS = (THREADS - 1) / THREADS

Amounts = tuple[Array, ...]
"""Amounts of each kind of work, with an array for each resource, shape (settings, classes, kinds of
work). A class is one of the functions that share the SmartNIC in a setting."""


def amounts(works: Mapping[str, Array]) -> Amounts:
    """Arrange the amounts of work by resource, for functions that run alone.

    The shape of each array is (functions, 1, kinds of work).
    """
    return tuple(
        np.stack([works[name] for name in resource.work], -1)[:, None, :] for resource in RESOURCES
    )


def select_amounts(many: Amounts, places: Sequence[Array] | Sequence[np.ndarray]) -> Amounts:
    """Return the amounts of work for settings in which several functions share the SmartNIC.

    Args:
        many: amounts of each function alone.
        places: for each of the sharing functions (classes), its index in `many` by setting.
    """
    return tuple(np.concatenate([one[place] for place in places], 1) for one in many)


def demands(parameters: Array, work: Amounts) -> Demands:
    """Return the time that a packet needs on each resource, in ns, for each class and setting.

    A class is one of the functions that share the SmartNIC in a setting. `parameters` are those of
    the queueing network.
    """
    times = [
        np.maximum(one @ parameters[first:end], least)
        for one, first, end, least in zip(work, _ENDS[:-1], _ENDS[1:], _LEAST, strict=True)
    ]
    computing, waiting, *shared = times
    return Demands(waiting, computing, np.stack(shared, -1), np.exp(parameters[TIMES:]))


class Sensitivity(NamedTuple):
    """Throughputs that the queueing network predicts, with derivatives by its parameters."""

    throughput: Array  # packets/ns, shape (settings, classes)
    slopes: Array  # derivatives of log throughput, shape (settings, classes, parameters)


def throughput(parameters: Array, work: Amounts, cores: Array, near: Array | None = None) -> Array:
    """Predict the throughput of each function (class), in packets/ns, shape (settings, classes).

    Args:
        parameters: parameters of the queueing network.
        work: amounts of work.
        cores: number of cores of each class, shape (settings, classes).
        near: approximate throughputs from which the iteration starts, if known.
    """
    return solve(demands(parameters, work), cores, near)


def sensitivity(
    parameters: Array, work: Amounts, cores: Array, near: Array | None = None
) -> Sensitivity:
    """Predict throughputs with their derivatives by the parameters of the queueing network.

    The fit needs the derivatives. They follow from the implicit function theorem. `near` has
    approximate throughputs from which the iteration starts, if known.
    """
    needed = demands(parameters, work)
    found = solve(needed, cores, near)
    state = busy(needed, cores, found)
    response = -np.linalg.inv(curvature(needed, cores, found, state)) / found[:, :, None]
    computing, waiting, *shared = work
    steep = 1 / (1 - _OTHERS * state.cores) ** 2
    slopes = [_along(response * steep[:, None, :], computing), _along(response, waiting)]
    queues = needed.queueing * state.resources / (1 - state.resources)
    bends = needed.queueing / (1 - state.resources) ** 2
    for at, amount in enumerate(shared):
        # More time on a resource lengthens a packet's own wait there, and the queue of all users.
        own = response * queues[:, at, None, None]
        longer = np.einsum("sjl,sl->sj", response, needed.shared[:, :, at]) * bends[:, at, None]
        slopes.append(_along(own + longer[:, :, None] * found[:, None, :], amount))
    slopes.append(np.einsum("sjl,slk,sk->sjk", response, needed.shared, queues))
    return Sensitivity(found, np.concatenate(slopes, -1))


def _along(response: Array, amount: Array) -> Array:
    return np.asarray(np.einsum("sjl,slf->sjf", response, amount, optimize=True))


_PARTS = (
    *("packet", "rules", "average", "counter", "encap", "blocks", "rounds", "calls", "crcs"),
    *("rewriter", "rewriter slots", "control", "control slots", "data slots"),
    *("webgen", "demux", "conn", "demux+conn"),
)
_CARD = 60
"""Number of cores of the SmartNIC."""
_FEWEST = 0.4
"""Smallest number of cores that was measured, as a share of the SmartNIC's cores."""
_ROUNDS = 10
_OUTLIER = 0.02
_RIDGE = 1e-3
_SMALLEST = 1e-3
NAMES = ("time", "cores", "time by cores", *_PARTS)
"""Names of the terms of the linear latency model."""
LATENCY_COUNT = len(NAMES)
LEAST = 16.0
"""Minimum latency in cycles: the period of the clock that measured latencies."""


class Times(NamedTuple):
    """Times that packets spend in the queueing network, from which latencies are predicted."""

    packet: Array  # time of a packet in ns, shape (settings, classes)
    line: Array  # part of `packet` that is spent waiting for the line, in ns
    cores: Array  # number of cores of each class


def times(members: Sequence[Array], work: Amounts, cores: Array, throughput: Array) -> Times:
    """Return the time that packets spend in the queueing network, at given throughputs.

    The wait for the network line is the mean over several fitted queueing networks.

    Args:
        members: parameters of the networks.
        work: amounts of work.
        cores: number of cores of each class, shape (settings, classes).
        throughput: throughputs in packets/ns, shape (settings, classes).
    """
    packet = THREADS * cores / throughput
    waits = [
        wait_at(demands(one, work), cores, _below(one, work, throughput), LINE) for one in members
    ]
    line = np.mean([np.minimum(wait, packet) for wait in waits], 0)
    return Times(packet, line, cores)


def _below(parameters: Array, work: Amounts, throughput: Array) -> Array:
    """Reduce throughputs so that the utilisation of the network line stays below 1.

    `throughput` is a mean over several fitted queueing networks, so it may exceed the capacity in
    the network with these `parameters`.
    """
    shared = demands(parameters, work).shared
    used = np.einsum("sj,sj->s", throughput, shared[:, :, LINE])
    return np.asarray(throughput * np.minimum(1, 0.999 / used)[:, None])


def _columns(works: Mapping[str, Array], found: Times) -> Array:
    """Return the regressors of the linear latency model, as an array.

    The shape is (settings, classes, LATENCY_COUNT). The arrays in `works` have the shape (settings,
    classes).
    """
    on_card = found.packet - found.line
    # Outside the measured range of cores, these terms keep their values at its ends.
    share = np.clip(found.cores / _CARD, _FEWEST, 1)
    return np.stack([on_card, share, share * on_card, *(works[name] for name in _PARTS)], -1)


def fit(works: Mapping[str, Array], found: Times, cycles: Array) -> Array:
    """Fit the weights of the terms of the latency model, shape (LATENCY_COUNT,).

    Args:
        works: amounts by kind of work, shape (settings, classes).
        found: times of packets in the network.
        cycles: measured latencies, shape (settings, classes).
    """
    columns = _columns(works, found).reshape(-1, LATENCY_COUNT)
    measured = cycles.ravel()
    # In these units, each weight is a share of a typical latency.
    unit = np.maximum(np.abs(columns).mean(0), _SMALLEST) / np.median(measured)
    scaled, weight, weights = columns / unit, 1 / measured, np.zeros(LATENCY_COUNT)
    for _ in range(_ROUNDS):
        weighted = scaled * weight[:, None]
        square = weighted.T @ weighted + _RIDGE**2 * len(measured) * np.eye(LATENCY_COUNT)
        weights = np.linalg.solve(square, weighted.T @ (measured * weight))
        errors = scaled @ weights / measured - 1
        weight = 1 / measured / np.sqrt(1 + np.abs(errors) / _OUTLIER)
    return np.asarray(weights / unit)


def latency(weights: Array, works: Mapping[str, Array], found: Times) -> Array:
    """Predict latencies with the linear model, in cycles, shape (settings, classes).

    `weights` are those of the model's terms, and `works` the amounts by kind of work.
    """
    return np.maximum(_columns(works, found) @ weights, LEAST)


_TINY = 1e-9


class SavedNetwork(TypedDict):
    """Schema of the saved parameters of a queueing network."""

    times: Mapping[str, Mapping[str, float]]  # ns, by resource and kind of work
    queues: Mapping[str, float]  # c, by resource


def written(parameters: Array) -> SavedNetwork:
    """Convert parameters of the queueing network to a JSON document, to save them."""
    times, at = dict[str, dict[str, float]](), 0
    for resource in RESOURCES:
        part = parameters[at : at + len(resource.work)]
        values = zip(resource.work, part, strict=True)
        times[resource.name] = {name: rounded(one) for name, one in values if rounded(one)}
        at += len(resource.work)
    queues = np.exp(parameters[TIMES:])
    found = {one.name: rounded(queue) for one, queue in zip(SHARED, queues, strict=True)}
    return {"times": times, "queues": found}


def read(document: SavedNetwork) -> Array:
    """Restore parameters of the queueing network from a JSON document."""
    found, at = np.zeros(COUNT), 0
    for resource in RESOURCES:
        times = document["times"][resource.name]
        for name in resource.work:
            found[at] = times.get(name, 0.0)
            at += 1
    found[TIMES:] = np.log([document["queues"][one.name] for one in SHARED])
    return found


def written_latency(weights: Array) -> dict[str, float]:
    """Return the weights of the latency model's terms by name, for a JSON document."""
    return {name: rounded(one) for name, one in zip(NAMES, weights, strict=True)}


def read_latency(document: Mapping[str, float]) -> Array:
    """Restore the weights of the latency model's terms from a JSON document."""
    return np.array([document[name] for name in NAMES])


def rounded(number: float) -> float:
    """Round a number to a few significant digits, to save it; tiny values become 0."""
    return output.rounded(number) if abs(number) > _TINY else 0.0
