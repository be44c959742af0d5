"""Tests the comparison of predicted with measured scores of pairs of functions."""

import numpy as np
import pytest

import oracles
from insights_tables import published_groups
from slowpath.insights.cores.groups import Scores
from slowpath.insights.cores.pairs import learn, predicted
from slowpath.reproduce.insights import (
    agreement,
    groups_at,
    higher_is_better,
    loss,
    overlap,
    truth,
    without_solo,
)


def test_overlap_and_loss_by_hand() -> None:
    true = np.array([[6.0, 5, 4, 3, 2, 1]])
    guess = np.array([[5.0, 6, 1, 4, 3, 2]])
    assert [overlap(true, guess, count)[0] for count in (1, 2, 3)] == [0, 1, pytest.approx(2 / 3)]
    assert loss(true, guess) == pytest.approx([1 / 6])
    assert loss(-true, -guess) == pytest.approx([3.0])
    kept = Scores(true, true, guess, guess)
    assert higher_is_better(kept, "throughput_total") is true
    assert (higher_is_better(kept, "latency_total") == -guess).all()
    one, other = np.random.default_rng(0).random((2, 60_000, 6))
    chance = [overlap(one, other, count).mean() for count in (1, 2, 3)]
    assert chance == pytest.approx([1 / 6, 1 / 3, 1 / 2], abs=0.01)


def test_published_groups_that_were_left_out() -> None:
    """Check the accuracy of predicted scores for published groups left out of training."""
    groups, pairs = published_groups()
    order = np.random.default_rng(0).permutation(groups.size)
    model = learn(*groups_at(groups, pairs, np.sort(order[:200])))
    left = groups_at(groups, pairs, np.sort(order[200:]))
    true = truth(*left)
    for query, minima in (
        (left[0], (0.74, 0.83, 0.91)),
        (without_solo(left[0]), (0.68, 0.8, 0.89)),
    ):
        found = agreement(true, predicted(model, query), "throughput_total")
        assert (found.overlap.mean(0) >= minima).all()
        assert found.loss.mean() <= 0.01
    oracles.compared("insights", left[0].size, "groups of four functions")
