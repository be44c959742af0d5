"""Random draws of all prices, for intervals of predictions.

Each part of a function has its own prices, as each published element has. They have gamma
distributions around the median of elements, with the elements' relative spread times WIDER.
Instructions have one price in a draw, since a compiler translates all parts of a function alike.
The share of accesses fetched together is uniform between all and none. The network fit also varies
between draws.

Draws do not depend on counts, so more work costs more in each draw.
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
"""Spread of prices, as a share of that of elements. It is calibrated so that intervals cover the
measured throughput as often as stated, for published functions without filters. Functions with
filters are the hardest to predict (docs/insights.md)."""
_SHARP = 1e-3
"""Least relative spread of prices, to avoid a division by zero."""
_PACKING = 1 << 20
"""Part number in seeds for draws that are common to all parts."""


PLACES = ("computation", "IMEM", "EMEM", "line")
"""Resources that can be full, in the order of `used`."""


class Draws(NamedTuple):
    """Demands of functions by draw; times in ns."""

    fit: NDArray[np.intp]  # index of the network fit, shape (draws,)
    waiting: Array  # waiting without contention, shape (draws, functions)
    computing: Array  # time on a core, same shape
    shared: Array  # service by shared resources, shape (draws, functions, resources)
    queueing: Array  # queue length factors c, shape (fits, resources)


def drawn(
    prices: Prices, packets: Packets, seed: int = 0, draws: int = DRAWS, wider: float = WIDER
) -> Draws:
    """Draw the demands of functions: the base of a packet, plus counts times prices."""
    # Import SciPy late: the process that forks workers for accelerators has to be without it.
    from scipy.special import gammaincinv

    base = prices.base

    def price(random: np.random.Generator, one: Price) -> Array:
        """Return a price for each draw, shape (draws, 1)."""
        shape = 1 / max(wider * one.spread, _SHARP) ** 2
        return np.asarray(
            (one.each[fit] * gammaincinv(shape, _even(random, draws)) / shape)[:, None]
        )

    fit = np.arange(draws) % len(base.computing)
    whole = np.random.default_rng([seed, _PACKING])
    instruction = price(whole, prices.instruction)
    apart = _even(whole, draws)[:, None]
    waiting = np.repeat(base.waiting[fit][:, None], len(packets.instructions), 1)
    shared = np.repeat(base.shared[fit][:, None, :], len(packets.instructions), 1)
    for part in range(packets.imem.shape[1]):
        random = np.random.default_rng([seed, part])
        near = _accesses(packets.imem[:, part], packets.imem_most[:, part], apart)
        far = _accesses(packets.emem[:, part], packets.emem_most[:, part], apart)
        waiting = waiting + near * price(random, prices.waiting[0])
        waiting = waiting + far * price(random, prices.waiting[1])
        shared[..., IMEM] += near * price(random, prices.service[0])
        shared[..., EMEM] += far * price(random, prices.service[1])
        shared[..., WAY] += (near + far) * price(random, prices.way)
    computing = base.computing[fit][:, None] + packets.instructions * instruction
    return Draws(fit, waiting, computing, shared, base.queueing)


def _even(random: np.random.Generator, draws: int) -> Array:
    """Return evenly spaced numbers from 0 to 1 in random order, to reduce random variation."""
    return np.asarray((random.permutation(draws) + 0.5) / draws)


def again(one: Draws, draws: int) -> Draws:
    """Repeat a single draw, for functions without random prices."""
    return Draws(
        np.repeat(one.fit, draws),
        np.repeat(one.waiting, draws, 0),
        np.repeat(one.computing, draws, 0),
        np.repeat(one.shared, draws, 0),
        one.queueing,
    )


def one_of(draws: Draws, at: int) -> Draws:
    """Return the draws of one of the functions."""
    part = slice(at, at + 1)
    return draws._replace(
        waiting=draws.waiting[:, part],
        computing=draws.computing[:, part],
        shared=draws.shared[:, part],
    )


def _accesses(fewest: Array, most: Array, apart: Array) -> Array:
    """Return the numbers of accesses, shape (draws, functions)."""
    return np.asarray(fewest + apart * (most - fewest))


def throughput(draws: Draws, cores: tuple[int, ...]) -> Array:
    """Return the throughput of functions alone in packets/ns.

    The shape is (draws, functions, numbers of cores).
    """
    found = np.zeros((*draws.waiting.shape, len(cores)))
    number = np.array(cores, float)
    for one in range(len(draws.queueing)):
        these = np.flatnonzero(draws.fit == one)
        if len(these):
            shape = (len(these), draws.waiting.shape[1], len(cores))
            needed = _settings(draws, these, len(cores))
            every = np.broadcast_to(number, shape).reshape(-1, 1)
            found[these] = solve(needed, every).reshape(shape)
    return found


def _settings(draws: Draws, these: NDArray[np.intp], times: int) -> Demands:
    """Return draws of one fit as settings of one class, each repeated `times` times."""

    def flat(part: Array) -> Array:
        return np.repeat(part[these].reshape(-1, 1), times, 0)

    resources = draws.shared.shape[-1]
    shared = np.repeat(draws.shared[these].reshape(-1, 1, resources), times, 0)
    queueing = draws.queueing[draws.fit[these[0]]]
    return Demands(flat(draws.waiting), flat(draws.computing), shared, queueing)


def used(draws: Draws, cores: float, rates: Array) -> Array:
    """Return the utilisation of each of PLACES, shape (draws, functions, 4).

    `rates` are the throughputs in packets/ns, shape (draws, functions).
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
    """Return low end, median and high end of the interval over draws."""
    tail = (1 - confidence) / 2
    low, middle, high = np.quantile(of_draws, (tail, 0.5, 1 - tail), axis=0)
    return low, middle, high
