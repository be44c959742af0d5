"""Draws random prices, from which the intervals of predictions follow.

Each part of a function has its own prices of accesses, like published elements. Prices have gamma
distributions around the median of elements, with the elements' relative spread times WIDER. In each
draw, all instructions have one price, because a compiler translates all parts in one way. The share
of accesses that are fetched together is uniform from 0 to 1. Draws use the network fits in turn.

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
"""Spread of prices, as a share of the elements' spread. It is calibrated so that intervals have the
stated coverage for published functions without filters. Functions with filters are the hardest to
predict (docs/insights.md)."""
_SHARP = 1e-3
"""Minimum relative spread of prices, to avoid a division by zero."""
_PACKING = 1 << 20
"""Used in seeds, in place of the number of a part, for draws that concern all parts."""


PLACES = ("computation", "IMEM", "EMEM", "line")
"""Names of the resources that may be bottlenecks, in the order of `used`."""


class Draws(NamedTuple):
    """The demands of functions on the network in each random draw; times are in ns."""

    fit: NDArray[np.intp]  # index of the network fit, shape (draws,)
    waiting: Array  # waiting without contention, shape (draws, functions)
    computing: Array  # time on a core, shape (draws, functions)
    shared: Array  # service by shared resources, shape (draws, functions, resources)
    queueing: Array  # queue length factors c, shape (fits, resources)


def drawn(
    prices: Prices, packets: Packets, seed: int = 0, draws: int = DRAWS, wider: float = WIDER
) -> Draws:
    """Draw the demands of functions: the base of a packet, plus counts times prices."""
    # Import SciPy here, because the process that forks workers for accelerators must not load it.
    from scipy.special import gammaincinv

    base = prices.base

    def price(random: np.random.Generator, one: Price) -> Array:
        """Return a random price for each draw, shape (draws, 1)."""
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
    """Return evenly spaced numbers from 0 to 1 in random order: they vary less than random ones."""
    return np.asarray((random.permutation(draws) + 0.5) / draws)


def repeated(one: Draws, draws: int) -> Draws:
    """Repeat a single draw `draws` times, for functions whose demands are not random."""
    return Draws(
        np.repeat(one.fit, draws),
        np.repeat(one.waiting, draws, 0),
        np.repeat(one.computing, draws, 0),
        np.repeat(one.shared, draws, 0),
        one.queueing,
    )


def one_of(draws: Draws, at: int) -> Draws:
    """Return the draws of the function with the index `at`."""
    part = slice(at, at + 1)
    return draws._replace(
        waiting=draws.waiting[:, part],
        computing=draws.computing[:, part],
        shared=draws.shared[:, part],
    )


def _accesses(fewest: Array, most: Array, apart: Array) -> Array:
    """Return the access counts if the share `apart` is not fetched together.

    The shape is (draws, functions).
    """
    return np.asarray(fewest + apart * (most - fewest))


def throughput(draws: Draws, cores: tuple[int, ...]) -> Array:
    """Return the throughput of functions alone in packets/ns.

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
    """Return the draws `these`, which have a common fit, as settings; repeat each `times` times."""

    def flat(part: Array) -> Array:
        return np.repeat(part[selected].reshape(-1, 1), times, 0)

    resources = draws.shared.shape[-1]
    shared = np.repeat(draws.shared[selected].reshape(-1, 1, resources), times, 0)
    queueing = draws.queueing[draws.fit[selected[0]]]
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
    """Return lower end, median and upper end of the interval over draws."""
    tail = (1 - confidence) / 2
    low, middle, high = np.quantile(of_draws, (tail, 0.5, 1 - tail), axis=0)
    return low, middle, high
