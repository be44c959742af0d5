"""Tests the residuals of fitted models: deviations from the functions that neighbours share."""

import json
import tomllib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowpath.calibrate.derivation import models_text
from slowpath.core.arrays import Floats
from slowpath.core.errors import InputError
from slowpath.models.documents import FittedModel
from slowpath.models.files import document_of, read
from slowpath.models.fitting import fit
from slowpath.models.options import Options, error
from slowpath.models.parts import evaluate
from slowpath.models.points import Points, points_of
from slowpath.models.report import text_report
from slowpath.models.residuals import Noise, Walk, expected, most_likely
from support import CAMPAIGN

QUICK = Options(hold_out=False)
SIZE = 60
X = np.geomspace(10, 1e6, SIZE)


def white(seed: int, share: float, size: int = SIZE) -> Floats:
    return share * np.random.default_rng(seed).standard_normal(size)


def walk(seed: int, step: float, size: int = SIZE) -> Floats:
    return np.cumsum(white(seed, step, size))


def curve(x: Floats = X) -> Floats:
    return np.asarray(np.where(x < 2000, 20.0, 5 + 6 * np.log(x)))


def points(x: Floats, y: Floats, share: float | None = None) -> Points:
    """Return measured points. | If `share` is given, it is the known noise, as a fraction of y."""
    table = {"entries": list(x), "ns": list(y)}
    if share is None:
        return points_of(table, ["entries"], "ns")
    return points_of({**table, "error": list(np.abs(y) * share)}, ["entries"], "ns", spread="error")


def structured(seed: int, noise: float = 0.005) -> Floats:
    """Return values that no function fits: a random walk with steps of 3 % between points."""
    return curve() * np.exp(walk(seed, 0.03)) * (1 + white(seed + 1000, noise))


def without_residuals(known: Points) -> FittedModel:
    """Fit functions to the points; the model predicts no residuals, and holds out no points."""
    plain: FittedModel = {**fit(known, QUICK), "residuals": None}
    return plain


def test_noise_of_known_size_is_no_structure() -> None:
    found = [
        fit(points(X, curve() * (1 + white(seed, 0.02)), 0.02), QUICK)["residuals"]
        for seed in range(30 if CAMPAIGN > 1 else 10)
    ]
    assert sum(one is not None for one in found) <= len(found) // 30


def test_noise_of_unknown_size_is_no_structure() -> None:
    for seed in range(5 if CAMPAIGN > 1 else 2):
        assert fit(points(X, curve() * (1 + white(seed, 0.02))))["residuals"] is None


def test_without_points_that_are_left_out_noise_is_not_told_from_structure() -> None:
    assert fit(points(X, structured(1)), QUICK)["residuals"] is None


def test_structure_that_is_more_than_known_noise_is_predicted() -> None:
    half = np.arange(SIZE) % 2 == 0
    ours, functions = [], []
    for seed in range(5 if CAMPAIGN > 1 else 2):
        y = structured(seed)
        known = points(X[half], y[half], 0.005)
        model = fit(known)
        assert model["residuals"] is not None
        ours.append(error("smape", y[~half], evaluate(model, X[~half]).y))
        functions.append(error("smape", y[~half], evaluate(without_residuals(known), X[~half]).y))
    assert np.mean(ours) < 0.85 * np.mean(functions)


def test_structure_that_many_points_share_is_predicted_whatever_the_noise() -> None:
    """Check that residuals improve predictions of a curve with too many waves for segments.

    Each wave has nine points.
    """

    def truth(x: Floats) -> Floats:
        at = np.log(x / X[0]) / np.log(X[1] / X[0])
        return np.asarray(20 * (1 + 0.1 * np.sin(2 * np.pi * at / 9)))

    known = points(X, truth(X) * (1 + white(1, 0.01)))
    model = fit(known)
    assert model["residuals"] is not None
    between = np.sqrt(X[:-1] * X[1:])
    ours, functions = (
        error("smape", truth(between), evaluate(one, between).y)
        for one in (model, without_residuals(known))
    )
    assert ours < 0.7 * functions


def test_intervals_have_their_share_of_points_that_no_model_has_seen() -> None:
    half = np.arange(SIZE) % 2 == 0
    inside = []
    for seed in range(6 if CAMPAIGN > 1 else 3):
        y = structured(seed)
        found = evaluate(fit(points(X[half], y[half], 0.005)), X[~half])
        inside.append(((found.low <= y[~half]) & (y[~half] <= found.high)).mean())
    assert np.mean(inside) >= 0.88


@settings(max_examples=3 * CAMPAIGN)
@given(st.integers(0, 1000), st.sampled_from([1e3, 1e-6, 7.3]), st.sampled_from([1e3, 1e-9, 0.37]))
def test_units_do_not_matter(seed: int, by_x: float, by_y: float) -> None:
    y = structured(seed)
    one = fit(points(X, y, 0.005), QUICK)
    other = fit(points(X * by_x, y * by_y, 0.005), QUICK)
    assert (one["residuals"] is None) == (other["residuals"] is None)
    between = np.sqrt(X[:-1] * X[1:])
    first, second = evaluate(one, between), evaluate(other, between * by_x)
    assert second.y == pytest.approx(first.y * by_y, rel=1e-4)
    assert second.high == pytest.approx(first.high * by_y, rel=1e-3)


@settings(max_examples=10 * CAMPAIGN)
@given(
    st.lists(
        st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.floats(0, 1e9)),
        min_size=10,
        max_size=16,
        unique_by=lambda row: row[0],
    ),
    st.booleans(),
)
def test_whatever_was_measured_all_is_a_number(rows: Any, non_negative: bool) -> None:
    x, y, spread = np.array(rows).T
    y = np.abs(y) if non_negative else y
    table = points_of({"x": list(x), "y": list(y), "s": list(spread)}, ["x"], "y", spread="s")
    if len(np.unique(np.where(np.abs(x) < 1e-60, 0, x))) < 3:
        return
    model = fit(table, QUICK._replace(non_negative=non_negative))
    json.dumps(model, allow_nan=False)
    found = evaluate(model, np.append(x, [0.0, 1e12, -1e12, x.mean()]))
    assert np.isfinite(found).all()
    assert (found.low <= found.y).all()
    assert (found.y <= found.high).all()
    if non_negative:
        assert (found.y >= 0).all()


@pytest.mark.parametrize(
    "options",
    [Options(monotone="increasing"), Options(segments=2), Options(select="margins")],
    ids=["monotone", "segments", "margins"],
)
def test_a_model_that_is_asked_for_has_functions_alone(options: Options) -> None:
    table = points(X, structured(2), 0.005)
    assert fit(table, QUICK)["residuals"] is not None
    assert fit(table, options._replace(hold_out=False))["residuals"] is None


def test_errors_are_those_of_the_model_and_of_its_functions() -> None:
    model = fit(points(X, structured(3), 0.005), QUICK)
    of_functions = max(segment["errors"]["smape"] for segment in model["segments"])
    assert model["errors"]["smape"] < 0.5 * of_functions
    text = "\n".join(line.text for line in text_report(document_of(None, model)))
    assert "The model adds this deviation, " in text


def test_it_is_read_as_it_was_written() -> None:
    model = fit(points(X, structured(4), 0.005), QUICK)
    text = json.dumps(document_of(None, model))
    again = read("model", text)[1]
    assert evaluate(again, X * 1.1).y.tolist() == evaluate(model, X * 1.1).y.tolist()
    assert model["residuals"] is not None
    for wrong in ({"x": [2.0, 1.0], "share": [0.1, 0.1]}, {"x": [1.0], "share": [-1.0]}):
        broken = json.dumps(document_of(None, {**model, "residuals": wrong}))  # type: ignore[typeddict-item]
        with pytest.raises(InputError, match="residuals are not shares"):
            read("model", broken)


def test_a_target_file_has_it() -> None:
    model = fit(points(X, structured(4), 0.005), QUICK)
    document: Any = {
        "experiment": "tables",
        "description": 'a "table" \U0001f600\x7f',
        "kind": "table-exact",
        "parameter": "entries",
        "fixed": {},
        "samples_sha256": None,
        "model": model,
    }
    (table,) = tomllib.loads(models_text([document], frozenset()))["timing"]["model"].values()
    assert table["residuals"] == model["residuals"]
    assert table["description"] == 'a "table" \U0001f600 '
    document["model"] = {**model, "residuals": None}
    assert "residuals" not in models_text([document], frozenset())


def test_between_points_a_straight_line_joins_the_shares() -> None:
    model = fit(points(X, 10 * np.ones(SIZE)), QUICK)
    model["residuals"] = {"x": [10.0, 20.0, 40.0], "share": [0.0, 0.5, -0.1]}
    found = evaluate(model, [1.0, 10.0, 15.0, 20.0, 30.0, 40.0, 1e9]).y
    assert found == pytest.approx([10.0, 10.0, 12.5, 15.0, 12.0, 9.0, 9.0])


@pytest.mark.parametrize("step", [1e-4, 1e-2, 1.0])
def test_the_walk_is_expected_where_dense_matrices_say(step: float) -> None:
    """Compare the expected random walk below noisy residuals with a calculation by dense matrices.

    The walk's start is unknown, so its covariance matrix has a large constant.
    """
    residuals, noise = walk(5, 0.1, 20), np.random.default_rng(6).uniform(0.01, 0.1, 20) ** 2
    found = expected(residuals, Walk(step, noise, 0.0))
    at = np.arange(20.0)
    covariance = step * np.minimum.outer(at, at) + 1e6
    slow = covariance @ np.linalg.solve(covariance + np.diag(noise), residuals)
    assert found == pytest.approx(slow, abs=1e-5)
    assert residuals.min() <= found.min() <= found.max() <= residuals.max()


def test_steps_and_noise_are_told_by_the_likelihood() -> None:
    shape = np.ones(400)
    residuals = walk(7, 0.05, 400) + white(8, 0.02, 400)
    known = most_likely(residuals, Noise(0.02**2 * shape, known=True))
    unknown = most_likely(residuals, Noise(shape, known=False))
    assert np.sqrt([known.step, unknown.step]) == pytest.approx([0.05, 0.05], rel=0.2)
    assert np.sqrt(unknown.noise[0]) == pytest.approx(0.02, rel=0.3)
    assert known.evidence > 100
    assert most_likely(white(9, 0.02, 400), Noise(0.02**2 * shape, known=True)).evidence < 3
