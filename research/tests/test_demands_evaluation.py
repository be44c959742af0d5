"""Tests predictions from counts of instructions and accesses against published measurements."""

import numpy as np
import pytest

import oracles
from demands_evaluation import Settings, beside_others, chosen, compared, left_out
from insights_tables import published_curves, published_groups
from slowpath.insights.cores.assessment import card
from slowpath.insights.cores.prices import shipped_fits
from slowpath.reproduce.insights import curves_of, groups_at


@pytest.mark.parametrize("traffic", ["hit", "miss"])
def test_intervals_have_the_measured_numbers_of_published_functions(traffic: str) -> None:
    """Check that predicted intervals contain the measured numbers of cores of published functions.

    The same is checked if the costs of one of their elements are unknown.
    """
    every = published_curves(traffic)
    curves, fits = curves_of(every, np.arange(0, len(every.names), 8)), shipped_fits()
    found = compared(fits, curves, Settings(0.9, 60))
    # The interval from 24 to 60 would cover all knees, but is 36 cores wide.
    assert found.covered.mean() > 0.8
    assert found.width.mean() < 26
    assert found.knee.mean() < 5
    assert found.share.mean() > 0.9
    assert abs(np.median(found.throughput)) < 0.2
    few = curves_of(curves, np.arange(0, len(curves.names), 4))
    unknown = left_out(fits, few, Settings(0.9, 40))
    assert np.concatenate([one.covered for one in unknown.values()]).mean() > 0.75
    oracles.compared("insights", len(curves.names), "cores from counts")


def test_the_best_neighbours_of_published_functions_are_found_without_their_columns() -> None:
    groups, pairs = published_groups()
    few = np.arange(0, groups.size, 4)
    groups, pairs = groups_at(groups, pairs, few)
    found = beside_others(card().parameters, groups, pairs, Settings(0.9, 60))
    assert found.covered.mean() > 0.8
    assert np.corrcoef(found.predicted, found.measured)[0, 1] > 0.75
    best = chosen(found)
    assert best.lost.mean() < 0.25 * best.lot.mean()
    oracles.compared("insights", groups.size, "groups from counts")
