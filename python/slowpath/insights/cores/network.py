"""Parameters, work, resources and latency of the network.

Which counts matter, and that states of the chain matter, was found in the published measurements
(docs/insights.md): the third compute and accelerator blocks read the counts of the first; behind
an address rewriter look-ups are cheaper, as few flows are left; behind the average counter they
cost more for each slot; `tcpdemux` finds its flow in the first slot where `tcpconn` fills them.

Shared are, as the published measurements show: the internal memory (IMEM), in which the rules of
filters and single records are; the external one (EMEM) with the tables of flows; the line, which
delivers packets; and the way between cores and memories, which gets slower long before anything is
full. Units of scale: ns per packet, what such a resource takes for a typical chain.

How long queues get (c) tells resources apart that have much work in common: a memory bank serves
one request like the other, so that nobody waits long before it is full; on the way to it, everybody
is delayed a little by everybody.

Published latencies leave receiving and sending out, and are in proportion to the time of a packet
without its wait for the line, up to a factor that nobody documents and a part by kind of work.
That is a linear model, fitted to relative errors such that few outliers count little.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

import numpy as np

from slowpath.insights import output
from slowpath.insights.cores.functions import ABSENT, COMPUTE, CRC, Array, Functions, flag
from slowpath.insights.cores.queueing import THREADS, Demands, busy, curvature, solve, wait_at

ANY, AVERAGED, REWRITTEN, AS_SENT = "", " averaged", " rewritten", " as sent"
"""Which packets a look-up is for: all; those behind `avgcounter`, behind `iprewriter`, or not."""

LOOKUPS = ("rewriter", "control", "data", "webgen", "demux", "conn", "demux+conn")
"""Look-ups in hash tables: of `iprewriter`; the two of `ftpportmapper`; of `webgen`; of `tcpdemux`
and `tcpconn` alone, and of both."""

LEVELS = (2, 3, 4, 5)


def at_least(lookup: str, state: str, slots: int) -> str:
    """The name of a kind of work: a look-up over at least so many slots."""
    return f"{lookup}{state} slots>={slots}"


def works(functions: Functions) -> Mapping[str, Array]:
    """The amounts by name, each of shape (functions,)."""
    found = {"packet": np.ones(functions.size)}
    for at in ("1", "2"):
        there = functions.has(f"ipfilter{at}")
        found |= {
            f"filter{at}": there,
            f"rules{at}": there * functions.columns[f"ipfilter{at}_rules"],
        }
    found["rules"] = found["rules1"] + found["rules2"]
    found |= {
        "average": functions.has("avgcounter"),
        "counter": functions.has("counter"),
        "encap": functions.has("udpipencap"),
    }
    found["blocks"], found["rounds"] = _blocks(functions, COMPUTE, "compute")
    found["calls"], found["crcs"] = _blocks(functions, CRC, "accel")
    for name, (there, slots) in _lookups(functions).items():
        found |= _states(name, there, slots, functions)
    return found


def _blocks(functions: Functions, known: Mapping[str, str], kind: str) -> tuple[Array, Array]:
    """How many blocks there are, and rounds of their loops."""
    every = {**known, **{name: count for name, count in ABSENT.items() if name.startswith(kind)}}
    there = {name: functions.columns[flag(name)] for name in every}
    rounds = [there[name] * functions.columns[count] for name, count in every.items()]
    return np.sum(list(there.values()), axis=0), np.sum(rounds, axis=0)


def _lookups(functions: Functions) -> dict[str, tuple[Array, Array]]:
    """By look-up, where there is one and how many slots it may visit."""
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


def _states(name: str, there: Array, slots: Array, functions: Functions) -> dict[str, Array]:
    """A look-up in each state: that it is there, and slots beyond the first."""
    rewritten = functions.has("iprewriter")
    states = {
        ANY: np.ones(functions.size),
        AVERAGED: functions.has("avgcounter"),
        REWRITTEN: rewritten,
        AS_SENT: 1 - rewritten,
    }
    found = dict[str, Array]()
    for state, holds in states.items():
        here = there * holds
        found[f"{name}{state}"] = here
        found[f"{name}{state} slots"] = here * np.maximum(slots - 1, 0)
        for level in LEVELS:
            found[at_least(name, state, level)] = here * (slots >= level)
    return found


class Resource(NamedTuple):
    """Where packets spend time."""

    name: str
    work: tuple[str, ...]  # kinds of work that take time there
    scale: float  # ns
    queueing: tuple[float, float] = (0.0, 0.0)  # least and most c, where it is shared


_FLAGGED = tuple(name for name in LOOKUPS if name != "data")  # there where `control` is
_REWRITER, *_LATER = LOOKUPS


def _in(states: tuple[str, ...], lookups: tuple[str, ...] = LOOKUPS) -> tuple[str, ...]:
    """Look-ups in some states: that they are there, and slots."""
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
_BRIEF = ("calls", "crcs")
_IMEM = ("packet", "rules", *_RECORDS, *_FLAGGED)
_ALL_STATES = (ANY, AVERAGED, REWRITTEN, AS_SENT)

COMPUTING = Resource(
    "core", ("packet", *_FILTERS, *_RECORDS, "blocks", "rounds", *_BRIEF, *_in((ANY,))), 300.0
)
WAITING = Resource(
    "memory",
    (
        *("packet", *_FILTERS, *_RECORDS, *_BRIEF, *_in(_ALL_STATES)),
        *_levels(ANY, LOOKUPS),
        *_levels(AVERAGED, ("rewriter", "control", "data", "webgen")),
    ),
    1000.0,
)
SHARED = (
    Resource("IMEM", _IMEM, 10.0, (0.01, 3.0)),
    Resource(
        "EMEM",
        ("packet", *_in((AS_SENT, REWRITTEN, AVERAGED), tuple(_LATER)), *_in((ANY,), (_REWRITER,))),
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
"""The place of the line among shared resources."""
RESOURCES = (COMPUTING, WAITING, *SHARED)


SIZES = tuple(len(one.work) for one in RESOURCES)
TIMES = sum(SIZES)
"""How many of the parameters are times; after them, logarithms of c for each shared resource."""
COUNT = TIMES + len(SHARED)
_ENDS = tuple(np.cumsum((0, *SIZES)))
_LEAST = np.array([1.0, 1.0, *(1e-6 for _ in SHARED)])
"""Below which no demand is taken to be, ns."""
_OTHERS = (THREADS - 1) / THREADS

Amounts = tuple[Array, ...]
"""Amounts of work for each resource, shape (settings, classes, kinds of work)."""


def amounts(works: Mapping[str, Array]) -> Amounts:
    """Amounts of functions by themselves: shape (functions, 1, kinds of work)."""
    return tuple(
        np.stack([works[name] for name in resource.work], -1)[:, None, :] for resource in RESOURCES
    )


def taken(many: Amounts, places: Sequence[Array] | Sequence[np.ndarray]) -> Amounts:
    """Amounts of settings whose classes are functions at some places.

    Args:
        many: of functions by themselves.
        places: for each class, the place of its function in each setting.
    """
    return tuple(np.concatenate([one[place] for place in places], 1) for one in many)


def demands(parameters: Array, work: Amounts) -> Demands:
    """What packets need."""
    times = [
        np.maximum(one @ parameters[first:end], least)
        for one, first, end, least in zip(work, _ENDS[:-1], _ENDS[1:], _LEAST, strict=True)
    ]
    computing, waiting, *shared = times
    return Demands(waiting, computing, np.stack(shared, -1), np.exp(parameters[TIMES:]))


class Sensitivity(NamedTuple):
    """Throughputs, and how they follow the parameters."""

    throughput: Array  # packets/ns, shape (settings, classes)
    slopes: Array  # of its logarithm, shape (settings, classes, parameters)


def throughput(parameters: Array, work: Amounts, cores: Array, near: Array | None = None) -> Array:
    """Of each class, packets/ns, shape (settings, classes)."""
    return solve(demands(parameters, work), cores, near)


def sensitivity(
    parameters: Array, work: Amounts, cores: Array, near: Array | None = None
) -> Sensitivity:
    """The same with derivatives, by the implicit function theorem."""
    needed = demands(parameters, work)
    found = solve(needed, cores, near)
    state = busy(needed, cores, found)
    turned = -np.linalg.inv(curvature(needed, cores, found, state)) / found[:, :, None]
    computing, waiting, *shared = work
    steep = 1 / (1 - _OTHERS * state.cores) ** 2
    slopes = [_along(turned * steep[:, None, :], computing), _along(turned, waiting)]
    queues = needed.queueing * state.resources / (1 - state.resources)
    bends = needed.queueing / (1 - state.resources) ** 2
    for at, amount in enumerate(shared):
        # Its own queue takes longer for each visit; and whoever uses it makes all queues longer.
        own = turned * queues[:, at, None, None]
        longer = np.einsum("sjl,sl->sj", turned, needed.shared[:, :, at]) * bends[:, at, None]
        slopes.append(_along(own + longer[:, :, None] * found[:, None, :], amount))
    slopes.append(np.einsum("sjl,slk,sk->sjk", turned, needed.shared, queues))
    return Sensitivity(found, np.concatenate(slopes, -1))


def _along(turned: Array, amount: Array) -> Array:
    return np.asarray(np.einsum("sjl,slf->sjf", turned, amount, optimize=True))


_PARTS = (
    *("packet", "rules", "average", "counter", "encap", "blocks", "rounds", "calls", "crcs"),
    *("rewriter", "rewriter slots", "control", "control slots", "data slots"),
    *("webgen", "demux", "conn", "demux+conn"),
)
_CARD = 60
"""Cores of the card, for the unit of a term."""
_FEWEST = 0.4
"""The fewest that were measured, as a share of these."""
_ROUNDS = 10
_OUTLIER = 0.02
_RIDGE = 1e-3
_SMALLEST = 1e-3
NAMES = ("time", "cores", "time by cores", *_PARTS)
"""Of the terms."""
LATENCY_COUNT = len(NAMES)
LEAST = 16.0
"""Cycles: the clock ticks that often."""


class Times(NamedTuple):
    """Packets in the network, of settings and classes: what their latency is read off."""

    packet: Array  # ns, shape (settings, classes)
    line: Array  # the wait for the line in it, the same
    cores: Array  # the same


def times(members: Sequence[Array], work: Amounts, cores: Array, throughput: Array) -> Times:
    """What parameters, mean over several, say of packets at throughputs (packets/ns)."""
    packet = THREADS * cores / throughput
    waits = [
        wait_at(demands(one, work), cores, _below(one, work, throughput), LINE) for one in members
    ]
    line = np.mean([np.minimum(wait, packet) for wait in waits], 0)
    return Times(packet, line, cores)


def _below(parameters: Array, work: Amounts, throughput: Array) -> Array:
    """Throughputs that a member of several can have, which the mean of all may exceed."""
    shared = demands(parameters, work).shared
    used = np.einsum("sj,sj->s", throughput, shared[:, :, LINE])
    return np.asarray(throughput * np.minimum(1, 0.999 / used)[:, None])


def _columns(works: Mapping[str, Array], found: Times) -> Array:
    """Shape (settings, classes, COUNT); works of shape (settings, classes)."""
    inside = found.packet - found.line
    # Beyond what was measured, these terms are those of its ends.
    share = np.clip(found.cores / _CARD, _FEWEST, 1)
    return np.stack([inside, share, share * inside, *(works[name] for name in _PARTS)], -1)


def fit(works: Mapping[str, Array], found: Times, cycles: Array) -> Array:
    """The weights, shape (COUNT,).

    Args:
        works: by kind of work, of shape (settings, classes).
        found: the times of packets.
        cycles: the latencies that were measured, the same shape.
    """
    columns = _columns(works, found).reshape(-1, LATENCY_COUNT)
    measured = cycles.ravel()
    # In these units, every weight is a share of a typical latency.
    unit = np.maximum(np.abs(columns).mean(0), _SMALLEST) / np.median(measured)
    scaled, weight, weights = columns / unit, 1 / measured, np.zeros(LATENCY_COUNT)
    for _ in range(_ROUNDS):
        weighted = scaled * weight[:, None]
        square = weighted.T @ weighted + _RIDGE**2 * len(measured) * np.eye(LATENCY_COUNT)
        weights = np.linalg.solve(square, weighted.T @ (measured * weight))
        off = scaled @ weights / measured - 1
        weight = 1 / measured / np.sqrt(1 + np.abs(off) / _OUTLIER)
    return np.asarray(weights / unit)


def latency(weights: Array, works: Mapping[str, Array], found: Times) -> Array:
    """Cycles, shape (settings, classes)."""
    return np.maximum(_columns(works, found) @ weights, LEAST)


_NOTHING = 1e-9


class SavedNetwork(TypedDict):
    """Parameters of a network."""

    times: Mapping[str, Mapping[str, float]]  # ns, by resource and kind of work
    queues: Mapping[str, float]  # c, by resource


def written(parameters: Array) -> SavedNetwork:
    """Parameters as a document."""
    times, at = dict[str, dict[str, float]](), 0
    for resource in RESOURCES:
        part = parameters[at : at + len(resource.work)]
        named = zip(resource.work, part, strict=True)
        times[resource.name] = {name: rounded(one) for name, one in named if rounded(one)}
        at += len(resource.work)
    queues = np.exp(parameters[TIMES:])
    found = {one.name: rounded(queue) for one, queue in zip(SHARED, queues, strict=True)}
    return {"times": times, "queues": found}


def read(document: SavedNetwork) -> Array:
    """The parameters of a document."""
    found, at = np.zeros(COUNT), 0
    for resource in RESOURCES:
        times = document["times"][resource.name]
        for name in resource.work:
            found[at] = times.get(name, 0.0)
            at += 1
    found[TIMES:] = np.log([document["queues"][one.name] for one in SHARED])
    return found


def written_latency(weights: Array) -> dict[str, float]:
    """Weights of latencies by name."""
    return {name: rounded(one) for name, one in zip(NAMES, weights, strict=True)}


def read_latency(document: Mapping[str, float]) -> Array:
    """The weights of a document."""
    return np.array([document[name] for name in NAMES])


def rounded(number: float) -> float:
    """A number with as many digits as say something; what is next to nothing is 0."""
    return output.rounded(number) if abs(number) > _NOTHING else 0.0
