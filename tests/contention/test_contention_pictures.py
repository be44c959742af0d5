"""Tests that equal data give equal pictures and HTML pages in `slowpath contention`."""

import json
import re
from pathlib import Path

import pytest

from contention_tables import profile, write_memory
from slowpath.contention.memory.evaluation import Protocol, evaluate
from slowpath.contention.memory.recipes import RECIPES
from slowpath.contention.model import rows_of
from slowpath.contention.reading import read_memory
from slowpath.contention.report_diagnosis import COLOURS
from slowpath.contention.report_evaluation import Evaluation, draw_evaluation
from slowpath.core.quantities import significant, with_interval
from support import ROOT, refuses_pictures, slowpath
from test_html import parsed, texts

pytest.importorskip("matplotlib", reason="matplotlib (the extra `models`) is not installed")

FLEET = ROOT / "examples/fleet"
DIAGNOSE = (
    *("contention", "diagnose", FLEET / "ids.model.json"),
    *("--traffic", "flows=16000,size=1500,mtbr=200", "--sweep", "mtbr=0..1000/6"),
)


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    message = {"function": "$nf", "device": "nic", "unit throughput": "kpps"}
    return write_memory(tmp_path / "memory.csv", profile(24), message)


def labels(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


def test_a_sweep_is_drawn_in_the_colours_of_its_bottlenecks(tmp_path: Path) -> None:
    runs = [
        slowpath(*DIAGNOSE, "--format", "json", "--plot", tmp_path / name)
        for name in ("one.svg", "two.svg", "three.png")
    ]
    assert [run.returncode for run in runs] == [0, 0, 0], runs[0].stderr
    svg = (tmp_path / "one.svg").read_text()
    assert svg == (tmp_path / "two.svg").read_text()
    assert (tmp_path / "three.png").read_bytes().startswith(b"\x89PNG")
    message = labels(svg)
    points = json.loads(runs[0].stdout)["sweep"]["points"]
    kinds = {one["diagnosis"]["bottleneck"] for one in points}
    assert kinds == {"memory", "regex"} == {*COLOURS}
    assert {f"{kind} is the bottleneck" for kind in kinds} <= {*message}
    assert "matches per MB" in message
    assert any("90 % intervals" in one for one in message)


def test_one_bottleneck_has_one_colour(tmp_path: Path) -> None:
    words = (*DIAGNOSE[:-1], "flows=100:100000:6", "--what-if", "without nobody.json")
    assert slowpath(*words, "--plot", tmp_path / "a.svg").returncode == 2
    assert not (tmp_path / "a.svg").exists()
    run = slowpath(*words[:-2], "--plot", tmp_path / "a.svg")
    assert run.returncode == 0, run.stderr
    message = labels((tmp_path / "a.svg").read_text())
    assert sum("is the bottleneck" in one for one in message) == 1
    assert "flows" in message


def test_held_out_rows_are_drawn_against_what_was_measured(memory: Path, tmp_path: Path) -> None:
    words = ["contention", "evaluate", str(memory)]
    words += ["--recipe", "ridge-pressure", "--recipe", "constant"]
    runs = [
        slowpath(*words, "--format", "json", "--plot", tmp_path / f"{name}.svg")
        for name in ("one", "two")
    ]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    svg = (tmp_path / "one.svg").read_text()
    assert svg == (tmp_path / "two.svg").read_text()
    message = labels(svg)
    assert message.count("measured, kpps") == 2
    document = json.loads(runs[0].stdout)
    for one in document["results"]:
        rows = one["predictions"]
        assert [row["row"] for row in rows] == [f"m{at}" for at in range(24)]
        errors = [abs(row["predicted"] / row["measured"] - 1) for row in rows]
        assert sum(errors) / len(errors) == pytest.approx(one["errors"]["mape"])
        inside = sum(row["low"] <= row["measured"] <= row["high"] for row in rows)
        assert inside / len(rows) == pytest.approx(one["coverage"])
        assert f"90 % interval has it: {inside}" in message
        assert inside == len(rows) or f"90 % interval misses it: {len(rows) - inside}" in message
        assert f"{one['recipe']}: {100 * one['errors']['mape']:.2f} % mean error" in message


def test_a_page_has_the_table_and_every_row(memory: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ["contention", "evaluate", str(memory), "--recipe", "ridge-pressure"]
    run = slowpath(*words, "--html", page, "--format", "json")
    assert run.returncode == 0, run.stderr
    (one,) = json.loads(run.stdout)["results"]
    root = parsed(page.read_text())
    assert "$nf: predicted and measured throughput" in texts(root)
    assert f"{100 * one['errors']['mape']:.2f} %" in texts(root)
    says = [title.text or "" for title in root.iter("title")]
    for row in one["predictions"]:
        value, *ends = with_interval(row["predicted"], row["low"], row["high"])
        predicted = f"predicted {value} ({' to '.join(ends)})"
        assert f"{row['row']}: measured {significant(row['measured'], 4)}, {predicted}" in says
    assert len([*root.iter("circle")]) == 24


def test_the_choice_is_drawn_where_all_models_are_tried(memory: Path, tmp_path: Path) -> None:
    read = read_memory([str(memory)])
    few = [RECIPES["ridge-pressure"], RECIPES["ridge-counters"]]
    models = [evaluate(one, rows_of(read), Protocol(2, recipes=few)) for one in (*few, None)]
    draw_evaluation(str(tmp_path / "a.svg"), Evaluation(read, models, 2, 0.9))
    message = labels((tmp_path / "a.svg").read_text())
    assert [one for one in message if "mean error" in one] == [
        f"chosen: {100 * models[2].errors.mape:.2f} % mean error"
    ]


def test_a_picture_that_cannot_be_drawn_is_told_before_the_work(tmp_path: Path) -> None:
    for words in (
        ["diagnose", "none.json", "--traffic", "x", "--sweep", "x"],
        ["evaluate", "none"],
    ):
        assert refuses_pictures("contention", *words, "--plot", "a.svg")
    run = slowpath(*DIAGNOSE, "--plot", tmp_path / "none" / "a.svg")
    assert run.returncode == 3
    assert "a.svg: cannot be written: there is no folder" in run.stderr
