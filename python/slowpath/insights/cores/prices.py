"""Derives the prices of operations, such as an instruction, and predicts throughput from them.

A price is a time in ns on a resource of the SmartNIC. It is derived from the queueing network that
was fitted to published measurements, and is uncertain; random prices express the uncertainty.

Each part of the work has its own prices. A part is a data structure of a source, or an element of a
published chain. Accesses of elements are published (docs/explanation/insights-advice.md): reads and
writes of each memory, in windows of 16 bytes (a record of 24 bytes is two). Instructions are of
LLVM's intermediate language, counted in re-implementations of the elements from their description
(`tests/advice/elements.c`; a test counts them again). The load of the published tables is unknown,
so a lookup that may visit several slots is assumed to visit half of the slots after the first.

An element adds core time, waiting and service by shared resources to a chain of elements. Divided
by published counts of the element's operations, the added times give its prices. An access takes
longer in some elements than in others. A price is the median over elements. The elements' relative
spread is the uncertainty of the price for an unknown function.

Random prices have gamma distributions around the median over published elements, with the elements'
relative spread times WIDER. In each draw, all instructions have one price, because a compiler
translates all parts in one way. The share of accesses that are merged with neighbouring ones is
uniform from 0 to 1. Draws use the fitted queueing networks in turn. Draws do not depend on numbers
of operations, so more work costs more in each draw.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.cores.assessment_documents import CardWork
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
from slowpath.insights.cores.queueing import Demands, busy, solve


class Packets(NamedTuple):
    """The instructions and memory accesses that a packet needs in each of several functions.

    An access fetches up to about 16 bytes.
    """

    instructions: Array  # shape (functions,)
    imem: Array  # minimum accesses to internal memory, shape (functions, parts)
    imem_most: Array  # maximum accesses to internal memory, if none are fetched together
    emem: Array  # minimum accesses to external memory
    emem_most: Array  # maximum accesses to external memory, if none are fetched together


def packets_of(work: CardWork) -> Packets:
    """Convert the work per packet of one function from a report to arrays."""
    memories = [
        np.array([[one[end] if one["memory"] == memory else 0.0 for one in work["parts"]]])
        for memory in ("imem", "emem")
        for end in ("fewest", "most")
    ]
    return Packets(np.array([work["instructions"]]), *memories)


HALF = 0.5
"""Assumed share of the slots after the first that a lookup visits."""


class Element(NamedTuple):
    """Work of a published element for one packet.

    The fields `each_…` are the additional work for each filter rule, loop iteration or visited
    slot.
    """

    instructions: float
    imem: float
    emem: float
    each_instructions: float = 0.0
    each_imem: float = 0.0
    each_emem: float = 0.0
    known: bool = True
    """True if the element's computation is described in full. Otherwise, prices of instructions are
    not derived from it."""


ELEMENTS: Mapping[str, Element] = {
    "filter": Element(0, 0, 0, 30.75, 2),
    "average": Element(13, 5, 0),
    "counter": Element(13, 4, 0),
    "encap": Element(44, 1, 0),
    "rounds": Element(0, 0, 0, 8.75),
    "rewriter": Element(39.5, 0, 3, 24.75, 0, 1),
    "mapper": Element(79, 1, 4, 24.75, 0, 1, known=False),
    "webgen": Element(95, 4, 2, 24.75, 0, 1),
    "demux": Element(27, 0, 1, 24.75, 0, 1),
    "conn": Element(21, 0, 2, 24.75, 0, 1),
}
"""Work of published elements by name. The amount of an element counts rules, loop iterations, or
visited slots after the first."""


def published(functions: Functions) -> Packets:
    """Return the instructions and accesses that a packet needs in chains of published elements.

    In the arrays of accesses, each column (part) belongs to an element.
    """
    amounts = dict(_amounts(functions))
    instructions = np.zeros(functions.size)
    imem, emem = list[Array](), list[Array]()
    for name, (present, amount) in amounts.items():
        one = ELEMENTS[name]
        instructions += present * one.instructions + amount * one.each_instructions
        imem.append(present * one.imem + amount * one.each_imem)
        emem.append(present * one.emem + amount * one.each_emem)
    imem_counts, emem_counts = np.stack(imem, -1), np.stack(emem, -1)
    return Packets(instructions, imem_counts, imem_counts, emem_counts, emem_counts)


def _amounts(functions: Functions) -> Mapping[str, tuple[Array, Array]]:
    """Return the number of each element in each chain, and the number of its repetitions.

    Repetitions are filter rules, loop iterations, or hash table slots that a lookup visits after
    the first. Keys are the names of elements in ELEMENTS.
    """
    known, slots = works(functions), functions.columns
    mapper = functions.has("ftpportmapper")
    flows = np.maximum(slots["tcpflow_slots"] - 1, 0) * HALF
    control = slots["ftpportmapper_control_slots"], slots["ftpportmapper_data_slots"]
    zeros = np.zeros(functions.size)
    return {
        "filter": (known["filter1"] + known["filter2"], known["rules"]),
        "average": (known["average"], zeros),
        "counter": (known["counter"], zeros),
        "encap": (known["encap"], zeros),
        "rounds": (known["blocks"], known["rounds"]),
        "rewriter": _look_up(functions, "iprewriter", "iprewriter_slots"),
        "mapper": (
            mapper,
            mapper * sum((np.maximum(one - 1, 0) * HALF for one in control), zeros),
        ),
        "webgen": _look_up(functions, "webgen", "webgen_slots"),
        "demux": (functions.has("tcpdemux"), functions.has("tcpdemux") * flows),
        "conn": (functions.has("tcpconn"), functions.has("tcpconn") * flows),
    }


def _look_up(functions: Functions, element: str, slots: str) -> tuple[Array, Array]:
    present = functions.has(element)
    return present, present * np.maximum(functions.columns[slots] - 1, 0) * HALF


IMEM, EMEM, LINE, WAY = range(len(SHARED))
"""Indices of shared resources in the queueing network."""


class _Probe(NamedTuple):
    """A way to measure a published element: compare chains with and without it."""

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


# --- prices ---------------------------------------------------------------------------------------

_ENDS = (0, 1)
"""Indices of the minimum and the maximum measured value of a parameter."""


class Fits(NamedTuple):
    """Parameters of the queueing networks that were fitted to published curves, and their error."""

    parameters: tuple[Array, ...]
    noise: Array  # covariance of measured curves around the network's predictions


def shipped_fits() -> Fits:
    """Return the fitted networks that are shipped with slowpath, for both kinds of traffic."""
    models = [shipped(traffic) for traffic in TRAFFIC]
    parameters = tuple(one for model in models for one in model.members)
    return Fits(parameters, np.mean([model.spread for model in models], 0))


class Price(NamedTuple):
    """The price of one operation in ns on the SmartNIC, with its uncertainty."""

    each: Array  # price in ns by fit, shape (fits,)
    spread: float  # root mean square deviation of elements, as a share of the price


class Prices(NamedTuple):
    """Prices in ns of all operations on the SmartNIC, such as an instruction or an access."""

    base: Demands  # demands of a chain without elements, by fit (first dimension)
    instruction: Price
    waiting: tuple[Price, Price]  # waiting for an access to internal, to external memory
    service: tuple[Price, Price]  # time that an access occupies internal, external memory
    way: Price  # time that an access to either memory occupies the interconnect


def chain(**values: int) -> dict[str, int]:
    """Describe a chain of published elements by columns of numbers, as in tables of functions.

    `values` has elements (1 if present) and parameters. Other elements are absent, and other
    parameters have the minimum measured value.
    """
    found = dict.fromkeys((*NEEDED, *OPTIONAL), 0)
    found |= {name: least for name, (least, _) in USUAL.items()}
    for name, value in values.items():
        found[name if name in found else flag(name)] = value
    return found


def prices_of(fits: Sequence[Array], without: str | None = None) -> Prices:
    """Derive the prices of operations from fitted queueing networks.

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
    """Return the time that a packet needs on each resource, according to each fitted network.

    The dimensions of each array are fitted networks, functions and resources.
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
    """Return the amounts that elements add to chains: differences of chains with and without them.

    The last dimension of `of_chains` is over chains. The first chain is ignored. Then each element
    has two chains: one without it, and the same chain with it.
    """
    return np.asarray(of_chains[..., 2::2] - of_chains[..., 1::2])


class _Groups:
    """Differences between chains of elements, grouped by the element that they measure."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.ends = np.cumsum((0, *sizes))

    def price(self, times: Array, counts: Array) -> Price:
        """Return the price of an operation: the median over the elements that execute it.

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


# --- random prices --------------------------------------------------------------------------------

DRAWS = 400
WIDER = 0.5
"""Spread of random prices, as a share of the elements' spread. It is calibrated so that intervals
have the stated coverage for published functions without filters. Functions with filters are the
hardest to predict (docs/explanation/insights-accuracy.md)."""
_SHARP = 1e-3
"""Minimum relative spread of prices, to avoid a division by zero."""
_PACKING = 1 << 20
"""Part number in the seeds of random draws that concern all parts of a function."""


PLACES = ("computation", "IMEM", "EMEM", "line")
"""Names of the resources that may be bottlenecks, in the order of the result of `used`."""


class Draws(NamedTuple):
    """Random draws of the times that packets need on the SmartNIC's resources, in ns."""

    fit: NDArray[np.intp]  # index of the network fit, shape (draws,)
    waiting: Array  # waiting without contention, shape (draws, functions)
    computing: Array  # time on a core, shape (draws, functions)
    shared: Array  # service by shared resources, shape (draws, functions, resources)
    queueing: Array  # queue length factors c, shape (fits, resources)


def drawn(
    prices: Prices, packets: Packets, seed: int = 0, draws: int = DRAWS, wider: float = WIDER
) -> Draws:
    """Draw random times that packets need: a base time, plus operations times random prices.

    Args:
        prices: prices of operations.
        packets: work of a packet of each function.
        seed: seed of the random numbers.
        draws: number of draws.
        wider: factor on the spread of prices.
    """
    # Import SciPy here, because the process that forks workers for accelerators must not load it.
    from scipy.special import gammaincinv

    base = prices.base

    def price(random: np.random.Generator, one: Price) -> Array:
        shape = 1 / max(wider * one.spread, _SHARP) ** 2
        return np.asarray(
            (one.each[fit] * gammaincinv(shape, _even(random, draws)) / shape)[:, None]
        )

    fit = np.arange(draws) % len(base.computing)
    common = np.random.default_rng([seed, _PACKING])
    instruction = price(common, prices.instruction)
    apart = _even(common, draws)[:, None]
    waiting = np.repeat(base.waiting[fit][:, None], len(packets.instructions), 1)
    shared = np.repeat(base.shared[fit][:, None, :], len(packets.instructions), 1)
    for part in range(packets.imem.shape[1]):
        random = np.random.default_rng([seed, part])
        imem = _accesses(packets.imem[:, part], packets.imem_most[:, part], apart)
        emem = _accesses(packets.emem[:, part], packets.emem_most[:, part], apart)
        waiting = waiting + imem * price(random, prices.waiting[0])
        waiting = waiting + emem * price(random, prices.waiting[1])
        shared[..., IMEM] += imem * price(random, prices.service[0])
        shared[..., EMEM] += emem * price(random, prices.service[1])
        shared[..., WAY] += (imem + emem) * price(random, prices.way)
    computing = base.computing[fit][:, None] + packets.instructions * instruction
    return Draws(fit, waiting, computing, shared, base.queueing)


def _even(random: np.random.Generator, draws: int) -> Array:
    """Return evenly spaced numbers between 0 and 1 in random order (stratified sampling).

    Independent random numbers would vary more from seed to seed.
    """
    return np.asarray((random.permutation(draws) + 0.5) / draws)


def repeated(one: Draws, draws: int) -> Draws:
    """Repeat known demands `draws` times, to combine them with random draws."""
    return Draws(
        np.repeat(one.fit, draws),
        np.repeat(one.waiting, draws, 0),
        np.repeat(one.computing, draws, 0),
        np.repeat(one.shared, draws, 0),
        one.queueing,
    )


def one_of(draws: Draws, at: int) -> Draws:
    """Return the draws of a single function, the one with the index `at`."""
    part = slice(at, at + 1)
    return draws._replace(
        waiting=draws.waiting[:, part],
        computing=draws.computing[:, part],
        shared=draws.shared[:, part],
    )


def _accesses(fewest: Array, most: Array, apart: Array) -> Array:
    """Return the number of memory accesses if some neighbouring accesses are merged.

    `fewest` and `most` are the numbers with all and with none of them merged; `apart` is the share
    that is not merged. The shape is (draws, functions).
    """
    return np.asarray(fewest + apart * (most - fewest))


def throughput(draws: Draws, cores: tuple[int, ...]) -> Array:
    """Predict the throughput of functions that run alone, in packets/ns.

    The shape is (draws, functions, core counts).
    """
    found = np.zeros((*draws.waiting.shape, len(cores)))
    number = np.array(cores, float)
    for one in range(len(draws.queueing)):
        selected = np.flatnonzero(draws.fit == one)
        if len(selected):
            shape = (len(selected), draws.waiting.shape[1], len(cores))
            needed = _settings(draws, selected, len(cores))
            every = np.broadcast_to(number, shape).reshape(-1, 1)
            found[selected] = solve(needed, every).reshape(shape)
    return found


def _settings(draws: Draws, selected: NDArray[np.intp], times: int) -> Demands:
    """Return the demands of several draws as input of the queueing network that they use.

    Args:
        draws: demands of functions.
        selected: indices of the draws; all use the same fitted network.
        times: number of repetitions of each draw.
    """

    def flat(part: Array) -> Array:
        return np.repeat(part[selected].reshape(-1, 1), times, 0)

    resources = draws.shared.shape[-1]
    shared = np.repeat(draws.shared[selected].reshape(-1, 1, resources), times, 0)
    queueing = draws.queueing[draws.fit[selected[0]]]
    return Demands(flat(draws.waiting), flat(draws.computing), shared, queueing)


def used(draws: Draws, cores: float, rates: Array) -> Array:
    """Return the utilisation (0 to 1) of cores, internal and external memory, and network line.

    The shape is (draws, functions, 4), in the order of PLACES.

    Args:
        draws: demands of functions.
        cores: number of cores of each function.
        rates: throughputs in packets/ns, shape (draws, functions).
    """
    needed = Demands(
        draws.waiting.reshape(-1, 1),
        draws.computing.reshape(-1, 1),
        draws.shared.reshape(-1, 1, draws.shared.shape[-1]),
        draws.queueing[0],
    )
    state = busy(needed, np.full((rates.size, 1), cores), rates.reshape(-1, 1))
    shared = [state.resources[:, at] for at in (IMEM, EMEM, LINE)]
    return np.stack([state.cores[:, 0], *shared], -1).reshape(*rates.shape, len(PLACES))


def interval(of_draws: Array, confidence: float) -> tuple[Array, Array, Array]:
    """Return the lower end, median and upper end of a confidence interval over random draws.

    The first dimension of `of_draws` is over draws.
    """
    tail = (1 - confidence) / 2
    low, middle, high = np.quantile(of_draws, (tail, 0.5, 1 - tail), axis=0)
    return low, middle, high
