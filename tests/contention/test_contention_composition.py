"""Tests the throughput under contention for several resources, and detected execution patterns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contention_tables import profile
from slowpath.contention.columns import OwnContention
from slowpath.contention.methods import fit_slomo
from slowpath.contention.model import (
    COMPOSITIONS,
    Detected,
    better_of,
    bottleneck,
    contention_at,
    least,
    run_to_completion,
    total_contention,
)
from slowpath.core.arrays import Floats

SHARES = st.lists(st.floats(0.05, 1.0), min_size=1, max_size=4)


@given(SHARES, st.floats(1, 1e6))
def test_compositions_are_in_order(shares: list[float], solo: float) -> None:
    """Check that the combined throughputs have the order sum <= run-to-completion <= pipeline.

    Pipeline must equal the minimum, and be at most the solo throughput.
    """
    parts, alone = np.array([[solo * one] for one in shares]), np.array([solo])
    found = {name: float(one(parts, alone)[0]) for name, one in COMPOSITIONS.items()}
    slack = 1 + 1e-9
    assert found["sum"] <= found["run-to-completion"] * slack
    assert found["run-to-completion"] <= found["pipeline"] * slack
    assert found["pipeline"] == found["min"] <= solo
    assert shares[int(bottleneck(parts)[0])] == min(shares)


def test_run_to_completion_adds_times() -> None:
    """Check that run-to-completion adds up the times at two resources.

    A packet takes 2 + 3 time units alone, and 1 + 4 units more with contention.
    """
    parts = np.array([[1 / (2 + 1 + 3)], [1 / (2 + 3 + 4)]])
    assert run_to_completion(parts, np.array([1 / 5])) == pytest.approx([1 / (3 + 7)])
    assert least(parts, np.array([1 / 5])) == pytest.approx([1 / 9])


@given(st.floats(0.05, 1.0), st.floats(1, 1e6))
def test_one_resource_is_no_composition(share: float, solo: float) -> None:
    parts, alone = np.array([[solo * share]]), np.array([solo])
    for one in COMPOSITIONS.values():
        assert one(parts, alone)[0] == pytest.approx(solo * share)


def detect(parts: Floats, solo: Floats, measured: Floats) -> Detected:
    """Detect the execution pattern that predicts the measured throughput best.

    `parts` has the throughput under contention for each single resource.
    """
    predicted = (least(parts, solo), run_to_completion(parts, solo))
    return better_of(*(np.abs(one / measured - 1) for one in predicted))


@pytest.mark.parametrize("pattern", ["pipeline", "run-to-completion"])
def test_patterns_are_detected(pattern: str) -> None:
    draw = np.random.default_rng(3)
    parts = 100 * draw.uniform(0.4, 1, (2, 12))
    solo = np.full(12, 100.0)
    measured = COMPOSITIONS[pattern](parts, solo) * draw.normal(1, 0.02, 12)  # type: ignore[index]
    found = detect(parts, solo, measured)
    assert found.pattern == pattern
    assert found.confidence > 0.95
    errors = (found.pipeline_error, found.run_to_completion_error)
    assert errors[0 if pattern == "pipeline" else 1] == min(errors)


def test_patterns_that_co_runs_do_not_tell_apart_are_not_named() -> None:
    solo = np.full(12, 100.0)
    one_resource = np.array([np.linspace(50, 90, 12), solo])
    noisy = one_resource.min(axis=0) * np.random.default_rng(0).normal(1, 0.05, 12)
    assert detect(one_resource, solo, noisy).pattern is None
    assert detect(one_resource[:, :2], solo[:2], noisy[:2]).pattern is None


@pytest.mark.filterwarnings("ignore")
def test_slomo_extrapolates_by_the_solo_throughput() -> None:
    here = profile(30)
    slomo = fit_slomo(here, solo=1000.0)
    predicted = slomo.predict(here.columns)
    assert slomo.predict(here.columns, np.full(30, 800.0)) == pytest.approx(0.8 * predicted)
    with pytest.raises(ValueError, match="is unknown"):
        fit_slomo(here).predict(here.columns, np.full(30, 800.0))


def test_competitors_add_up() -> None:
    one = {"ipc": 1.0, "irt": 2e9, "l2crd": 1e6, "wss_mb": 3.0}
    two = {"ipc": 0.5, "irt": 2e9, "l2crd": 5e6, "wss_mb": 6.0}
    found = total_contention([one, two], list(one))
    assert found == {"ipc": pytest.approx(4e9 / 6e9), "irt": 4e9, "l2crd": 6e6, "wss_mb": 9.0}
    assert total_contention([one], list(one)) == one
    assert total_contention([], list(one)) == dict.fromkeys(one, 0.0)


def test_own_contention_is_that_of_the_nearest_traffic() -> None:
    here = profile(5)
    here.columns["flow_count"][:] = [100, 1000, 10000, 100000, 1000000]
    own = OwnContention(here.origin, here.rows, here.columns)
    assert contention_at(own, 9000, 1500)["l2crd"] == here.columns["l2crd"][2]
    assert contention_at(own, 1, 64)["l2crd"] == here.columns["l2crd"][0]
