"""Computes with distributions of times, and with the rest of a request in progress.

While a function is away from an accelerator, the accelerator serves requests without pause. The
ends of requests are a renewal process that begins when the function leaves (W. Feller, An
Introduction to Probability Theory II, chapter XI). u(k), the probability that a request ends in
step k, is the sum of all convolution powers of the distribution of request times. The age of the
request in progress at the function's return follows from u and the time away. The age and the
request times determine the remaining time.

Distributions are arrays `[row, step]` of probabilities. Rows have `STEPS` steps, whose length may
differ between rows; longer times count as the last step.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEPS = 2048
_SIZE = 4 * STEPS
_DAMPED = 1e-8
"""Damping factor at the end of the circular transform. It approximates a series without an end."""
_DEVIATIONS = 8.0
_FAR = 6.0


def fixed(time: Floats) -> Floats:
    """Return the distribution of a constant time, given in steps, for each row.

    Two adjacent steps share the probability, so that the mean is exact.
    """
    time = np.clip(time, 0.0, STEPS - 1.0)
    below = np.minimum(time.astype(int), STEPS - 2)
    found = np.zeros((len(time), STEPS))
    rows = np.arange(len(time))
    found[rows, below] = 1 - (time - below)
    found[rows, below + 1] = time - below
    return found


def normal_times(time: Floats, deviation: Floats) -> Floats:
    """Return normal distributions that are cut off at zero.

    Means and deviations are in steps, by row.
    """
    distance = np.arange(STEPS) - time[:, None]
    width = np.maximum(deviation, 1e-3)[:, None]
    found = np.exp(-0.5 * (np.clip(distance / width, -_FAR, _FAR)) ** 2)
    found *= np.abs(distance) < _FAR * width
    narrow = deviation < 1
    found[narrow] = fixed(time[narrow])
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def poisson_times(mean: Floats, least: Floats, grain: Floats) -> Floats:
    """Return the distribution of `least` plus `grain` times a Poisson-distributed number.

    Args:
        mean: Mean of the total time, in steps, by row.
        least: Constant part of the time.
        grain: Time of each item; 0 for constant times.
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
    """Return the mean of each row's distribution, in steps."""
    return np.asarray(times @ np.arange(STEPS))


def residual_time(away: Floats, requests: Floats) -> Floats:
    """Return the distribution of the rest of the request in progress when the function returns.

    Args:
        away: Distribution of the time between leaving the accelerator and returning to it. The
            first request of other clients begins when the function leaves.
        requests: Distribution of request times; some must take a step or more.
    """
    # With damping, the series of ends vanishes before the circular transform wraps around.
    damp = _DAMPED ** (np.arange(STEPS) / _SIZE)
    ends = np.fft.irfft(1 / (1 - np.fft.rfft(requests * damp, _SIZE)), _SIZE)[:, :STEPS] / damp
    age = _difference(ends, away)
    found = np.maximum(_difference(age, requests), 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _difference(first: Floats, second: Floats) -> Floats:
    """Return the distribution of the second time minus the first.

    Negative differences are left out.
    """
    both = np.conj(np.fft.rfft(first, _SIZE)) * np.fft.rfft(second, _SIZE)
    return np.fft.irfft(both, _SIZE)[:, :STEPS]
