"""Distributions of times, and the remaining time of a request that is in progress.

An accelerator serves requests one after the other while a function is away. The ends of requests
are a renewal process that begins when the function leaves (W. Feller, An Introduction to
Probability Theory II, chapter XI). u(k), the probability that a request ends in step k, is the sum
of all convolution powers of the distribution of request times. At the function's return, the age of
the request in progress follows from u, the request times and the length of the absence. This age
determines the remaining time.

Distributions are over discrete steps, `[row, step]`. Each row has `STEPS` steps, with a step length
of its own; longer times count as the last step.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEPS = 2048
_SIZE = 4 * STEPS
_DAMPED = 1e-8
"""Remaining weight, at the end of the circular transform, of a series that does not end by
itself."""
_DEVIATIONS = 8.0
_FAR = 6.0


def fixed(time: Floats) -> Floats:
    """Return the distribution of a constant time in steps, by row.

    The probability is split between two steps, so that the mean is right.
    """
    time = np.clip(time, 0.0, STEPS - 1.0)
    below = np.minimum(time.astype(int), STEPS - 2)
    found = np.zeros((len(time), STEPS))
    rows = np.arange(len(time))
    found[rows, below] = 1 - (time - below)
    found[rows, below + 1] = time - below
    return found


def normal_times(time: Floats, deviation: Floats) -> Floats:
    """Return normal distributions with the given means in steps, by row, cut off at zero."""
    off = np.arange(STEPS) - time[:, None]
    width = np.maximum(deviation, 1e-3)[:, None]
    found = np.exp(-0.5 * (np.clip(off / width, -_FAR, _FAR)) ** 2)
    found *= np.abs(off) < _FAR * width
    sure = deviation < 1
    found[sure] = fixed(time[sure])
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def poisson_times(mean: Floats, least: Floats, grain: Floats) -> Floats:
    """Return the distribution of `least` plus a Poisson number of times `grain`.

    Args:
        mean: mean of the total time, in steps, by row.
        least: constant part of the time.
        grain: time of each item; 0 if times are constant.
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


def convolved(first: Floats, second: Floats) -> Floats:
    """Return the distribution of the sum of two independent times."""
    both = np.fft.rfft(first, _SIZE) * np.fft.rfft(second, _SIZE)
    found = np.maximum(np.fft.irfft(both, _SIZE)[:, : 2 * STEPS], 0.0)
    found[:, STEPS - 1] += found[:, STEPS:].sum(axis=1)
    return found[:, :STEPS]


def mean(times: Floats) -> Floats:
    """Return the mean in steps, by row."""
    return np.asarray(times @ np.arange(STEPS))


def residual_time(away: Floats, requests: Floats) -> Floats:
    """Return the distribution of the remaining time of the request in progress at a return.

    Args:
        away: time away from the accelerator; the others' first request starts with it.
        requests: request time of the others; not always less than a step.
    """
    # Damping makes the series of ends vanish before the circular transform wraps around.
    damp = _DAMPED ** (np.arange(STEPS) / _SIZE)
    ends = np.fft.irfft(1 / (1 - np.fft.rfft(requests * damp, _SIZE)), _SIZE)[:, :STEPS] / damp
    age = _apart(ends, away)
    found = np.maximum(_apart(age, requests), 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _apart(first: Floats, second: Floats) -> Floats:
    """Return the distribution of the excess of the second time over the first."""
    both = np.conj(np.fft.rfft(first, _SIZE)) * np.fft.rfft(second, _SIZE)
    return np.fft.irfft(both, _SIZE)[:, :STEPS]
