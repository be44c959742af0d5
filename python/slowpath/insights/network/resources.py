"""Which work takes time where: in cores, in memory that nobody else delays, in shared resources.

Shared are, as the published measurements show: the internal memory (IMEM), in which the rules of
filters and single records are; the external one (EMEM) with the tables of flows; the line, which
delivers packets; and the way between cores and memories, which gets slower long before anything is
full. Units of scale: ns per packet, what such a resource takes for a typical chain.

How long queues get (c) tells resources apart that have much work in common: a memory bank serves
one request like the other, so that nobody waits long before it is full; on the way to it, everybody
is delayed a little by everybody.
"""

from typing import NamedTuple

from slowpath.insights.network.work import (
    ANY,
    AS_SENT,
    AVERAGED,
    LEVELS,
    LOOKUPS,
    REWRITTEN,
    at_least,
)


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
