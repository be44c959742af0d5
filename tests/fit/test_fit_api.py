"""Tests that `slowpath.fit` returns the command's results, and reads saved models."""

import csv
import doctest
import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slowpath
from fit_tables import thinned
from slowpath.core.command import Option
from slowpath.models.cli import FIT
from slowpath.models.options import DIRECTIONS, METHODS, METRICS, MOST_SEGMENTS, RULES
from support import ROOT
from support import slowpath as command

DATA = "examples/memory_latency.csv"
COLUMNS = {"n": [1.0, 2, 3, 4, 5, 6], "ns": [3.0, 5, 7, 9, 11, 13]}


def columns() -> dict[str, list[float]]:
    rows = list(csv.DictReader(thinned().splitlines()))
    return {name: [float(row[name]) for row in rows] for name in ("bytes", "ns")}


def test_the_page_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = str(ROOT / "docs/how-to/fit.md")
    failed, tried = doctest.testfile(page, module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried > 8
    assert failed == 0


def test_models_are_those_of_the_command(tmp_path: Path) -> None:
    file = str(tmp_path / "data.csv")
    Path(file).write_text(thinned())
    model = slowpath.fit(file, x="bytes", y="ns", max_segments=3, seed=2)
    words = ("fit", file, "--x", "bytes", "--y", "ns", "--max-segments", "3", "--seed", "2")
    assert model.to_json() + "\n" == command(*words, "--format", "json").stdout
    assert str(model) + "\n" == command(*words).stdout
    same = slowpath.fit(columns(), x="bytes", y="ns", max_segments=3, seed=2)
    assert same.document == model.document
    assert (same.file, model.file) == (None, file)
    assert str(same) == str(model).removeprefix(f"{file}: ")


def test_every_option_of_the_command_can_be_given() -> None:
    words = {name for entry in FIT.options for name in entry.names if name.startswith("--")}
    parameters = inspect.signature(slowpath.fit).parameters
    output = {"--format", "--plot", "--query"}
    names = {f"--{name.replace('_', '-')}" for name in parameters} - {"--data", "--metric"}
    assert names == words - output - {"--error-metric"}


def _default(option: Option) -> object:
    value = option.settings.get("default")
    return option.settings["type"](value) if value == "90%" else value


def test_options_have_the_defaults_of_the_command() -> None:
    parameters = inspect.signature(slowpath.fit).parameters
    defaults = {
        name.removeprefix("--").replace("-", "_"): _default(entry)
        for entry in FIT.options
        for name in entry.names
    }
    for name in parameters.keys() & defaults.keys() - {"x", "y", "non_negative"}:
        assert parameters[name].default == defaults[name], name


def test_options_are_what_the_command_takes() -> None:
    help_text = command("fit", "--help-all").stdout
    for known in (RULES, METHODS, DIRECTIONS, tuple(METRICS)):
        assert "{" + ",".join(known) + "}" in "".join(help_text.split())
    run = command("fit", DATA, "--x", "bytes", "--y", "ns", "--segments", str(MOST_SEGMENTS + 1))
    assert run.returncode == 2


def test_models_are_read_again(tmp_path: Path) -> None:
    model = slowpath.fit(columns(), x="bytes", y="ns")
    again = slowpath.Model.from_json(model.to_json())
    x = np.geomspace(10, 1e10, 200)
    for one, other in zip(model.predict(x), again.predict(x), strict=True):
        assert np.array_equal(one, other)
    assert again.to_json() == model.to_json()
    model.plot(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size > 0
    with pytest.raises(slowpath.InputError, match="without its measurements"):
        again.plot(tmp_path / "b.svg")


def test_x_comes_in_any_form() -> None:
    draw = np.random.default_rng(1)
    a, b = draw.uniform(1, 9, (2, 40))
    model = slowpath.fit({"a": a, "b": b, "y": 2 + a + b}, x=["a", "b"], y="y")
    rows = np.column_stack((a, b))
    assert np.array_equal(model.predict({"b": b, "a": a}).y, model.predict(rows).y)
    one = slowpath.fit(COLUMNS, x="n", y="ns")
    assert one.predict(3).y == pytest.approx([7])
    assert one.predict(range(1, 7)).y == pytest.approx(COLUMNS["ns"])
    assert "<pre>" in one._repr_html_()
    assert repr(one) == "<slowpath.Model ns over n: 1 segment>"


@pytest.mark.parametrize("x", ["text", [1, float("nan")], 1e300, [[1, 2]], {"m": [1]}, [[[1]]]])
def test_x_that_cannot_be_used(x: Any) -> None:
    with pytest.raises(slowpath.InputError, match=r"^x: the values of x cannot be used: "):
        slowpath.fit(COLUMNS, x="n", y="ns").predict(x)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"x": ()}, "--x"),
        ({"x": ["n", "n"]}, "--x"),
        ({"y": "n"}, "--x"),
        ({"select": "best"}, "--select"),
        ({"search": "all"}, "--search"),
        ({"monotone": "up"}, "--monotone"),
        ({"metric": "mse"}, "--error-metric"),
        ({"segments": 0}, "--segments"),
        ({"max_segments": 13}, "--max-segments"),
        ({"confidence": 100}, "--confidence"),
        ({"least_parameter": -1}, "--least-parameter"),
        ({"seed": -1}, "--seed"),
        ({"seed": 1.5}, "--seed"),
        ({"segments": "3"}, "--segments"),
        ({"max_segments": 2.0}, "--max-segments"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], option: str) -> None:
    with pytest.raises(slowpath.OptionError) as raised:
        slowpath.fit(COLUMNS, **{"x": "n", "y": "ns", **options})
    assert raised.value.option == option


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"n": [1, 2, 3]}, "data: the data lack the column 'ns'"),
        ({"n": [1, 2, 3], "ns": [1, 2]}, "data: the columns ns and n differ in length"),
        (
            {"n": [1, 2, 3], "ns": ["a", 1, 2]},
            "data: the column ns has a value that is not a number",
        ),
        (
            {"n": [1, 2, 3], "ns": [1, 2, float("inf")]},
            "data: value 3 of the column ns is not a finite",
        ),
        ({"n": [1, 2, 3], "ns": 4}, "data: the columns ns and n differ in length"),
        (
            {"n": [10**400, 2, 3], "ns": [1, 2, 3]},
            "data: the column n has a value that is not a number",
        ),
        ([1, 2, 3], "data: the data lack the column 'n'"),
        ("none.csv", "none.csv: no such file"),
    ],
)
def test_data_that_cannot_be_used(data: Any, reason: str) -> None:
    with pytest.raises(slowpath.InputError) as raised:
        slowpath.fit(data, x="n", y="ns")
    assert str(raised.value).startswith(reason)


def _change(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        *keys, last = [int(key) if key.isdigit() else key for key in path.split(".")]
        place: Any = document
        for key in keys:
            place = place[key]
        place[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_change("model", 1), "document.model"),
        (_change("model.segments", []), "model has no segments"),
        (_change("model.range", []), "range and x"),
        (_change("model.segments.0.from", 9.0), "do not ascend"),
        (_change("model.segments.0.template", "cosine"), "segments[0] has an unknown function"),
        (_change("model.segments.0.terms", [["x"]]), "segments[0] has an unknown function"),
        (_change("model.segments.0.covariance", [[1.0]]), "does not have 2 parameters"),
        (_change("model.segments.0.noise", float("nan")), "is not JSON: NaN"),
    ],
)
def test_documents_that_are_no_models(
    change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    document = json.loads(slowpath.fit(COLUMNS, x="n", y="ns").to_json())
    change(document)
    with pytest.raises(slowpath.InputError) as raised:
        slowpath.Model.from_json(json.dumps(document))
    assert str(raised.value).startswith("model: the file is not")
    assert reason in str(raised.value)


def test_intervals_of_points_on_a_line_are_unknown() -> None:
    model = slowpath.fit({"x": [1.0, 2.0, 3.0], "y": [3.0, 5.0, 7.0]}, x="x", y="y")
    found = model.predict([4.0])
    assert found.y.tolist() == pytest.approx([9.0])
    assert np.isnan(found.low).all()
    assert np.isnan(found.high).all()


def test_missing_packages_are_input_errors() -> None:
    script = (
        "import sys\n"
        "sys.modules['numpy'] = None\n"
        "import slowpath\n"
        "try:\n"
        "    slowpath.fit('tests/fit/line.csv', x='bytes', y='ns')\n"
        "except slowpath.InputError as missing:\n"
        "    print(missing)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
    )
    assert run.stdout.startswith("this machine: numpy is not installed; ")
    assert "'FILE[models]'" in run.stdout
