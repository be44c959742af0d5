"""Tests the parameters of fitted models: many segments, other units, least absolute values."""

import numpy as np
import pytest

from slowpath.core.arrays import Floats
from slowpath.models.catalogue import BY_NAME, TEMPLATES
from slowpath.models.fitting import fit
from slowpath.models.options import Options
from slowpath.models.parts import evaluate
from slowpath.models.points import Points, PointsError, points_of
from slowpath.models.template import Batch, Curve, ParameterFloor, Template, pieces_of

CUTS = [(0, 12), (5, 25), (12, 40), (0, 40)]


def curve() -> Curve:
    x = np.geomspace(3.0, 4e4, 40)
    draw = np.random.default_rng(1)
    y = (7 + 2 * np.log(x) + 90 / x) * (1 + 0.02 * draw.standard_normal(40))
    return Curve(x, y, y)


def points(x: Floats, y: Floats) -> Points:
    return points_of({"x": list(x), "y": list(y)}, ["x"], "y")


def at_points(template: Template, batch: Batch, found: Floats) -> Floats:
    origin = batch.spread(batch.first) if template.origin_at_start else 0.0
    return template.value(np.repeat(found, batch.lengths, axis=1), batch.x - origin)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.name)
def test_parameters_of_each_piece_yield_what_was_fitted_to_it(template: Template) -> None:
    batch = pieces_of(curve(), CUTS)
    found = template.each(batch)
    assert found.shape == (template.rank, len(CUTS))
    fitted = template.fitted(batch)
    some = np.isfinite(fitted)
    assert some.any()
    assert at_points(template, batch, found)[some] == pytest.approx(fitted[some], rel=1e-7)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.name)
def test_parameters_in_other_units_yield_the_same(template: Template) -> None:
    batch = pieces_of(curve(), CUTS)
    found = template.scaled(template.each(batch), 1e3, 1e-2)
    origin = batch.spread(batch.first) if template.origin_at_start else 0.0
    x = 1e3 * (batch.x - origin)
    scaled = template.value(np.repeat(found, batch.lengths, axis=1), x)
    fitted = template.fitted(batch)
    some = np.isfinite(fitted)
    assert scaled[some] == pytest.approx(1e-2 * fitted[some], rel=1e-7)
    for at in range(len(CUTS)):
        one = template.scaled(template.each(batch)[:, at], 1e3, 1e-2)
        assert one == pytest.approx(found[:, at], rel=1e-12)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.name)
def test_slopes_are_what_small_changes_of_parameters_do(template: Template) -> None:
    batch = pieces_of(curve(), CUTS[1:2])
    found = template.each(batch)[:, 0]
    x = batch.x - (batch.x[0] if template.origin_at_start else 0.0)
    slopes = template.slopes(found, x)
    assert slopes.shape == (len(x), template.rank)
    for at, parameter in enumerate(found):
        step = 1e-6 * (abs(parameter) or 1.0)
        sides = []
        for sign in (1, -1):
            moved = found.copy()
            moved[at] += sign * step
            sides.append(template.value(moved, x))
        numeric = (sides[0] - sides[1]) / (2 * step)
        assert slopes[:, at] == pytest.approx(numeric, rel=1e-4, abs=1e-7 * np.abs(numeric).max())


def test_small_parameters_get_the_size_of_the_limit_and_keep_their_sign() -> None:
    cubic = BY_NAME["polynomial-3"]
    found = np.array([[5.0, 0.01], [-0.01, -2.0], [0.0, 0.2], [1e-9, -1e-9]])
    capped = ParameterFloor(0.1, 1.0, 1.0).parameters(cubic, found)
    assert capped.T.tolist() == [[5.0, -0.1, 0.0, 0.1], [0.1, -2.0, 0.2, -0.1]]
    # Repeat with units of x and y that are ten and a hundred times as small.
    scaled = cubic.scaled(found, 10.0, 100.0)
    again = ParameterFloor(0.1, 10.0, 100.0).parameters(cubic, scaled)
    assert again == pytest.approx(cubic.scaled(capped, 10.0, 100.0))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.name)
def test_fitted_values_are_those_of_the_capped_parameters(template: Template) -> None:
    batch, floor = pieces_of(curve(), CUTS), ParameterFloor(0.5, 4e4, 20.0)
    fitted = floor.fitted(template, batch)
    capped = floor.parameters(template, template.each(batch))
    sizes = np.abs(template.scaled(capped, 1 / floor.x, 1 / floor.y))
    known = np.isfinite(sizes)
    assert (sizes[known] >= floor.least * (1 - 1e-9)).all()
    expected = at_points(template, batch, capped)
    assert np.array_equal(np.isfinite(fitted), np.isfinite(expected))
    some = np.isfinite(fitted)
    assert fitted[some] == pytest.approx(expected[some])


def test_the_limit_makes_simpler_functions_better() -> None:
    """Check that a least absolute value of parameters leads to a simpler function.

    Without it, the function with most parameters has the least error.
    """
    x = np.linspace(1, 100, 12)
    y = (100 + x) * (1 + 1e-5 * np.random.default_rng(3).standard_normal(12))
    rule = Options(select="margins", margin=0, least_margin=0, segments=1, hold_out=False)
    (free,) = fit(points(x, y), rule)["segments"]
    (limited,) = fit(points(x, y), rule._replace(least_parameter=0.1))["segments"]
    assert free["rank"] > 2
    assert limited["template"] == "polynomial-1"


@pytest.mark.parametrize("select", ["criterion", "margins"])
def test_models_have_no_smaller_parameters_in_any_unit(select: str) -> None:
    x = np.geomspace(10, 1e5, 40)
    noise = 1 + 0.02 * np.random.default_rng(4).standard_normal(40)
    y = np.where(x < 2000, 20.0, 5 + 6 * np.log(x)) * noise
    options = Options(select=select, least_parameter=0.05, most_segments=2, hold_out=False)  # type: ignore[arg-type]
    one, other = fit(points(x, y), options), fit(points(x * 1e-3, y * 1e6), options)
    assert one["least_parameter"] == 0.05
    for segment in one["segments"]:
        template = BY_NAME[segment["template"]]
        values = np.array([parameter["value"] for parameter in segment["parameters"]])
        sizes = np.abs(template.scaled(values, 1 / x.max(), 1 / np.median(y)))
        assert (sizes >= 0.04).all()  # the unit is the median of smoothed y
    assert [s["template"] for s in one["segments"]] == [s["template"] for s in other["segments"]]
    assert evaluate(other, x * 1e-3).y == pytest.approx(evaluate(one, x).y * 1e6)


def test_the_limit_is_for_one_column() -> None:
    table = {"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 2.0, 1.0, 2.0], "y": [1.0, 2.0, 3.0, 4.0]}
    with pytest.raises(PointsError, match="one x column"):
        fit(points_of(table, ["a", "b"], "y"), Options(least_parameter=0.1))
