"""Prices of instructions and accesses, derived from fitted parameters.

A chain with an element needs more core time, waiting and service by shared resources than the same
chain without it. These differences and the published counts of the element give its prices. An
access in one element takes longer than in another. A price is the median over elements. Their
relative spread is the uncertainty of the price for an unknown function.
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
"""Indices of shared resources."""


class _Probe(NamedTuple):
    """An element whose demands are the difference between chains with and without it."""

    element: str
    flag: str
    parameters: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()  # elements in front of it in the chain


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
"""Probes of all elements. Lookups are also measured behind elements that leave few flows, or that
fill the cache, as their demands change there."""


_ENDS = (0, 1)
"""Indices of least and greatest measured value of a parameter."""


class Fits(NamedTuple):
    """Fits to published curves."""

    parameters: tuple[Array, ...]
    noise: Array  # covariance of measured curves around the network's predictions


def shipped_fits() -> Fits:
    """Return the shipped fits, to both kinds of traffic."""
    models = [shipped(traffic) for traffic in TRAFFIC]
    parameters = tuple(one for model in models for one in model.members)
    return Fits(parameters, np.mean([model.spread for model in models], 0))


class Price(NamedTuple):
    """Price of one operation, ns."""

    each: Array  # price by fit, shape (fits,)
    spread: float  # root mean square deviation of elements, as a share of the price


class Prices(NamedTuple):
    """Prices of all operations, by fit."""

    base: Demands  # demands without elements; shape (fits,) or (fits, resources), with queueing
    instruction: Price
    waiting: tuple[Price, Price]  # per access to internal and to external memory
    service: tuple[Price, Price]  # time that an access occupies the memory, same order
    way: Price  # per access to either memory, on the interconnect


def chain(**there: int) -> dict[str, int]:
    """Return a function with some elements; parameters not given have their least value."""
    found = dict.fromkeys((*NEEDED, *OPTIONAL), 0)
    found |= {name: least for name, (least, _) in USUAL.items()}
    for name, value in there.items():
        found[name if name in found else flag(name)] = value
    return found


def prices_of(fits: Sequence[Array], without: str | None = None) -> Prices:
    """Derive the prices.

    Args:
        fits: parameters of networks.
        without: an element to exclude, as if it had not been measured.
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
    # Elements in front do not change core time, so one probe per element is enough.
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
    """Return the demands of functions by fit.

    The shape is (fits, functions), with another dimension for resources; queueing is by fit.
    """
    work = amounts(works(functions))
    each = [demands(one, work) for one in fits]
    return Demands(
        np.stack([one.waiting[:, 0] for one in each]),
        np.stack([one.computing[:, 0] for one in each]),
        np.stack([one.shared[:, 0] for one in each]),
        np.stack([one.queueing for one in each]),
    )


def _added(of_chains: Array) -> Array:
    """Return the differences between chains with and without a probe, on the last dimension."""
    return np.asarray(of_chains[..., 2::2] - of_chains[..., 1::2])


class _Groups:
    """Chains of each probe; together they count as one element."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.ends = np.cumsum((0, *sizes))

    def price(self, taken: Array, counts: Array) -> Price:
        """Return a price by fit; elements without such operations are ignored.

        Args:
            taken: ns by fit and chain.
            counts: number of operations by chain.
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
