"""Statistics of measurements, held against SciPy and against what they promise."""

import random
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from slowpath.measurements.timing.statistics import (
    bootstrap,
    estimate,
    median_interval,
    quantile,
    spread,
)

NUMBERS = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=40)


@given(NUMBERS, st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    assert quantile(values, share) == pytest.approx(float(np.quantile(values, share)))


@given(NUMBERS)
def test_an_estimate_is_the_median_within_its_interval(values: list[float]) -> None:
    found = estimate(values)
    assert found.value == statistics.median(values)
    assert min(values) <= found.interval.low <= found.value <= found.interval.high <= max(values)
    assert found.value in found.interval
    assert found.size == len(values)


def test_intervals_are_those_of_scipy() -> None:
    draw = random.Random(5)  # noqa: S311 - no secret
    for size in (7, 12, 30):
        values = [draw.gauss(100, 4) for _ in range(size)]
        theirs = stats.bootstrap(
            (values,), np.median, method="percentile", n_resamples=20_000, rng=1
        ).confidence_interval
        ours = bootstrap(values, resamples=20_000)
        assert ours.low == pytest.approx(theirs.low, abs=0.6)
        assert ours.high == pytest.approx(theirs.high, abs=0.6)


@given(st.lists(st.floats(0.1, 1e6), min_size=6, max_size=80))
def test_intervals_of_medians_are_those_of_scipy(values: list[float]) -> None:
    theirs = stats.quantile_test(values, q=0, p=0.5).confidence_interval(0.95)
    assert median_interval(values) == (theirs.low, theirs.high)


def test_intervals_of_medians_contain_what_they_promise() -> None:
    draw = random.Random(7)  # noqa: S311 - no secret
    for size in (6, 10, 14, 33):
        samples = ([draw.gauss(100, 3) for _ in range(size)] for _ in range(2000))
        hits = sum(100.0 in median_interval(values) for values in samples)
        assert 0.94 <= hits / 2000 <= 0.995


def test_few_values_have_their_range() -> None:
    assert median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)
    assert median_interval([4.0]) == (4.0, 4.0)


def test_outliers_move_neither_median_nor_spread() -> None:
    values = [10.0 + 0.1 * n for n in range(21)]
    worse = [*values[:-2], 1e6, 1e9]
    assert abs(estimate(worse).value - estimate(values).value) < 0.2
    assert spread(worse) == pytest.approx(spread(values), rel=0.2)


def test_the_same_values_give_the_same_interval() -> None:
    values = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]
    assert bootstrap(values) == bootstrap(values)


def test_without_values_there_is_nothing_to_say() -> None:
    for ask in (bootstrap, estimate, median_interval, lambda values: quantile(values, 0.5)):
        with pytest.raises(ValueError, match="no values"):
            ask([])
