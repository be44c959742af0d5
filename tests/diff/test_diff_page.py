"""Tests the HTML page of `slowpath diff --html`."""

import json
from pathlib import Path

from pages import of_class
from support import ROOT, slowpath
from test_html import HOSTILE, parsed, texts

OLD, NEW = ROOT / "examples/count_min.4.bpf.o", ROOT / "examples/count_min.8.bpf.o"


def test_the_page_has_the_values_and_lines_of_the_report(tmp_path: Path) -> None:
    page = tmp_path / "diff.html"
    run = slowpath("diff", OLD, NEW, "--html", page, "--format", "json")
    assert run.returncode == 0, run.stderr
    (result,) = json.loads(run.stdout)["results"]
    root = parsed(page.read_text())
    visible = texts(root)
    for column in ("instructions_a", "instructions_b"):
        assert str(result["values"][column]) in visible
    ids = {one.attrib["id"] for one in root.iter() if "id" in one.attrib}
    assert {one.attrib["href"] for one in root.iter("a")} == {f"#{one}" for one in ids}
    dearest = max(result["lines"], key=lambda one: one["cost_diff"])
    assert dearest["text"].strip() in visible
    marked = [texts(one) for one in root.iter("span") if one.attrib.get("class") == "worse"]
    percent = f"{result['values']['instructions_pct']:+.2f} %"
    assert marked == [percent, "worse"]
    (hero,) = of_class(root, "hero")
    values = [result["values"][f"instructions_{side}"] for side in ("a", "b")]
    assert f"{values[0]} \u2192 {values[1]}" in texts(hero)
    assert dearest["text"].strip() in texts(hero)


def test_failures_come_with_a_command_and_names_are_escaped(tmp_path: Path) -> None:
    page, saved = tmp_path / "diff.html", tmp_path / "old.json"
    document = json.loads(slowpath("bound", OLD, "--format", "json").stdout)
    document["results"][0]["program"] = f"count_min{HOSTILE}"
    saved.write_text(json.dumps(document))
    run = slowpath("diff", saved, NEW, "--fail-on", "instructions_pct > 5", "--html", page)
    assert run.returncode == 1
    text = page.read_text()
    root = parsed(text)
    assert "Reproduce: " in texts(root)
    assert "script" not in {one.tag for one in root.iter()}
    assert "\u202e" not in text


def test_the_page_replaces_no_input(tmp_path: Path) -> None:
    assert slowpath("diff", OLD, NEW, "--html", tmp_path / "page.txt").returncode == 2
    copied = tmp_path / "old.html"
    copied.write_bytes(OLD.read_bytes())
    assert slowpath("diff", copied, NEW, "--html", copied).returncode == 2
    assert copied.read_bytes() == OLD.read_bytes()
