"""Derives prices of instructions and accesses from the fitted parameters of the queueing network.

An element adds core time, waiting and service by shared resources to a chain of elements. Divided
by published counts of the element's operations, the added times give its prices. An access takes
longer in some elements than in others. A price is the median over elements. The elements' relative
spread is the uncertainty of the price for an unknown function.
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
"""Indices of shared resources in the queueing network."""


class _Probe(NamedTuple):
    """A published element, measured as the difference between chains with and without it."""

    element: str
    flag: str
    parameters: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()  # elements before it in both chains


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
"""Elements whose demands are determined. Lookups are also determined after elements that leave few
flows, or that fill the cache, because the demands of lookups change there."""


_ENDS = (0, 1)
"""Indices of the minimum and the maximum measured value of a parameter."""


class Fits(NamedTuple):
    """Parameters of the queueing networks that were fitted to published throughput curves."""

    parameters: tuple[Array, ...]
    noise: Array  # covariance of measured curves around the network's predictions


def shipped_fits() -> Fits:
    """Return the fitted networks that the package contains, for both kinds of traffic."""
    models = [shipped(traffic) for traffic in TRAFFIC]
    parameters = tuple(one for model in models for one in model.members)
    return Fits(parameters, np.mean([model.spread for model in models], 0))


class Price(NamedTuple):
    """The price of one operation on the SmartNIC, with its uncertainty."""

    each: Array  # price in ns by fit, shape (fits,)
    spread: float  # root mean square deviation of elements, as a share of the price


class Prices(NamedTuple):
    """Prices of all operations on the SmartNIC."""

    base: Demands  # demands of a chain without elements, by fit (first dimension)
    instruction: Price
    waiting: tuple[Price, Price]  # waiting for an access to internal, to external memory
    service: tuple[Price, Price]  # time that an access occupies internal, external memory
    way: Price  # time that an access to either memory occupies the interconnect


def chain(**values: int) -> dict[str, int]:
    """Return a chain of elements, as columns of the table that describes functions.

    Columns that are not in `values` are 0, or the minimum of a parameter.
    """
    found = dict.fromkeys((*NEEDED, *OPTIONAL), 0)
    found |= {name: least for name, (least, _) in USUAL.items()}
    for name, value in values.items():
        found[name if name in found else flag(name)] = value
    return found


def prices_of(fits: Sequence[Array], without: str | None = None) -> Prices:
    """Derive the prices of operations from fitted networks.

    Args:
        fits: parameters of the networks.
        without: element to exclude, as if it had not been measured; None to use all elements.
    """
    probes = [one for one in _PROBES if one.element != without]
    rows = [chain()]
    for one in probes:
        before = dict.fromkeys(one.behind, 1)
        for end in _ENDS if one.parameters else _ENDS[:1]:
            amounts_of = {name: USUAL[name][end] for name in one.parameters}
            rows += [chain(**before), chain(**before, **{one.flag: 1}, **amounts_of)]
    groups = _Groups([len(_ENDS) if one.parameters else 1 for one in probes])
    every = needed(fits, functions_of(rows))
    base = every._replace(
        waiting=every.waiting[:, 0], computing=every.computing[:, 0], shared=every.shared[:, 0]
    )
    counted = published(functions_of(rows))
    imem, emem = (_added(one.sum(1)) for one in (counted.imem, counted.emem))
    waiting, shared = _added(every.waiting), _added(np.moveaxis(every.shared, -1, 0))
    # Elements before a probe do not change its core time, so probes without them are enough.
    usable = [ELEMENTS[one.element].known and not one.behind for one in probes]
    counted_chains = np.repeat(usable, np.diff(groups.ends))
    instructions = counted_chains * _added(counted.instructions)
    instruction = groups.price(_added(every.computing), instructions)
    only_imem = np.where(emem > 0, 0, imem)
    imem_wait = groups.price(waiting, only_imem)
    emem_wait = groups.price(waiting - imem_wait.each[:, None] * imem, emem)
    return Prices(
        base,
        instruction,
        (imem_wait, emem_wait),
        (groups.price(shared[IMEM], only_imem), groups.price(shared[EMEM], emem)),
        groups.price(shared[WAY], imem + emem),
    )


def needed(fits: Sequence[Array], functions: Functions) -> Demands:
    """Return the demands of functions according to each fitted network.

    The first dimension of each array is over fitted networks; then come functions, then resources.
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
    """Return the differences between chains with and without an element.

    The last dimension of `of_chains` is over chains: after a first one, pairs without and with it.
    """
    return np.asarray(of_chains[..., 2::2] - of_chains[..., 1::2])


class _Groups:
    """Chains of elements, grouped by the element whose operations they price."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.ends = np.cumsum((0, *sizes))

    def price(self, times: Array, counts: Array) -> Price:
        """Return the price of an operation: the median over elements that execute it.

        Args:
            times: time in ns that an element adds, by fitted network and chain.
            counts: number of operations that an element adds, by chain.
        """
        found = [
            np.maximum(times[:, first:end].sum(1) / counts[first:end].sum(), 0)
            for first, end in zip(self.ends[:-1], self.ends[1:], strict=True)
            if counts[first:end].sum() > 0
        ]
        each = np.stack(found)  # shape (elements, fits)
        middle = np.median(each, 0)
        off = each / np.maximum(middle, 1e-12) - 1
        return Price(
            middle, float(np.sqrt((off**2).sum() / (max(len(each) - 1, 1) * off.shape[1])))
        )
