"""Tests models of memory contention: errors on new rows, regressors, intervals, training range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from contention_tables import columns, profile, throughput
from slowpath.contention.memory.evaluation import Protocol, evaluate
from slowpath.contention.memory.features import SETS, cache_misses, columns_of, features
from slowpath.contention.memory.intervals import TOGETHER, conformal, range_of
from slowpath.contention.memory.recipes import RECIPES, fit_stage, training_key
from slowpath.contention.memory.selection import (
    Trainings,
    candidates,
    candidates_and_baselines,
    errors_of,
    grouped_folds,
    groups,
    held_out_ends,
    relative,
    select,
)
from slowpath.contention.model import rows_of

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels


@given(st.lists(st.integers(0, 20), min_size=1, max_size=60), st.integers(2, 12), st.integers(0, 9))
def test_groups_are_held_out_whole_and_once(them: list[int], count: int, seed: int) -> None:
    group = np.array(them)
    masks = list(grouped_folds(group, count, seed))
    assert (np.sum(masks, axis=0) == 1).all()
    for mask in masks:
        assert mask.any()
        assert not set(group[mask]) & set(group[~mask])
    sizes = [len(set(group[mask])) for mask in masks]
    assert max(sizes) - min(sizes) <= 1


def test_equal_contention_is_one_group_whatever_the_traffic() -> None:
    of = columns(6)
    for name in ("ipc", "irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb"):
        of[name][4] = of[name][1]
    found = groups(of)
    assert found[4] == found[1]
    assert len(set(found)) == 5
    of["wss_mb"][4] += 0.001
    assert len(set(groups(of))) == 6


def test_rows_are_on_their_own_where_contention_is_the_same() -> None:
    of = {name: np.full(12, values[0]) for name, values in columns(12).items()}
    of["flow_count"] = np.arange(1.0, 13.0)
    assert len(set(groups(of))) == 12


def test_pressure_is_what_misses_the_share_of_the_cache() -> None:
    of = columns(3)
    of["wss_mb"] = np.array([2.0, 3.0, 6.0])
    rate = of["l2crd"] + of["l2cwr"]
    assert cache_misses(of, 6.0) == pytest.approx([0, 0, rate[2] / 2])
    assert cache_misses(of, 2.0) == pytest.approx([rate[0] / 2, rate[1] * 2 / 3, rate[2] * 5 / 6])


def test_devices_add_to_the_bus_and_to_nothing_else() -> None:
    of = columns(8)
    without = {one.name: one.values for one in features(of, "none", "pressure, bus", 6.0)}
    of["dma_mb"] = np.full(8, 640.0)
    found = {one.name: one.values for one in features(of, "none", "pressure, bus", 6.0)}
    np.testing.assert_array_equal(found["pressure"], without["pressure"])
    np.testing.assert_allclose(found["bus"] - without["bus"], 1e7)
    for name in ("accesses, moved", "roots, moved"):
        moved = {one.name: one.values for one in features(of, "none", name, 6.0)}
        np.testing.assert_allclose(moved["moved"], 1e7)


def test_a_score_stands_for_counters_or_beside_them() -> None:
    of = columns(4)
    score = {"flow_count": of["flow_count"], "packet_size_bytes": of["packet_size_bytes"]}
    score["score"] = np.arange(4.0)

    def names(of: dict[str, NDArray[np.float64]], contention: str) -> list[str]:
        return [one.name for one in features(of, "none", contention, 6.0)]

    counted = names(of, "pressure, bus")
    assert names(score, "pressure, bus") == ["score"]
    assert names({**of, **score}, "pressure, bus") == [*counted, "score"]
    assert names({**of, **score}, "none") == []


@pytest.mark.parametrize("name", SETS)
def test_features_are_finite_without_any_competitor(name: str) -> None:
    of = {
        key: np.zeros(2) if key not in ("flow_count", "packet_size_bytes") else values
        for key, values in columns(2).items()
    }
    for one in features(of, "flows, table", name, 6.0):
        assert np.isfinite(one.values).all()


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_learn_and_stay_within_what_they_learnt(name: str) -> None:
    """Check the errors of each memory model, and its predictions far from the training rows.

    Far predictions must stay near the mean. Errors must be a quarter below those of a constant,
    except for SLOMO, which ignores traffic.
    """
    trained_on = profile(40)
    stage = fit_stage(RECIPES[name], rows_of(trained_on))
    new = columns(30, seed=7)
    predicted = np.exp(stage.log_throughput(new))
    error = relative(predicted, throughput(new)).mean()
    constant = relative(np.full(30, np.median(trained_on.throughput)), throughput(new)).mean()
    assert error < constant * (1.5 if name in ("constant", "slomo") else 0.75)
    far = {key: values * 1e3 for key, values in new.items()}
    assert np.exp(stage.log_throughput(far)) == pytest.approx(predicted.mean(), rel=0.9)
    assert stage.log_throughput(columns_of(new, np.zeros(30, dtype=bool))).shape == (0,)


def test_tables_that_double_are_seen() -> None:
    """Check that models predict a sudden drop of throughput at 2^14 flows.

    There, the hash table of a real function doubles.
    """
    here = profile(60, noise=0.0)
    flows = np.linspace(10000, 30000, 60)
    step = np.where(flows >= 16384, 600.0, 800.0)
    rows = rows_of(here)._replace(columns={**here.columns, "flow_count": flows}, throughput=step)
    query = {name: values[[0, 0]] for name, values in here.columns.items()}
    query["flow_count"] = np.array([16383.0, 16384.0])
    for name in ("rough-table", "rough-load"):
        before, after = np.exp(fit_stage(RECIPES[name], rows).log_throughput(query))
        assert before > 740
        assert after < 660


def test_the_same_rows_make_the_same_stage() -> None:
    here = profile(25)
    for recipe in RECIPES.values():
        one, two = (fit_stage(recipe, rows_of(here)).log_throughput(here.columns) for _ in range(2))
        assert (one == two).all()


@pytest.mark.parametrize("name", ["falling-pressure", "monotone-pressure"])
def test_more_contention_never_helps_where_that_is_promised(name: str) -> None:
    here = profile(40, noise=0.1)
    stage = fit_stage(RECIPES[name], rows_of(here))
    of = {name: np.full(50, values[0]) for name, values in here.columns.items()}
    of["l2crd"] = np.geomspace(1e5, 1e9, 50)
    of["wss_mb"] = np.full(50, 9.0)
    assert (np.diff(stage.log_throughput(of)) <= 1e-12).all()


# --- selection, intervals, ranges -----------------------------------------------------------------


def test_the_best_on_held_out_rows_is_selected() -> None:
    here = profile(30)
    tried = [RECIPES[name] for name in ("ridge-counters", "process-plain", "published")]
    found = select(Trainings(rows_of(here)), tried)
    assert found.recipe.name == min(found.scores, key=lambda one: one.overall).recipe
    assert found.recipe.name == "process-plain"
    assert [one.recipe for one in found.scores] == [one.name for one in tried]


def test_the_race_leaves_scores_of_what_is_left_as_they_are() -> None:
    """Check that memory models with clearly larger errors are dropped early.

    This must not change the scores of the remaining models.
    """
    here = rows_of(profile(30))
    names = ("process-plain", "constant", "process-table", "average", "ridge-pressure")
    tried = [RECIPES[name] for name in names]
    found = select(Trainings(here), tried)
    left = [one for one in found.scores if one.beyond is not None]
    assert {"process-plain"} <= {one.recipe for one in left} < set(names)
    assert "constant" not in {one.recipe for one in left}
    for one in left:
        assert select(Trainings(here), [RECIPES[one.recipe]]).scores == (one,)
    assert found.recipe.name in {one.recipe for one in left}


def test_members_that_see_the_same_learn_once() -> None:
    """Check that regressors with equal input columns are trained only once.

    If competitors are described by one score, regressors that differ only in performance counters
    are equal.
    """
    counted = rows_of(profile(12))
    of = {name: counted.columns[name] for name in ("flow_count", "packet_size_bytes")}
    scored = counted._replace(columns={**of, "score": np.arange(12.0)})
    one, other = (RECIPES[name].members[0] for name in ("trees-accesses", "trees-pressure"))
    assert training_key(one, scored) == training_key(other, scored)
    assert training_key(one, counted) != training_key(other, counted)
    assert training_key(one, scored) != training_key(RECIPES["falling-pressure"].members[0], scored)


def test_recipes_that_see_devices_are_for_rows_that_have_them() -> None:
    here = rows_of(profile(30))
    assert not any(one.baseline or one.devices for one in candidates(here))
    here = here._replace(columns={**here.columns, "dma_mb": np.zeros(30)})
    assert not any(one.devices for one in candidates(here))
    here.columns["dma_mb"][3] = 100.0
    assert all(one.devices for one in candidates(here))
    names = {one.name for one in candidates_and_baselines(here)}
    assert {"slomo", "published", "average-bus"} <= names
    assert "average" not in names


def test_ends_are_the_lowest_and_highest_rows() -> None:
    here = profile(30)
    ends = dict(held_out_ends(here.columns))
    assert {"low flow_count", "high flow_count", "high wss_mb", "high accesses"} <= ends.keys()
    assert not any("packet_size" in name for name in ends)
    mask = ends["high wss_mb"]
    assert here.columns["wss_mb"][mask].min() > here.columns["wss_mb"][~mask].max()
    assert 3 <= mask.sum() <= 7


@pytest.mark.parametrize(("recipe", "profiles"), [("ridge-pressure", 30), ("process-plain", 10)])
def test_intervals_have_new_rows_as_often_as_they_say(recipe: str, profiles: int) -> None:
    """Check that 90 % intervals contain about 90 % of the throughputs of new rows."""
    inside = []
    for seed in range(profiles):
        here = profile(40, seed, noise=0.05)
        made = conformal(fit_stage(RECIPES[recipe], rows_of(here)), Trainings(rows_of(here)))
        there = columns(30, 1000 + seed)
        low, high = made.interval(there, 0.9)
        logs = np.log(throughput(there, 0.05, 5000 + seed))
        inside.append((low <= logs) & (logs <= high))
        wide = made.interval(there, 0.98)
        assert (wide[0] <= low).all()
        assert (wide[1] >= high).all()
    assert 0.85 <= np.mean(inside) <= 0.97


def test_intervals_are_as_wide_as_the_recipe_is_unsure() -> None:
    """Check that intervals are wider far from the training rows for models that know the distance.

    Gaussian processes know it; linear models do not.
    """
    here = profile(40)
    near = columns(30, 1000)
    widths = {}
    for recipe in ("ridge-pressure", "process-plain"):
        stage = fit_stage(RECIPES[recipe], rows_of(here))
        made = conformal(stage, Trainings(rows_of(here)))
        low, high = made.interval(near, 0.9)
        spread = stage.spread(near)
        widths[recipe] = np.ptp(high - low) / np.median(high - low)
        assert (spread > 0).all()
        assert np.ptp(spread) == 0 or np.corrcoef(spread, high - low)[0, 1] > 0.7
    assert widths["process-plain"] > 2 * widths["ridge-pressure"]


def test_nested_cross_validation_reports_what_was_not_seen() -> None:
    here = profile(30)
    tried = [RECIPES["ridge-counters"], RECIPES["ridge-pressure"]]
    found = evaluate(None, rows_of(here), Protocol(2, 0.9, tried))
    assert found.relative_errors.shape == (2, 30)
    assert found.chosen is not None
    assert sum(found.chosen.values()) == 20
    assert set(found.chosen) <= {"ridge-counters", "ridge-pressure"}
    assert 0.6 <= found.coverage <= 1
    shuffled = here.throughput[np.random.default_rng(0).permutation(30)]
    learnt_nothing = evaluate(tried[1], rows_of(here)._replace(throughput=shuffled), Protocol())
    assert learnt_nothing.errors.mape > 3 * found.errors.mape


def test_repetitions_are_no_new_rows() -> None:
    once = np.array([0.1, 0.2, 0.3])
    assert errors_of([once, once]).standard_error == errors_of(once).standard_error
    assert errors_of(once).within_10 == pytest.approx(1 / 3)
    assert errors_of(once).mape == pytest.approx(0.2)


@given(st.integers(0, 1000))
def test_training_rows_are_inside_and_others_are_named(seed: int) -> None:
    of = columns(20, seed)
    known = range_of(of)
    assert known.outside(of) == [[]] * 20
    for name in ("flow_count", "packet_size_bytes", "wss_mb"):
        for factor in (0.5, 1.5):
            end = of[name].argmin() if factor < 1 else of[name].argmax()
            moved = columns_of(of, np.array([end]))
            moved[name] = moved[name] * factor
            assert name in known.outside(moved)[0]


def test_combinations_that_no_row_comes_near_are_named() -> None:
    of = columns(40)
    line = np.linspace(0, 1, 40)
    for name in ("l2crd", "wss_mb"):
        of[name] = of[name].min() + line * np.ptp(of[name])
    for name in ("flow_count", "ipc", "irt", "l2cwr", "memrd", "memwr"):
        of[name] = np.full(40, of[name][0])
    known = range_of(of)
    apart = columns_of(of, np.array([0]))
    apart["wss_mb"] = of["wss_mb"].max(keepdims=True)
    assert known.outside(apart) == [[TOGETHER]]
