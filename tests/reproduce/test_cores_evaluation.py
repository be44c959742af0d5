"""Tests the comparison of predicted with measured throughput curves of published functions."""

import numpy as np
import pytest

import oracles
from insights_tables import published_curves
from slowpath.insights.cores.model import TRAFFIC, learn, shipped
from slowpath.reproduce.insights import at_cores, compared_curves, curves_of


def test_throughput_between_points_is_on_lines() -> None:
    curve = np.array([[0.0, 6, 12, 18, 24, 30, 36]])
    assert at_cores(curve, np.array([27.0])) == pytest.approx([3.0])


@pytest.mark.parametrize(("traffic", "seen", "knee"), [("hit", 400, 1.7), ("miss", 256, 1.9)])
def test_published_functions_that_were_left_out(traffic: str, seen: int, knee: float) -> None:
    """Check the accuracy of predicted throughput for published functions left out of training.

    The test uses one split and an ensemble of two models.
    """
    curves = published_curves(traffic)
    order = np.random.default_rng(0).permutation(len(curves.names))
    left = curves_of(curves, np.sort(order[seen:]))
    model = learn(curves_of(curves, np.sort(order[:seen])), members=2)
    found = compared_curves(model, left, 0.9)
    assert found.knee.mean() <= knee
    assert found.throughput.mean() <= 0.035
    assert found.latency.mean() <= 0.06
    assert found.share.mean() >= 0.96
    assert 0.8 <= found.covered.mean() <= 1
    oracles.compared("insights", len(left.names), f"curves of throughput ({traffic})")


def test_the_shipped_model_knows_its_functions() -> None:
    for traffic in TRAFFIC:
        curves = published_curves(traffic)
        found = compared_curves(shipped(traffic), curves, 0.9)
        assert found.knee.mean() < 1.1
        assert found.throughput.mean() < 0.016
        oracles.compared("insights", len(curves.names), f"shipped predictions ({traffic})")
