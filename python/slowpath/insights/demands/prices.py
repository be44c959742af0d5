"""Prices of instructions and accesses, from fitted parameters.

Each published element says what the card takes for its counts: ns of a core, of waiting, of a
shared resource, which a chain with it needs beyond the same chain without it. An access of one
element takes longer than that of another. A price is the median over elements; how far they are
apart, as a share of it, is how sure it is for a function that is none of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.functions import (
    NEEDED,
    OPTIONAL,
    USUAL,
    Array,
    Functions,
    flag,
    functions_of,
)
from slowpath.insights.cores.model import TRAFFIC, shipped
from slowpath.insights.cores.network import SHARED, amounts, demands, works
from slowpath.insights.cores.queueing import Demands
from slowpath.insights.demands.published import ELEMENTS, published

IMEM, EMEM, LINE, WAY = range(len(SHARED))
"""Places of shared resources."""


class _Probe(NamedTuple):
    """An element whose own demands are told by chains with and without it."""

    element: str
    flag: str
    parameters: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()  # elements in front of it


_SENT: tuple[str, ...] = ()
_AVERAGED, _REWRITTEN = ("avgcounter",), ("iprewriter",)
_PROBES = (
    _Probe("filter", "ipfilter1", ("ipfilter1_rules",)),
    _Probe("filter", "ipfilter2", ("ipfilter2_rules",)),
    _Probe("average", "avgcounter"),
    _Probe("counter", "counter"),
    _Probe("encap", "udpipencap"),
    _Probe("rounds", "compute1", ("compute1_iterations",)),
    *(
        _Probe("rewriter", "iprewriter", ("iprewriter_slots",), behind)
        for behind in (_SENT, _AVERAGED)
    ),
    *(
        _Probe(element, name, slots, behind)
        for element, name, slots in (
            (
                "mapper",
                "ftpportmapper",
                ("ftpportmapper_control_slots", "ftpportmapper_data_slots"),
            ),
            ("webgen", "webgen", ("webgen_slots",)),
            ("demux", "tcpdemux", ("tcpflow_slots",)),
            ("conn", "tcpconn", ("tcpflow_slots",)),
        )
        for behind in (_SENT, _AVERAGED, _REWRITTEN, _AVERAGED + _REWRITTEN)
    ),
)
"""Look-ups take something else behind elements that leave few flows, or that fill the cache."""


_ENDS = (0, 1)
"""The least and the most of a parameter that were measured."""


class Fits(NamedTuple):
    """What was fitted to published curves."""

    parameters: tuple[Array, ...]
    noise: Array  # covariance of curves around the network


def shipped_fits() -> Fits:
    """Those that come along, to both kinds of traffic."""
    models = [shipped(traffic) for traffic in TRAFFIC]
    parameters = tuple(one for model in models for one in model.members)
    return Fits(parameters, np.mean([model.spread for model in models], 0))


class Price(NamedTuple):
    """What one takes, ns."""

    each: Array  # by fit, shape (fits,)
    spread: float  # how far elements are apart from it, root mean square, as a share


class Prices(NamedTuple):
    """What everything takes, by fit."""

    base: Demands  # of a packet by itself; shape (fits,) or (fits, resources), queueing too
    instruction: Price
    waiting: tuple[Price, Price]  # for an access to the internal memory, to the external one
    service: tuple[Price, Price]  # the same: how long it keeps the memory busy
    way: Price  # for an access to either


def chain(**there: int) -> dict[str, int]:
    """A function with some elements; parameters as given, the least of others."""
    found = dict.fromkeys((*NEEDED, *OPTIONAL), 0)
    found |= {name: least for name, (least, _) in USUAL.items()}
    for name, value in there.items():
        found[name if name in found else flag(name)] = value
    return found


def prices_of(fits: Sequence[Array], without: str | None = None) -> Prices:
    """The prices.

    Args:
        fits: parameters of networks.
        without: an element that is left out, as if it had not been measured.
    """
    probes = [one for one in _PROBES if one.element != without]
    rows = [chain()]
    for one in probes:
        front = dict.fromkeys(one.behind, 1)
        for end in _ENDS if one.parameters else _ENDS[:1]:
            amounts_of = {name: USUAL[name][end] for name in one.parameters}
            rows += [chain(**front), chain(**front, **{one.flag: 1}, **amounts_of)]
    groups = _Groups([len(_ENDS) if one.parameters else 1 for one in probes])
    every = needed(fits, functions_of(rows))
    base = every._replace(
        waiting=every.waiting[:, 0], computing=every.computing[:, 0], shared=every.shared[:, 0]
    )
    counted = published(functions_of(rows))
    near, far = (_added(one.sum(1)) for one in (counted.imem, counted.emem))
    extra, more = _added(every.waiting), _added(np.moveaxis(every.shared, -1, 0))
    # What is in front changes nothing of what a core computes: once for each element is enough.
    tells = [ELEMENTS[one.element].known and not one.behind for one in probes]
    told = np.repeat(tells, np.diff(groups.ends))
    instruction = groups.price(_added(every.computing), told * _added(counted.instructions))
    only_near = np.where(far > 0, 0, near)
    near_wait = groups.price(extra, only_near)
    far_wait = groups.price(extra - near_wait.each[:, None] * near, far)
    return Prices(
        base,
        instruction,
        (near_wait, far_wait),
        (groups.price(more[IMEM], only_near), groups.price(more[EMEM], far)),
        groups.price(more[WAY], near + far),
    )


def needed(fits: Sequence[Array], functions: Functions) -> Demands:
    """Demands of functions, shape (fits, functions) and for resources one more; queueing by fit."""
    work = amounts(works(functions))
    each = [demands(one, work) for one in fits]
    return Demands(
        np.stack([one.waiting[:, 0] for one in each]),
        np.stack([one.computing[:, 0] for one in each]),
        np.stack([one.shared[:, 0] for one in each]),
        np.stack([one.queueing for one in each]),
    )


def _added(of_chains: Array) -> Array:
    """What chains have more than those before them: of the last dimension, behind the first."""
    return np.asarray(of_chains[..., 2::2] - of_chains[..., 1::2])


class _Groups:
    """Chains of a probe, which count together once."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.ends = np.cumsum((0, *sizes))

    def price(self, taken: Array, counts: Array) -> Price:
        """A price by fit; elements without such counts say nothing of it.

        Args:
            taken: ns by fit and chain.
            counts: by chain.
        """
        found = [
            np.maximum(taken[:, first:end].sum(1) / counts[first:end].sum(), 0)
            for first, end in zip(self.ends[:-1], self.ends[1:], strict=True)
            if counts[first:end].sum() > 0
        ]
        each = np.stack(found)  # shape (elements, fits)
        middle = np.median(each, 0)
        off = each / np.maximum(middle, 1e-12) - 1
        return Price(
            middle, float(np.sqrt((off**2).sum() / (max(len(each) - 1, 1) * off.shape[1])))
        )
