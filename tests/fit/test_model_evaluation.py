"""Tests that stored models have stored values and intervals at given x.

`tests/golden/models/evaluation.json` is a list of `{"name", "model", "x", "y", "low", "high",
"outside"}`. Models are fitted only when the table is renewed. The test evaluates the stored models,
so that nothing depends on the last digits of a fit. Other implementations can use it, too.
"""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pytest

from slowpath.core.arrays import Floats
from slowpath.models import derivation
from slowpath.models.catalogue import BY_NAME, TEMPLATES, WHOLE
from slowpath.models.documents import FittedModel
from slowpath.models.fitting import fit
from slowpath.models.options import Options
from slowpath.models.parts import evaluate
from slowpath.models.points import points_of
from slowpath.models.polynomial import NAME
from support import BLESS, CAMPAIGN, GOLDEN, rows

FILE = GOLDEN / "models/evaluation.json"
DIGITS = 1e-11
"""Relative tolerance: mathematical libraries differ in the last digits."""
QUICK = Options(hold_out=False)


class Case(NamedTuple):
    """A fitted model, and the values of x at which it is evaluated."""

    name: str
    model: FittedModel
    x: Sequence[Sequence[float]]


def derived(columns: dict[str, Floats], options: Options = QUICK) -> FittedModel:
    *x, y = columns
    return fit(points_of({name: list(one) for name, one in columns.items()}, x, y), options)


def noise(seed: int, size: int) -> Floats:
    return 1 + 0.02 * np.random.default_rng(seed).standard_normal(size)


def around(x: Floats) -> list[list[float]]:
    """Return values of x at the measured ones, between them, and beyond both ends."""
    beyond = [-x[-1], 0.0, x[0] / 2, x[-1] * 1.5, x[-1] * 100]
    return [[float(one)] for one in [*x[:2], *np.sqrt(x[:-1] * x[1:])[1::3], x[-1], *beyond]]


def of_templates(monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    """Yield a fitted model of one segment for each kind of function that can be fitted."""
    x = np.geomspace(20, 3000, 16)
    y = (9 + 2 * np.log(x) + 0.002 * x + 100 / x) * noise(1, 16)
    for template in (*TEMPLATES, *WHOLE):
        with monkeypatch.context() as patched:
            patched.setattr(derivation, "TEMPLATES", () if template.whole_curve else (template,))
            patched.setattr(derivation, "WHOLE", (template,) if template.whole_curve else ())
            model = derived({"n": x, "ns": y}, QUICK._replace(segments=1))
        yield Case(template.name, model | {"widening": 1.25}, around(x))


def of_others() -> Iterator[Case]:
    """Yield fitted models with several segments, constraints, small values, or two variables."""
    x = np.geomspace(10, 1e6, 40)
    steps = np.where(x < 1e3, 20.0, np.where(x < 5e4, 10 + 5 * np.log(x), 100 - 2e5 / x))
    yield Case("segments", derived({"n": x, "ns": steps * noise(2, 40)}), around(x))
    rising = QUICK._replace(monotone="increasing", segments=3)
    yield Case("increasing", derived({"n": x, "ns": steps * noise(3, 40)}, rising), around(x))
    line = np.linspace(1, 100, 30)
    positive = np.maximum(60 - line, 0.0) + np.abs(noise(4, 30) - 1)
    options = QUICK._replace(non_negative=True)
    yield Case("non-negative", derived({"n": line, "ns": positive}, options), around(line))
    yield Case("signs", derived({"n": line, "ns": 30 - line + noise(5, 30)}), around(line))
    rough = steps * np.exp(np.cumsum(noise(8, 40) - 1))
    columns = {"n": list(x), "ns": list(rough), "error": list(0.004 * rough)}
    known_spread = points_of(columns, ["n"], "ns", spread="error")
    yield Case("residuals", fit(known_spread, QUICK), around(x))
    a, b = (one.ravel() for one in np.meshgrid(np.geomspace(10, 1e5, 12), [4.0, 8.0, 16.0, 32.0]))
    both = np.where(a < 1500, 10 + 0.5 * b, 3 * np.log(a) + 0.2 * b * np.log(a)) * noise(6, len(a))
    places: list[list[float]] = [
        [20.0, 4],
        [1e4, 12],
        [1400, 8],
        [1500, 8],
        [2000, 8],
        [1, 1],
        [1e7, 64],
        [-5, -5],
    ]
    yield Case("two columns", derived({"a": a, "b": b, "ns": both}), places)
    c = np.random.default_rng(7).uniform(1, 9, (3, 60))
    three = (2 + c[0] + 0.5 * c[1] + 4 / c[2]) * noise(7, 60)
    model = derived({"a": c[0], "b": c[1], "c": c[2], "ns": three})
    more: list[list[float]] = [[float(one) for one in row] for row in c.T[:6]]
    yield Case("three columns", model, [*more, [0.5, 20.0, 0.1], [3.0, 3.0, -1.0]])


def bless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the table of expected values again, with new fits."""
    cases = []
    for name, model, x in (*of_templates(monkeypatch), *of_others()):
        found = evaluate(model, np.array(x))
        sides = {side: getattr(found, side).tolist() for side in ("y", "low", "high", "outside")}
        cases.append({"name": name, "model": model, "x": x, **sides})
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(rows(cases) + "\n")


def test_stored_documents_say_what_they_said(monkeypatch: pytest.MonkeyPatch) -> None:
    if BLESS:
        bless(monkeypatch)
    cases = json.loads(FILE.read_text())
    for case in cases:
        found = evaluate(case["model"], np.array(case["x"]))
        assert found.outside.tolist() == case["outside"], case["name"]
        for side in ("y", "low", "high"):
            size = max(map(abs, case["y"]))  # values around zero are differences of larger values
            expected = pytest.approx(case[side], rel=DIGITS, abs=DIGITS * size)
            assert getattr(found, side).tolist() == expected, (case["name"], side)


def test_the_table_has_all_there_is() -> None:
    models = [case["model"] for case in json.loads(FILE.read_text())]
    segments = [segment for model in models for segment in model["segments"]]
    assert {segment["template"] for segment in segments} == {*BY_NAME, NAME}
    assert {len(model["x"]) for model in models} == {1, 2, 3}
    assert {segment["extrapolates"] for segment in segments} == {True, False}
    assert any(segment["at_least"] is not None for segment in segments)
    assert any(model["floor"] > 0 for model in models)
    assert any(model["residuals"] is not None for model in models)
    assert any(len(model["segments"]) > 2 for model in models)


def test_places_do_not_depend_on_each_other() -> None:
    for case in json.loads(FILE.read_text()):
        together = evaluate(case["model"], np.array(case["x"])).y.tolist()
        alone = [float(evaluate(case["model"], np.array([one])).y[0]) for one in case["x"]]
        assert together == pytest.approx(alone, rel=DIGITS), case["name"]


def test_intervals_have_their_share_of_points_that_no_model_has_seen() -> None:
    """Check that 90 % intervals contain about 90 % of new points, for curves with a step.

    Each model is fitted to every other point; the other points are new to it.
    """
    inside, seeds = 0, 8 if CAMPAIGN > 1 else 4
    for seed in range(seeds):
        draw = np.random.default_rng(seed)
        x = np.geomspace(10, 1e5, 60)
        cut = int(draw.integers(15, 45))
        truth = np.where(np.arange(60) < cut, 20.0, 30 + 2 * np.log(x)) * noise(seed, 60)
        known = np.arange(60) % 2 == 0
        model = derived({"n": x[known], "ns": truth[known]}, Options())
        found = evaluate(model, x[~known])
        inside += int(((found.low <= truth[~known]) & (truth[~known] <= found.high)).sum())
    assert 0.85 <= inside / (seeds * 30) <= 0.99
