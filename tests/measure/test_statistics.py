"""Compares statistics with those of SciPy, and tests how often intervals contain the true value."""

import math
import random
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from slowpath.measure.statistics import (
    estimate,
    mean_interval,
    quantile,
    student_quantile,
    without_outliers,
)

NUMBERS = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=40)


@given(NUMBERS, st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    assert quantile(values, share) == pytest.approx(float(np.quantile(values, share)))


@given(NUMBERS)
def test_an_estimate_is_within_its_interval(values: list[float]) -> None:
    found = estimate(values)
    assert min(values) * 0.999 <= found.value <= max(values) * 1.001
    assert found.interval.low <= found.value <= found.interval.high
    assert found.size == len(values)


@pytest.mark.parametrize("size", [2, 6, 19, 60])
def test_intervals_of_means_are_those_of_scipy(size: int) -> None:
    draw = random.Random(size)  # noqa: S311 - no secret
    values = [draw.gauss(50, 6) for _ in range(size)]
    low, high = stats.t.interval(0.98, size - 1, float(np.mean(values)), stats.sem(values))
    ours = mean_interval(values)
    assert ours.half_width == pytest.approx((high - low) / 2, rel=0.05)
    assert (ours.low + ours.high) / 2 == pytest.approx((low + high) / 2)


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 9, 30, 200])
def test_quantiles_of_student_are_those_of_scipy(freedom: int) -> None:
    for share in (0.9, 0.975, 0.985):
        theirs = float(stats.t.ppf(share, freedom))
        assert student_quantile(freedom, share) == pytest.approx(theirs, rel=0.05)


def _clustered(draw: random.Random, deviation: float, offset: float) -> float:
    """Return a random value from one of two clusters, `offset` below or above 100."""
    return draw.gauss(100 + draw.choice((-offset, offset)), deviation)


def _first_narrow(value: Callable[[], float], sizes: list[int]) -> bool:
    """Return true if the first narrow confidence interval contains the true mean, 100.

    `value` draws a random value; an interval is computed at each of the sample sizes `sizes`.
    """
    values: list[float] = []
    for size in sizes:
        values += [value() for _ in range(size - len(values))]
        interval = mean_interval(values)
        if interval.half_width <= 1.0:
            break
    return 100.0 in interval


def test_repeated_checks_keep_the_confidence_of_intervals() -> None:
    draw = random.Random(7)  # noqa: S311 - no secret
    for deviation, offset, first, least in (
        (0.5, 0, 6, 0.95),
        (2.0, 0, 6, 0.94),
        (2.0, 0, 10, 0.95),
        (1.0, 4, 10, 0.95),
        (0.5, 2, 10, 0.95),
    ):
        sizes = [first, int(first * 1.4), first * 2, int(first * 2.8), first * 4, first * 6]
        value = partial(_clustered, draw, deviation, offset)
        hits = sum(_first_narrow(value, sizes) for _ in range(1000))
        assert hits / 1000 >= least - 0.015, (deviation, offset, first)


def test_the_interval_of_one_value_is_unbounded() -> None:
    assert math.isinf(mean_interval([4.0]).half_width)
    assert estimate([4.0]).value == 4.0


def test_outliers_are_left_out_and_told() -> None:
    values = [10.0 + 0.1 * n for n in range(21)]
    found = estimate([*values[:-2], 1e6, 1e9])
    assert found.value == pytest.approx(estimate(values).value, abs=0.2)
    assert (found.size, found.outliers) == (21, 2)


@given(NUMBERS)
def test_clusters_are_no_outliers(values: list[float]) -> None:
    two = [*values, *values, *(value * 1.2 for value in values)]
    near = [value for value in two if abs(value - sorted(two)[len(two) // 2]) < 0.1]
    assert set(near) <= set(without_outliers(two))
    assert len(without_outliers([10.0] * 6 + [12.0] * 4)) == 10


def test_no_values_are_an_error() -> None:
    for ask in (estimate, without_outliers, lambda values: quantile(values, 0.5)):
        with pytest.raises(ValueError, match="no values"):
            ask([])
