"""What is left of the request at hand, when somebody comes back after a time that scatters.

While a function is away, an accelerator serves the requests of others one after the other; the
function's own is next when that at hand is done. The ends of requests are a renewal process that
begins when the function leaves (W. Feller, An Introduction to Probability Theory II, chapter XI):
u(k), how likely one ends in step k, is the sum of all powers of the distribution of request times;
an age at return, and so what is left, follow from u, from these and from how long it is away.

Distributions are of whole steps, `[row, step]`, of which each row has `STEPS`, of a length of its
own; what is longer counts as the last one.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEPS = 2048
_SIZE = 4 * STEPS
_DAMPED = 1e-8
"""What is left at the end of the circle of a transform of a series that does not end by itself."""
_DEVIATIONS = 8.0
_FAR = 6.0


def fixed(time: Floats) -> Floats:
    """A time in steps, by row, that is always the same: split between two steps, the mean right."""
    time = np.clip(time, 0.0, STEPS - 1.0)
    below = np.minimum(time.astype(int), STEPS - 2)
    found = np.zeros((len(time), STEPS))
    rows = np.arange(len(time))
    found[rows, below] = 1 - (time - below)
    found[rows, below + 1] = time - below
    return found


def scattered(time: Floats, deviation: Floats) -> Floats:
    """Times about a mean, in steps, by row (normal; none is below zero)."""
    off = np.arange(STEPS) - time[:, None]
    width = np.maximum(deviation, 1e-3)[:, None]
    found = np.exp(-0.5 * (np.clip(off / width, -_FAR, _FAR)) ** 2)
    found *= np.abs(off) < _FAR * width
    sure = deviation < 1
    found[sure] = fixed(time[sure])
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def counted(mean: Floats, least: Floats, grain: Floats) -> Floats:
    """Times of `least`, and of `grain` for each of so many as there happen to be (Poisson).

    Args:
        mean: of all, in steps, by row.
        least: what takes so long whatever there is.
        grain: what each takes; 0 where times do not scatter.
    """
    number = np.where(grain > 0, (mean - least) / np.where(grain > 0, grain, 1.0), 0.0)
    number = np.maximum(number, 0.0)
    most = int(np.ceil(number.max(initial=0.0) + _DEVIATIONS * np.sqrt(number.max(initial=0.0))))
    chance = np.exp(-number)
    found = chance[:, None] * fixed(mean - number * grain)
    for count in range(1, most + 2):
        chance = chance * number / count
        found += chance[:, None] * fixed(mean + (count - number) * grain)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def together(first: Floats, second: Floats) -> Floats:
    """One time after the other, which know nothing of each other."""
    both = np.fft.rfft(first, _SIZE) * np.fft.rfft(second, _SIZE)
    found = np.maximum(np.fft.irfft(both, _SIZE)[:, : 2 * STEPS], 0.0)
    found[:, STEPS - 1] += found[:, STEPS:].sum(axis=1)
    return found[:, :STEPS]


def mean(times: Floats) -> Floats:
    """In steps, by row."""
    return np.asarray(times @ np.arange(STEPS))


def left(away: Floats, requests: Floats) -> Floats:
    """What is left of the request at hand, when somebody comes back.

    Args:
        away: how long somebody is away; a request of others begins when it begins.
        requests: how long these take; not always less than a step.
    """
    # Damped, the series of ends dies out before the circle closes.
    damp = _DAMPED ** (np.arange(STEPS) / _SIZE)
    ends = np.fft.irfft(1 / (1 - np.fft.rfft(requests * damp, _SIZE)), _SIZE)[:, :STEPS] / damp
    age = _apart(ends, away)
    found = np.maximum(_apart(age, requests), 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _apart(first: Floats, second: Floats) -> Floats:
    """By how much the second is beyond the first, where it is."""
    both = np.conj(np.fft.rfft(first, _SIZE)) * np.fft.rfft(second, _SIZE)
    return np.fft.irfft(both, _SIZE)[:, :STEPS]
