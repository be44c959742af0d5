"""Tests the HTML page of `slowpath sweep --html`."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from compiler import needs_clang
from pages import Element, check_contained, of_class, section
from slowpath.sweep.definitions import Definition
from slowpath.sweep.page import sweep_page
from support import slowpath
from test_html import HOSTILE, parsed, texts

SOURCE = "examples/count_min.bpf.c"
Made = tuple[dict[str, Any], Element, Path]


def made(folder: Path, *words: str, code: int = 0) -> Made:
    """Run `slowpath sweep --html`; return the JSON document, the parsed page, and its file."""
    needs_clang()
    page = folder / "page.html"
    run = slowpath("sweep", SOURCE, *words, "--html", page, "--format", "json")
    assert run.returncode == code, run.stderr
    return json.loads(run.stdout), parsed(page.read_text()), page


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(tmp_path_factory.mktemp("page"), "-D", "HASHES=1,2,8")


def test_the_growth_comes_first(swept: Made) -> None:
    document, root, page = swept
    check_contained(page)
    counts = [one["results"][0]["counts"]["instructions"] for one in document["results"]]
    first = texts(of_class(root, "hero")[0])
    assert f"{counts[0]} \u2192 {counts[-1]} instructions per packet" in first
    assert f"{counts[-1] / counts[0]:.2f}" in first
    assert f"+{counts[2] - counts[1]} from 2 to 8" in first


def test_charts_have_units_and_every_value(swept: Made) -> None:
    document, root, _ = swept
    figures = list(section(root, "Growth").iter("figure"))
    assert len(figures) == 2
    labels = [[texts(one) for one in figure.iter("text")] for figure in figures]
    assert {"value of HASHES", "instructions per packet"} <= set(labels[0])
    assert {"value of HASHES", "nanoseconds per packet"} <= set(labels[1])
    points = [texts(one) for one in figures[0].iter("g")]
    expected = [
        f"linux-xdp, HASHES = {one['values']['HASHES']}: "
        f"{one['results'][0]['counts']['instructions']} instructions"
        for one in document["results"]
    ]
    assert points == expected


def test_bands_are_the_intervals_of_estimates_as_a_whole(swept: Made) -> None:
    document, root, _ = swept
    _, times = section(root, "Growth").iter("figure")
    bands = [one.attrib["points"].split() for one in times.iter("polygon")]
    assert len(bands) == 2
    for name, band in zip(("warm", "cold"), bands, strict=True):
        ends = [
            program["results"][0][f"{name}_{end}_ns"]
            for end, order in (("high", 1), ("low", -1))
            for program in document["results"][::order]
        ]
        heights = [-float(place.partition(",")[2]) for place in band]
        scale = (max(heights) - min(heights)) / (max(ends) - min(ends))
        expected = [min(heights) + scale * (one - min(ends)) for one in ends]
        assert heights == pytest.approx(expected, abs=0.2)


def test_ticks_of_whole_numbers_are_whole(tmp_path: Path) -> None:
    _, root, _ = made(tmp_path, "-D", "HASHES=1,2", "--target", "ebpf")
    (chart,) = section(root, "Growth").iter("svg")
    ticks = [texts(one) for one in chart.iter("text")]
    assert {"1", "2"} <= set(ticks)
    assert not any("." in tick for tick in ticks)


def test_the_page_has_the_data_as_csv(swept: Made) -> None:
    _, root, _ = swept
    (link,) = section(root, "Results").iter("a")
    rows = csv.DictReader(io.StringIO(unquote(link.attrib["href"].partition(",")[2])))
    assert [row["HASHES"] for row in rows] == ["1", "2", "8"]


def test_words_are_named_on_the_axis_and_failures_are_told(tmp_path: Path) -> None:
    _, root, _ = made(tmp_path, "-D", "HASHES=1,4,bad", code=3)
    (chart, *_) = section(root, "Growth").iter("svg")
    assert {"1", "4", "bad"} <= {texts(one) for one in chart.iter("text")}
    (problem,) = of_class(root, "warn")
    assert texts(problem).startswith("HASHES = bad: clang: ")
    assert texts(problem).endswith("[SP0222]")


def test_nothing_known_is_a_page_too(swept: Made) -> None:
    document = {**swept[0], "results": [], "complete": False}
    root = parsed(sweep_page(document, [Definition("HASHES", ("1",))]))  # type: ignore[arg-type]
    assert "There are no results." in texts(root)
    assert "stopped before its end" in texts(root)


def test_texts_are_escaped(swept: Made) -> None:
    document = json.loads(json.dumps(swept[0]))
    document["file"] += HOSTILE
    for program in document["results"]:
        program["values"]["HASHES"] = "1"
        program["program"] = HOSTILE
        program["results"][0] |= {"target": HOSTILE, "error": HOSTILE}
    text = sweep_page(document, [Definition("HASHES", ("1",))])
    root = parsed(text)
    assert "script" not in {one.tag for one in root.iter()}
    assert "\x1b" not in text
    assert "<script>alert(1)" in texts(root)
