"""Draws random prices (times in ns) of operations, to compute confidence intervals of predictions.

A function consists of parts: its data structures, or published elements. Each part has its own
prices of memory accesses. Prices have gamma distributions around the median over published
elements, with the elements' relative spread times WIDER. In each draw, all instructions have one
price, because a compiler translates all parts in one way. The share of accesses that are merged
with neighbouring ones is uniform from 0 to 1. Draws use the fitted queueing networks in turn. Draws
do not depend on numbers of operations, so more work costs more in each draw.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.cores.functions import Array
from slowpath.insights.cores.queueing import Demands, busy, solve
from slowpath.insights.demands.prices import EMEM, IMEM, LINE, WAY, Price, Prices
from slowpath.insights.demands.published import Packets

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
    """Random draws of the demands of functions on the queueing network; times are in ns."""

    fit: NDArray[np.intp]  # index of the network fit, shape (draws,)
    waiting: Array  # waiting without contention, shape (draws, functions)
    computing: Array  # time on a core, shape (draws, functions)
    shared: Array  # service by shared resources, shape (draws, functions, resources)
    queueing: Array  # queue length factors c, shape (fits, resources)


def drawn(
    prices: Prices, packets: Packets, seed: int = 0, draws: int = DRAWS, wider: float = WIDER
) -> Draws:
    """Draw random demands: a base demand per packet, plus operations times random prices.

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
    """Repeat the demands `one` for each of `draws` draws, as these demands are not random."""
    return Draws(
        np.repeat(one.fit, draws),
        np.repeat(one.waiting, draws, 0),
        np.repeat(one.computing, draws, 0),
        np.repeat(one.shared, draws, 0),
        one.queueing,
    )


def one_of(draws: Draws, at: int) -> Draws:
    """Return the draws of the function with the index `at` only."""
    part = slice(at, at + 1)
    return draws._replace(
        waiting=draws.waiting[:, part],
        computing=draws.computing[:, part],
        shared=draws.shared[:, part],
    )


def _accesses(fewest: Array, most: Array, apart: Array) -> Array:
    """Return numbers of memory accesses if the share `apart` of mergeable accesses is not merged.

    `fewest` and `most` are the numbers with all and with no accesses merged. The shape is (draws,
    functions).
    """
    return np.asarray(fewest + apart * (most - fewest))


def throughput(draws: Draws, cores: tuple[int, ...]) -> Array:
    """Return the throughput of functions that run alone, in packets/ns.

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
    """Return the demands of draws that use the same fitted network, as settings of that network.

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
    """Return lower end, median and upper end of a confidence interval over random draws."""
    tail = (1 - confidence) / 2
    low, middle, high = np.quantile(of_draws, (tail, 0.5, 1 - tail), axis=0)
    return low, middle, high
