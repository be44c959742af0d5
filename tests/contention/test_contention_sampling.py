"""Tests four plans for choosing the points to measure, including the algorithm of the paper."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from slowpath.contention.profiling.sampling import (
    ActiveSettings,
    Attribute,
    Budget,
    Plan,
    Point,
    QuotaError,
    Sample,
    Settings,
    Space,
    active,
    adaptive,
    ask,
    features_of,
    full,
    measured,
    point,
    random,
)

FLOWS = Attribute("flows", 1, 500_000, 16_000)
SIZE = Attribute("size", 64, 1500, 1500)
SHARE = Attribute("share", 0.0, 1.0, 0.5, whole=False)
SPACE = Space((FLOWS, SIZE), np.log1p(np.array([0.0, 20.0, 60.0, 120.0, 240.0]))[:, None])


def cliff(at: Point) -> float:
    """Return the made-up throughput of a function at a point.

    It falls with competitors, and with the number of flows up to 60,000.
    """
    full_up = min(at.values()["flows"] / 60_000, 1.0)
    return 1000 / (1 + full_up + 0.25 * at.level * (0.3 + full_up))


QUICK = ActiveSettings(candidates=64, refit=24)
PLANS: dict[str, Callable[[int, int], list[Sample]]] = {
    "random": lambda quota, seed: measured(random(SPACE, quota, seed), cliff),
    "adaptive": lambda quota, seed: measured(adaptive(SPACE, quota, seed=seed), cliff),
    "active": lambda quota, seed: measured(active(SPACE, quota, QUICK, seed), cliff),
}


@pytest.mark.parametrize("plan", PLANS)
@settings(max_examples=5)
@given(quota=st.integers(1, 24), seed=st.integers(0, 99))
def test_quotas_are_used_up_and_nothing_is_measured_twice(plan: str, quota: int, seed: int) -> None:
    found = PLANS[plan](quota, seed)
    assert len(found) == quota == len({one.point for one in found})
    for one in found:
        assert one.throughput == cliff(one.point)
        assert 0 <= one.point.level < len(SPACE.levels)
        for attribute in SPACE.attributes:
            assert attribute.least <= one.point.values()[attribute.name] <= attribute.most
    assert found == PLANS[plan](quota, seed)


def test_full_profiling_is_every_level_under_a_grid() -> None:
    found = measured(full(SPACE, 3), cliff)
    assert len(found) == 5 * 3 * 3
    assert {one.point.values()["size"] for one in found} == {64, 782, 1500}
    assert {one.point.level for one in found} == {0, 1, 2, 3, 4}


def test_a_space_that_is_used_up_ends_it() -> None:
    tiny = Space((Attribute("flows", 1, 3, 1),), np.zeros((2, 1)))
    assert len(measured(random(tiny, 50), cliff)) == 6
    assert len(measured(adaptive(tiny, 50), cliff)) == 6
    assert len(measured(active(tiny, 50, ActiveSettings(first=3)), cliff)) == 6
    assert len(measured(active(tiny, 50, ActiveSettings(first=8)), cliff)) == 6


# --- the paper's algorithm ------------------------------------------------------------------------


def test_the_first_measurements_are_those_of_the_algorithm() -> None:
    """Check that adaptive profiling starts with the points that the paper's algorithm measures.

    The algorithm measures default traffic, both ends of each attribute's range, then ends and
    centres of regions, upper halves first. Packet sizes have no effect and keep their default.
    """
    settings = Settings(relevant=0.05, changes=0.05, draws=1)
    found = measured(adaptive(SPACE, 14, settings), cliff)
    flows = [one.point.values()["flows"] for one in found]
    sizes = [one.point.values()["size"] for one in found]
    assert flows[:4] == [16_000, 1, 500_000, 16_000]
    assert sizes[:4] == [1500, 1500, 1500, 64]
    assert set(sizes[4:]) == {1500}
    # Both ends are equal above 60,000 flows, so upper halves are not halved. The upper half of the
    # region that contains 60,000 flows comes first.
    visited = list(dict.fromkeys(flows[4:]))
    assert visited[:5] == [250_000, 125_000, 62_500, 31_250, 46_875]


def test_attributes_that_change_little_are_left_out() -> None:
    def flat(at: Point) -> float:
        return 1000.0 + 10 * at.values()["size"] / 1500 - at.level

    # Without relevant attributes, all points after the first ones are random.
    found = [one.point for one in measured(adaptive(SPACE, 12), flat)]
    assert len({one.values()["flows"] for one in found}) > 6
    fine = adaptive(SPACE, 12, Settings(0.001, 0.001, draws=1))
    first = [one.point for one in measured(fine, flat)]
    assert {one.values()["flows"] for one in first} == {1, 16_000, 500_000}
    assert {782, 1141, 1320} <= {one.values()["size"] for one in first}


def test_regions_of_steps_are_halved_until_nothing_is_between() -> None:
    """Check that a range of flows is halved until its ends are neighbouring whole numbers."""

    def step(at: Point) -> float:
        return 1000.0 if at.values()["flows"] < 77_777 else 500.0

    space = Space((FLOWS,), np.zeros((1, 1)))
    found = measured(adaptive(space, 60, Settings(passes=1)), step)
    flows = {one.point.values()["flows"] for one in found}
    assert {77_776, 77_777} <= flows


def test_budgets_say_when_they_are_used_up() -> None:
    budget = Budget(1)
    one, other = point(0, {"flows": 1, "size": 64}), point(0, {"flows": 2, "size": 64})

    def asking(at: Point) -> Plan:
        yield from budget.throughput(at)

    assert measured(asking(one), cliff) == [Sample(one, cliff(one))]
    assert measured(asking(one), cliff) == []
    with pytest.raises(QuotaError):
        ask(asking(other))
    with pytest.raises(ValueError, match="one measurement"):
        Budget(0)


def test_values_are_those_that_make_sense() -> None:
    assert FLOWS.inside(0.5) == 250_000
    assert FLOWS.at(-5) == 1
    assert SHARE.at(0.25) == 0.25


# --- all four -------------------------------------------------------------------------------------


def errors_of(plan: str) -> dict[str, float]:
    """Train models on the 48 measurements that a plan chooses.

    Return the mean relative error of each model at new points.
    """
    found = [error(PLANS[plan](48, seed)) for seed in range(2)]
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def error(samples: list[Sample]) -> dict[str, float]:
    """Train two models on these measurements, and return their relative errors at new points."""
    kernel = ConstantKernel() * Matern(np.full(3, 0.5), (0.05, 20), nu=1.5)
    process = GaussianProcessRegressor(
        kernel + WhiteKernel(1e-4, (1e-6, 1)), normalize_y=True, random_state=0
    )
    return {"trees": error_of(TREES, samples), "process": error_of(process, samples)}


def error_of(learner: Any, samples: list[Sample]) -> float:
    """Train a model on these measurements, and return its relative error at new points."""
    draw = np.random.default_rng(99)
    points = [SPACE.drawn(draw) for _ in range(300)]
    # Half of the points have up to 60,000 flows, where throughput changes.
    points += [
        point(one.level, one.values() | {"flows": one.values()["flows"] // 8}) for one in points
    ]
    x, y = features_of(SPACE, [one.point for one in samples]), [one.throughput for one in samples]
    predicted = np.exp(learner.fit(x, np.log(y)).predict(features_of(SPACE, points)))
    return float(np.abs(predicted / [cliff(one) for one in points] - 1).mean())


TREES = GradientBoostingRegressor(random_state=0, n_estimators=200)


@pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels
def test_four_ways_compared() -> None:
    """Check that models learn more from 48 chosen points than from 48 random ones.

    They must also come close to models that are trained on all points. Each plan is judged with the
    model that it is made for: the paper's with trees, active learning with a Gaussian process.
    """
    by_chance, by_paper, by_uncertainty = (errors_of(plan) for plan in PLANS)
    everything = measured(full(SPACE, 17), cliff)
    assert len(everything) > 25 * 48
    assert by_paper["trees"] < by_chance["trees"]
    assert by_uncertainty["process"] < by_chance["process"]
    assert by_paper["trees"] < error_of(TREES, everything) + 0.01
