"""Tests the HTML page of a calibration run: figures, data, texts, and layout in browser windows."""

import csv
import json
import re
import shutil
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from browser import looked_at
from slowpath.calibrate.experiments.folder import ExperimentFolder
from slowpath.calibrate.page import environments_of
from slowpath.measure import environment
from support import slowpath
from test_html import parsed, texts
from test_printable import EXPERIMENT, HOSTILE

ADD = ("--testbed", "ebpf", "--component", "arithmetic-add", "--points", "3")
PARSER = ("--component", "parser-headers")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run two experiments with `--html`; return the folder with the results and the page."""
    folder = tmp_path_factory.mktemp("page")
    made = slowpath("calibrate", *ADD, *PARSER, "-o", "run", "--html", "page.html", cwd=folder)
    assert made.returncode == 0, made.stderr
    return folder


def again(folder: Path, name: str = "again.html", code: int = 0) -> str:
    made = slowpath("calibrate", "--evaluate", "run", "--html", name, cwd=folder)
    assert made.returncode == code, made.stderr
    return (folder / name).read_text()


def sections(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    """Return the sections of a page, with their headings as keys."""
    return {"".join(one.find("h2").itertext()): one for one in root.iter("section")}  # type: ignore[union-attr]


def data(root: ElementTree.Element) -> dict[str, list[dict[str, str]]]:
    """Return the rows of the CSV files that a page offers as downloads, by file name."""
    links = [one for one in root.iter("a") if "download" in one.attrib]
    head = "data:text/csv;charset=utf-8,"
    assert all(one.attrib["href"].startswith(head) for one in links)
    return {
        one.attrib["download"]: list(
            csv.DictReader(unquote(one.attrib["href"].removeprefix(head)).splitlines())
        )
        for one in links
    }


def test_the_page_has_a_part_for_each_experiment(run: Path) -> None:
    root = parsed((run / "page.html").read_text())
    parts = sections(root)
    assert list(parts) == ["Overview", "arithmetic-add", "parser-headers"]
    rows = [" ".join(texts(row).split()) for row in parts["Overview"].iter("tr")]
    assert rows[1] == "arithmetic-add count 1 128 1 128 instructions 0.0% linear"
    for name in list(parts)[1:]:
        words = texts(parts[name])
        model = json.loads((run / "run" / name / "model.json").read_text())
        assert model["description"] in words
        first, last = parts[name].findall(".//svg")
        assert len(list(first.iter("circle"))) == len(model["points"])
        assert len(list(last.iter("circle"))) == len(model["points"])
    targets = {one.attrib["href"] for one in root.iter("a") if "download" not in one.attrib}
    assert targets == {"#overview", "#experiment-1", "#experiment-2"}
    assert {f"#{one.attrib['id']}" for one in root.iter("section")} == targets


def test_the_data_of_all_figures_are_in_the_page(run: Path) -> None:
    files = data(parsed((run / "page.html").read_text()))
    for name in ("arithmetic-add", "parser-headers"):
        points = (run / "run" / name / "points.csv").read_text()
        assert files[f"{name}.csv"] == list(csv.DictReader(points.splitlines()))
        by_point = {float(row["cost"]): row for row in files[f"{name}.residuals.csv"]}
        assert by_point.keys() == {float(row["cost"]) for row in files[f"{name}.csv"]}
        for row in by_point.values():
            cost, model = float(row["cost"]), float(row["model"])
            assert float(row["residual"]) * model == pytest.approx(cost - model, abs=1e-9)
        curve = files[f"{name}.model.csv"]
        assert float(curve[0]["instructions"]) == pytest.approx(next(iter(by_point)))
        assert all(
            float(one["low"]) <= float(one["instructions"]) <= float(one["high"]) for one in curve
        )


def test_the_same_run_makes_the_same_page(run: Path) -> None:
    assert again(run) == (run / "page.html").read_text()


def test_it_needs_nothing_and_runs_nothing(run: Path) -> None:
    text = (run / "page.html").read_text()
    root = parsed(text)
    assert not {one.tag for one in root.iter()} & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"https?:|url\(|@import|javascript:", text)
    assert not [one for one in root.iter() if "src" in one.attrib]


def test_measurements_come_with_intervals_and_the_machine(run: Path, tmp_path: Path) -> None:
    """Check that the page shows confidence intervals and the machine for measured samples."""
    shutil.copytree(run / "run", tmp_path / "run")
    into = ExperimentFolder(tmp_path / "run/arithmetic-add")
    measurement, samples = into.measurement(), into.samples()
    measurement["exact"], measurement["metric"] = False, "ns"
    measurement["testbed"], measurement["state"] = "linux-xdp", "partial"
    measurement["notes"] = ["Something <b>disturbed</b> it."]
    measurement["errors"] = [{"value": 99, "reason": "did not <i>fit</i>"}]
    noisy = [
        one._replace(number=load, component=one.component * (1 + load / 100))
        for one in samples
        for load in range(1, 6)
    ]
    into.keep(measurement, noisy, [environment.begin(0).end()], {})
    root = parsed(again(tmp_path, code=3))
    parts = sections(root)
    assert list(parts)[:2] == ["Overview", "Machine"]
    words = texts(parts["arithmetic-add"])
    assert "was interrupted" in words
    assert "Something <b>disturbed</b> it." in words
    assert "count = 99: did not <i>fit</i>" in words
    assert "Machine during this experiment" in words
    release = Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert f"Linux {release}" in texts(parts["Machine"])
    first, _ = parts["arithmetic-add"].findall(".//svg")
    bars = [one for one in first.iter("line") if one.attrib["class"] == "bar"]
    assert len(bars) == len(json.loads((into.path / "model.json").read_text())["points"])


def test_a_damaged_record_of_the_machine_is_left_out(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run / "run", tmp_path / "run")
    for content in ("", "{", "[]", '[{"kernel": 3}]', "null", '["<b>"]'):
        (tmp_path / "run/arithmetic-add/environment.json").write_text(content)
        assert environments_of(ExperimentFolder(tmp_path / "run/arithmetic-add")) == [], content
    assert "Machine" not in sections(parsed(again(tmp_path)))


def test_texts_of_specifications_stay_texts(tmp_path: Path) -> None:
    evil = f"</title><script>alert('{HOSTILE}')</script>\" onclick=\"x"
    (tmp_path / "mine.yaml").write_text(EXPERIMENT.format(json.dumps(evil)))
    folder = tmp_path / "<script>'\""
    words = ("--testbed", "ebpf", "-o", str(folder), "--html", "page.html")
    made = slowpath("calibrate", "mine.yaml", *words, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "page.html").read_text()
    assert "<script" not in text
    root = parsed(text)
    assert "</title><script>alert('\\x1b]0;x" in texts(root)
    assert str(folder) in texts(root)
    assert not [one for one in root.iter() if "onclick" in one.attrib]
    assert not set(text) & set(HOSTILE) - set("]0;x")


def test_a_bed_that_only_writes_has_a_page_too(tmp_path: Path) -> None:
    words = ("--testbed", "p4", "--component", "recirculation", "--html", "page.html")
    made = slowpath("calibrate", *words, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    part = sections(parsed((tmp_path / "page.html").read_text()))["recirculation"]
    assert "only writes programs" in texts(part)
    assert not part.findall(".//svg")


def test_what_cannot_be_written_is_an_error(run: Path) -> None:
    made = slowpath("calibrate", *ADD, "--html", "page.txt", cwd=run)
    assert (made.returncode, made.stdout) == (2, "")
    assert "'--html': the file name must end in .html" in made.stderr
    made = slowpath("calibrate", "--evaluate", "run", "--html", "no/such/a.html", cwd=run)
    assert made.returncode == 3
    assert "no/such/a.html: cannot be written: there is no folder no/such; create it" in made.stderr


# --- in a browser --------------------------------------------------------------------------------

LOOK = """
function look(frame, width) {
  const page = frame.contentDocument, out = [];
  const root = page.documentElement;
  for (const svg of page.querySelectorAll('figure svg')) {
    const box = svg.getBoundingClientRect();
    const labels = [...svg.querySelectorAll('text')].map(one => one.getBoundingClientRect());
    for (const one of labels)
      if (one.left < box.left - 1 || one.right > box.right + 1 ||
          one.top < box.top - 1 || one.bottom > box.bottom + 1) out.push('outside');
    for (let a = 0; a < labels.length; a++)
      for (let b = a + 1; b < labels.length; b++)
        if (labels[a].left < labels[b].right - 1 && labels[b].left < labels[a].right - 1 &&
            labels[a].top < labels[b].bottom - 4 && labels[b].top < labels[a].bottom - 4)
          out.push('overlap');
  }
  const style = frame.contentWindow.getComputedStyle(page.body);
  return {width, scroll: root.scrollWidth, client: root.clientWidth, labels: out,
          figures: page.querySelectorAll('figure svg').length,
          text: style.color, paper: style.backgroundColor};
}
"""


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_on_phones_and_desks(run: Path, tmp_path: Path, dark: bool) -> None:
    for one in looked_at(run / "page.html", tmp_path, LOOK, dark=dark):
        assert one["scroll"] <= one["client"], one
        assert one["figures"] == 4
        assert one["labels"] == [], one
        paper = sum(map(int, re.findall(r"\d+", one["paper"])[:3]))
        ink = sum(map(int, re.findall(r"\d+", one["text"])[:3]))
        assert (paper < ink) is dark
