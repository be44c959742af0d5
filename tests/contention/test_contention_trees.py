"""Tests boosted trees: they equal those of scikit-learn, and no training is done twice."""

import signal

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor

from contention_tables import columns, profile
from slowpath.contention.memory import regressors, selection
from slowpath.contention.memory.evaluation import Protocol, evaluate_all
from slowpath.contention.memory.intervals import conformal
from slowpath.contention.memory.learners import PublishedTrees
from slowpath.contention.memory.recipes import RECIPES, Member, fit_member, fit_stage
from slowpath.contention.memory.regressors import BoostedTrees, Settings
from slowpath.contention.memory.selection import (
    Trainings,
    candidates,
    candidates_and_baselines,
    select,
    training_folds,
)
from slowpath.contention.model import rows_of
from slowpath.contention.options import ProgressLine, interruptible
from slowpath.core.arrays import Floats
from slowpath.core.jobs.local_pool import LocalPool
from support import without_progress

ALL_ROWS = Settings(rounds=40, rate=0.1, subsample=1.0, least=3, penalty=0.0)


def made_up(rows: int, seed: int = 0) -> tuple[Floats, Floats]:
    drawn = np.random.default_rng(seed)
    x = drawn.uniform(size=(rows, 3))
    return x, np.sin(5 * x[:, 0]) * x[:, 1] + 0.1 * drawn.normal(size=rows)


@pytest.mark.parametrize("rows", [12, 20, 32])
def test_trees_predict_as_those_of_scikit_learn(rows: int) -> None:
    """Check that our trees predict training rows exactly like those of scikit-learn.

    Other rows may differ: scikit-learn sets limits of lower nodes halfway between the node's own
    rows, ours are halfway between any rows.
    """
    x, y = made_up(rows)
    ours = BoostedTrees(ALL_ROWS, [False] * 3).fit(x, y)
    theirs = GradientBoostingRegressor(
        n_estimators=40, learning_rate=0.1, max_depth=2, min_samples_leaf=3, random_state=0
    ).fit(x, y)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-9)


@pytest.mark.parametrize("slowing", [False, True])
def test_trees_of_parts_are_those_of_each_part(*, slowing: bool) -> None:
    x, y = made_up(60)
    parts = np.random.default_rng(2).random((4, 60)) < 0.8
    settings = ALL_ROWS._replace(subsample=0.7, penalty=1.0)
    trees = BoostedTrees(settings, [slowing] * 3)
    for part, together in zip(parts, trees.fit_parts(x, y, parts), strict=True):
        [alone] = trees.fit_parts(x, y, part[None])
        np.testing.assert_allclose(together.predict(x), alone.predict(x), rtol=1e-9)
        other = np.where(part, y, 100.0)  # rows outside the part have no effect
        [blind] = trees.fit_parts(x, other, part[None])
        np.testing.assert_allclose(blind.predict(x), alone.predict(x), rtol=1e-9)


@pytest.mark.parametrize("name", ["published", "slomo"])
def test_published_trees_are_those_of_scikit_learn(name: str) -> None:
    """Check that our fast trees for baselines predict exactly like scikit-learn's class."""
    rows = rows_of(profile(60, seed=4))
    (member,) = RECIPES[name].members
    x = np.column_stack([rows.columns[one] for one in fit_member(member, rows).features])
    theirs = GradientBoostingRegressor(random_state=0).fit(x, rows.throughput)
    queries = x * np.random.default_rng(0).uniform(0.5, 1.5, x.shape)
    ours = PublishedTrees().fit(x, rows.throughput)
    for each in (x, queries):
        assert (ours.predict(each) == theirs.predict(each)).all()


def test_a_slowing_feature_never_raises_the_prediction() -> None:
    x, y = made_up(60)
    trees = BoostedTrees(ALL_ROWS, [True, False, True]).fit(x, y)
    for feature in (0, 2):
        line = np.full((40, 3), 0.5)
        line[:, feature] = np.linspace(-0.5, 1.5, 40)
        assert (np.diff(trees.predict(line)) <= 1e-12).all()


def test_each_training_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that no model is trained twice for the choice of a model and for its intervals.

    An average also shares the trainings of its members with other models.
    """
    done = list[tuple[Member, int]]()
    real = fit_member

    def counted(member: Member, *given: object, **named: object) -> object:
        done.append((member, len(given)))
        return real(member, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(selection, "fit_member", counted)
    trainings = Trainings(rows_of(profile(30)))
    few = [RECIPES[name] for name in ("process-table", "rough-table", "average")]
    select(trainings, few)
    before = len(done)
    for recipe in few:
        conformal(trainings.stage(recipe), trainings)
    assert len(done) == before
    members = {member for member, _ in done}
    assert len(members) == 4  # those of the average contain the others


def test_folds_are_trained_without_their_rows() -> None:
    here = rows_of(profile(30))
    masks = training_folds(here)
    shuffled = here.throughput.copy()
    shuffled[masks[0]] *= 3
    for name in ("trees-pressure", "falling-accesses", "ridge-pressure", "process-table"):
        one = Trainings(here).stages(RECIPES[name], masks[:1])[0]
        other = Trainings(here._replace(throughput=shuffled)).stages(RECIPES[name], masks[:1])[0]
        new = columns(20, seed=3)
        assert one.log_throughput(new) == pytest.approx(other.log_throughput(new), abs=0.02)


def test_a_search_near_its_end_finds_the_same_kernel() -> None:
    rows = rows_of(profile(30))
    [fold] = training_folds(rows)[:1]
    for name in ("process-plain", "rough-table"):
        from_start = fit_stage(RECIPES[name], rows.where(~fold)).kernels()[0]
        near = Trainings(rows).stages(RECIPES[name], [fold])[0].kernels()[0]
        assert near == pytest.approx(from_start, abs=0.3)


def test_the_search_uses_some_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that parameters found on half of the rows predict as well as those from all rows."""
    rows, new = rows_of(profile(100)), profile(60, seed=9)
    errors = []
    for most in (50, 100):
        monkeypatch.setattr(regressors, "_SEARCHED", most)
        stage = fit_stage(RECIPES["process-table"], rows)
        predicted = np.exp(stage.log_throughput(new.columns))
        errors.append(np.abs(predicted / new.throughput - 1).mean())
    assert errors[0] != errors[1]
    assert errors[0] < 1.2 * errors[1]


def test_retired_recipes_are_read_and_never_tried() -> None:
    rows = rows_of(profile(12))
    retired = {one.name for one in RECIPES.values() if one.retired}
    assert {"boosted-accesses", "monotone-pressure"} <= retired
    assert not retired & {one.name for one in candidates(rows)}
    assert not retired & {one.name for one in candidates_and_baselines(rows)}


def test_processes_evaluate_as_one_does() -> None:
    rows = rows_of(profile(20))
    few = [RECIPES["ridge-counters"], RECIPES["ridge-pressure"]]
    shares = list[float]()
    one, two = (
        evaluate_all([*few, None], rows, Protocol(recipes=few), LocalPool(jobs), shares.append)
        for jobs in (1, 2)
    )
    for left, right in zip(one, two, strict=True):
        np.testing.assert_array_equal(left.predicted, right.predicted)
        assert (left.errors, left.ends, left.chosen) == (right.errors, right.ends, right.chosen)
    assert all(0 <= share <= 1 for share in shares)
    assert len(shares) >= 11


def test_progress_is_shown_after_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr("slowpath.contention.options.time.monotonic", lambda: now)
    for live in (True, False):
        now = 0.0
        monkeypatch.setattr("slowpath.core.terminal.is_terminal", lambda _, live=live: live)
        with ProgressLine("training") as line:
            line.show(0.0)
            now = 0.9
            line.show(0.1)
            assert capsys.readouterr().err == ""
            now = 2.0
            line.show(0.5)
            assert ("training: 50%, about 2 s left" in capsys.readouterr().err) == live
            now = 31.0
            line.show(0.75)
            shown = capsys.readouterr().err
            assert "training: 75%, about 10 s left" in shown
            assert live or without_progress(shown) == ""
        capsys.readouterr()  # a terminal's line is cleared at the end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_interrupts_and_later_ones_do_not(number: signal.Signals) -> None:
    before, cleaned = signal.getsignal(number), list[bool]()

    def work() -> None:
        with interruptible("training"):
            try:
                signal.raise_signal(number)
            finally:
                signal.raise_signal(number)
                cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert cleaned
    assert signal.getsignal(number) is before
