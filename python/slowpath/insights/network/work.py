"""How much work a packet makes in a chain, by kind of work.

Which counts matter, and that states of the chain matter, was found in the published measurements
(docs/insights.md): the third compute and accelerator blocks read the counts of the first; behind
an address rewriter look-ups are cheaper, as few flows are left; behind the average counter they
cost more for each slot; `tcpdemux` finds its flow in the first slot where `tcpconn` fills them.
"""

from collections.abc import Mapping

import numpy as np

from slowpath.insights.functions.functions import Array, Functions
from slowpath.insights.functions.vocabulary import ABSENT, COMPUTE, CRC, flag

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
