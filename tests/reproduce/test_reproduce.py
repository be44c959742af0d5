"""Tests `slowpath reproduce` on made-up artefacts, and on published ones if they are available."""

import bz2
import json
import subprocess
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

import oracles
from artefact import LISTINGS, write_clone, write_listings, write_summary
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from slowpath.reproduce import run as command
from slowpath.reproduce.comparison import Quantity, compared, summary
from slowpath.reproduce.guarantees import bit_rates
from slowpath.reproduce.predictions import PublishedFiles, read_published
from slowpath.reproduce.registry import PAPERS, Source
from slowpath.reproduce.table_models import entries_in
from support import GOLDEN, ROOT, check_golden, slowpath
from test_html import parsed, texts

GUARANTEES = ("reproduce", "throughput-guarantees")
SLOWEST = "slowest satisfiable path"
ON_CARD = "slowest measured path"


def document(*words: str | Path) -> dict[str, Any]:
    run = slowpath(*words, "--format", "json")
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def percents(found: dict[str, Any], quantity: str) -> dict[str, float]:
    """Return the deviation in percent of each item of a figure, for one quantity."""
    return {
        row["item"]: row["deviation_percent"]
        for row in found["results"]
        if row["quantity"] == quantity
    }


# --- comparisons ----------------------------------------------------------------------------------


def test_deviations_are_relative_to_the_published_value() -> None:
    rate = Quantity("rate", "Mpps")
    rows = [
        compared("a", rate, 10.0, 9.0),
        compared("b", rate, -4.0, -5.0),
        compared("c", rate, 0.0, 0.0),
        compared("d", rate, 0.0, 1.0),
        compared("e", rate, None, 1.0),
    ]
    assert [row["deviation"] for row in rows] == [-1.0, -1.0, 0.0, 1.0, None]
    assert [row["deviation_percent"] for row in rows] == [-10.0, -25.0, 0.0, None, None]
    [found] = summary(rows, 10.0)
    assert (found["compared"], found["within"]) == (3, 2)
    assert (found["median_percent"], found["largest_percent"]) == (10.0, 25.0)
    assert found["largest_item"] == "b"


def test_equation_5_gives_the_printed_numbers_of_entries() -> None:
    assert entries_in(20e6) == pytest.approx(1.32e5, rel=0.005)
    assert entries_in(256e3) == pytest.approx(1.68e3, rel=0.005)


# --- made-up artefacts ----------------------------------------------------------------------------


def test_a_made_up_artefact_gives_its_own_values(tmp_path: Path) -> None:
    write_summary(tmp_path)
    found = document(*GUARANTEES, "table-2", tmp_path)
    assert found["complete"] is True
    for quantity in (SLOWEST, "naive bound"):
        got = percents(found, quantity)
        assert {*got} == {*LISTINGS}
        assert all(abs(one) < 1e-6 for one in got.values())


def test_a_deviation_is_found(tmp_path: Path) -> None:
    write_summary(tmp_path, slower="size_classes")
    found = percents(document(*GUARANTEES, "table-2", tmp_path), SLOWEST)
    assert found.pop("size_classes") == pytest.approx(10.0, abs=0.2)
    assert all(abs(one) < 1e-6 for one in found.values())


def test_a_clone_gives_the_same_as_a_summary(tmp_path: Path) -> None:
    write_clone(tmp_path / "clone")
    write_summary(tmp_path / "summary")
    clone = document(*GUARANTEES, "table-2", tmp_path / "clone")
    other = document(*GUARANTEES, "table-2", tmp_path / "summary")
    for quantity in (SLOWEST, "naive bound"):
        values = [
            {row["item"]: row["published"] for row in one["results"] if row["quantity"] == quantity}
            for one in (clone, other)
        ]
        assert values[0] == pytest.approx(values[1])
    # The log of the clone says that each path takes a tenth less than predicted.
    measured = percents(clone, ON_CARD)
    assert measured == pytest.approx(dict.fromkeys(LISTINGS, -10.0), abs=1e-3)


def test_all_paths_of_a_clone_are_found_again(tmp_path: Path) -> None:
    write_clone(tmp_path)
    found = document(*GUARANTEES, "paths", tmp_path)
    got = percents(found, "paths with the published cycles and packet size")
    assert got == dict.fromkeys(LISTINGS, 0.0)


def test_the_text_of_a_comparison(tmp_path: Path) -> None:
    write_summary(tmp_path / "artefact", slower="size_classes")
    run = slowpath(*GUARANTEES, "table-2", "artefact", "--only", "*_*", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    check_golden(GOLDEN / "reproduce/table-2.txt", run.stdout)


def test_the_list_of_figures() -> None:
    run = slowpath("reproduce")
    assert (run.returncode, run.stderr) == (0, "")
    check_golden(GOLDEN / "reproduce/list.txt", run.stdout)
    assert slowpath("reproduce", "--list").stdout == run.stdout
    one = document("reproduce", "insights")
    assert [paper["name"] for paper in one["papers"]] == ["insights"]
    every = document("reproduce", "--list")
    assert [paper["name"] for paper in every["papers"]] == [one.name for one in PAPERS]


def test_a_page_has_both_values_and_their_axes(tmp_path: Path) -> None:
    write_summary(tmp_path)
    page = tmp_path / "page.html"
    run = slowpath(*GUARANTEES, "table-2", tmp_path, "--html", page)
    assert run.returncode == 0, run.stderr
    root = parsed(page.read_text())
    shown = texts(root)
    assert "slowest satisfiable path, Gbit/s" in shown
    assert "AGPL-3.0" in shown
    bars = [one.attrib.get("class") for one in root.iter("rect")]
    assert bars.count("published") == bars.count("ours") == 3 * len(LISTINGS)
    assert "http" not in {one.tag for one in root.iter()}


def test_a_chart_over_numbers_has_points_and_a_curve(tmp_path: Path) -> None:
    programs = tmp_path / "data-paper/programs"
    write_clone(tmp_path)
    renamed = dict(zip(LISTINGS, ("xdp-count-min.1", "xdp-count-min.2", "other"), strict=True))
    for old, new in renamed.items():
        (programs / f"{old}.asm").rename(programs / f"{new}.asm")
        report = tmp_path / f"data-paper/predictions/{old}.k.ereport"
        report.rename(report.with_name(f"{new}.k.ereport"))
    page = tmp_path / "page.html"
    found = document(*GUARANTEES, "figure-8", tmp_path, "--html", page)
    assert [row["item"] for row in found["results"]] == ["1", "2"]
    root = parsed(page.read_text())
    assert sum(one.attrib.get("class") == "point" for one in root.iter("circle")) == 2
    assert sum(one.attrib.get("class") == "curve" for one in root.iter("polyline")) == 1
    assert "hash functions" in texts(root)


# --- wrong and damaged data -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("guarantees",), "no paper 'guarantees'"),
        (("throughput-guarantee",), "did you mean 'throughput-guarantees'?"),
        (("insights", "figure-12", "x"), "no figure of insights 'figure-12'"),
        (("insights", "placement"), "name the local path of the data: placement.json"),
        (("insights", "placement"), "github.com/824728350/Clara at commit eea38c5"),
        (("--only", "x"), "needs a figure"),
    ],
)
def test_wrong_arguments_say_what_to_write(words: tuple[str, ...], reason: str) -> None:
    run = slowpath("reproduce", *words)
    assert (run.returncode, run.stdout) == (2, "")
    assert reason in run.stderr


def test_missing_data_are_named_with_their_place(tmp_path: Path) -> None:
    run = slowpath(*GUARANTEES, "table-2", tmp_path)
    assert (run.returncode, run.stdout) == (3, "")
    assert f"error: {tmp_path}: has no data-paper/programs/*.asm; name the local path" in run.stderr
    assert "github.com/johannes-krude/nfp-pred-artifacts at commit 6132d4b" in run.stderr
    write_listings(tmp_path)
    run = slowpath(*GUARANTEES, "table-2", tmp_path)
    assert run.returncode == 3
    assert "has no summary.json and no data-paper/predictions/*.k.ereport" in run.stderr
    run = slowpath(*GUARANTEES, "table-2", tmp_path / "missing")
    assert (run.returncode, run.stderr) == (3, f"error: {tmp_path}/missing: no such file\n")


def test_a_missing_listing_is_named(tmp_path: Path) -> None:
    write_summary(tmp_path)
    (tmp_path / "size_classes.asm").unlink()
    run = slowpath(*GUARANTEES, "table-2", tmp_path)
    assert run.returncode == 3
    assert "has no size_classes.asm" in run.stderr


@pytest.mark.parametrize(
    "text", ["", "[]", "[1]", '{"a": 1}', '{"a": {"cores": "x"}}', "{", '{"a": {"ssp": {}}}']
)
def test_a_damaged_summary_is_an_error(tmp_path: Path, text: str) -> None:
    write_listings(tmp_path)
    (tmp_path / "summary.json").write_text(text)
    run = slowpath(*GUARANTEES, "table-2", tmp_path)
    assert (run.returncode, run.stdout) == (3, "")
    file = tmp_path / "summary.json"
    assert run.stderr.startswith((f"error: {file}: is not a summary", f"error: {tmp_path}: has no"))


@pytest.mark.parametrize("cut", [0, 3, 40, -1])
def test_a_damaged_report_is_an_error(tmp_path: Path, cut: int) -> None:
    write_clone(tmp_path)
    report = tmp_path / "data-paper/predictions/size_classes.k.ereport"
    report.write_bytes(report.read_bytes()[:cut])
    run = slowpath(*GUARANTEES, "table-2", tmp_path, "--only", "size_classes")
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr.startswith(f"error: {report}: is not a re")


def test_any_damage_to_a_report_is_an_error_or_a_value(tmp_path: Path) -> None:
    """Check that a report without one of its lines causes an error or is read, but no crash."""
    write_clone(tmp_path)
    report = tmp_path / "data-paper/predictions/size_classes.k.ereport"
    lines = bz2.decompress(report.read_bytes()).decode().splitlines()
    for at in range(len(lines)):
        report.write_text("\n".join([*lines[:at], *lines[at + 1 :]]))
        outcome = outcome_of(report)
        assert outcome in {"read", str(report)}


def outcome_of(report: Path) -> str:
    """Return `read` if a report can be read, else the file that the error names."""
    try:
        read_published(PublishedFiles(str(report)))
    except InputError as problem:
        return problem.file
    return "read"


def test_another_listing_than_that_of_the_report_is_noted(tmp_path: Path) -> None:
    write_clone(tmp_path)
    listing = tmp_path / "data-paper/programs/size_classes.asm"
    listing.write_text(listing.read_text() + "\n")
    found = document(*GUARANTEES, "table-2", tmp_path)
    notes = {row["item"]: row["note"] for row in found["results"]}
    assert notes.pop("size_classes") == "the listing is not that of the report"
    assert {*notes.values()} == {None}


def test_a_report_without_a_satisfiable_path_has_only_a_naive_bound(tmp_path: Path) -> None:
    write_clone(tmp_path)
    report = tmp_path / "data-paper/predictions/size_classes.k.ereport"
    text = bz2.decompress(report.read_bytes()).decode()
    report.write_text(text.partition("#### ->")[0])
    found = document(*GUARANTEES, "table-2", tmp_path, "--only", "size_classes")
    values = {row["quantity"]: row for row in found["results"]}
    assert values["naive bound"]["deviation_percent"] == pytest.approx(0, abs=1e-6)
    assert values[SLOWEST]["published"] is None
    assert values[SLOWEST]["ours"] > 0
    assert values[SLOWEST]["note"] == "the published tool found no satisfiable path"
    assert ON_CARD not in values


def test_measurements_at_the_limit_of_the_ports_are_left_out(tmp_path: Path) -> None:
    write_clone(tmp_path)
    logs = tmp_path / "data-paper/measured-throughput"
    name = "measure-xdp-ereport-workaround-size_classes.k-00:15-1-54400000.log.bz2"
    (logs / name).write_bytes(bz2.compress(b""))
    measured = percents(document(*GUARANTEES, "table-2", tmp_path), ON_CARD)
    assert {*measured} == {*LISTINGS} - {"size_classes"}


def test_another_commit_causes_a_warning(tmp_path: Path) -> None:
    write_clone(tmp_path)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    commit = head.stdout.strip()
    run = slowpath(*GUARANTEES, "table-2", tmp_path, "--format", "json")
    assert run.returncode == 0
    found = json.loads(run.stdout)
    assert found["revisions"] == [commit]
    [warning] = found["warnings"]
    assert warning == (
        f"{tmp_path}: is at commit {commit[:7]}, but slowpath was compared with commit 6132d4b; "
        "the data may differ"
    )
    assert f"warning: {warning}" in run.stderr
    subprocess.run([*git, "pack-refs", "--all"], check=True)
    figure = PAPERS[0].figures[0]
    assert Source([str(tmp_path)], figure).revisions() == [commit]


def test_a_figure_that_cannot_be_reproduced_says_why() -> None:
    for paper in PAPERS:
        for figure in paper.figures:
            if figure.compute is None:
                run = slowpath("reproduce", paper.name, figure.name)
                assert (run.returncode, run.stdout) == (3, "")
                start = f"error: {paper.name} {figure.name}: cannot be reproduced here: "
                assert run.stderr == f"{start}{figure.unavailable}\n"


# --- stopping -------------------------------------------------------------------------------------


def test_a_deadline_keeps_what_is_done(tmp_path: Path) -> None:
    write_summary(tmp_path)
    # In one process, the deadline is over before the first item.
    limits = ("--jobs", "1", "--deadline", "0.000001s")
    run = slowpath(*GUARANTEES, "table-2", tmp_path, *limits, "--format", "json")
    assert run.returncode == 4
    assert "deadline: 3 of 3 items missing" in run.stderr
    found = json.loads(run.stdout)
    assert found["complete"] is False
    assert [row["note"] for row in found["results"]] == ["not computed"] * 3


def test_a_stop_request_keeps_what_is_done(tmp_path: Path) -> None:
    write_summary(tmp_path)
    figure = PAPERS[0].figures[0]
    plan = bit_rates(Source([str(tmp_path)], figure))
    stopping = Stopping()

    class Stops:
        """Fake work on a figure that requests a stop during the first item."""

        def __call__(self, common: Any, item: Any, stop: Any) -> Any:
            found = plan.work(common, item, stop)
            stopping.ask()
            return found

    args = Namespace(deadline=None, jobs=1)
    results = command._computed(plan._replace(work=Stops()), args, stopping, "x")
    assert [one is None for one in results] == [False, True, True]
    rows = plan.rows(list(zip(plan.items, results, strict=True)))
    assert sum(row["note"] == "not computed" for row in rows) == 2


def test_repetitions_are_for_cross_validation_only(tmp_path: Path) -> None:
    write_summary(tmp_path)
    run = slowpath(*GUARANTEES, "table-2", tmp_path, "--repetitions", "2")
    assert run.returncode == 2
    assert "this figure has no cross-validation" in run.stderr


# --- other papers ---------------------------------------------------------------------------------


def test_the_chain_of_the_talk_shrinks_as_stated() -> None:
    found = document("reproduce", "chains", "example", ROOT / "examples/chain")
    [left] = [row["ours"] for row in found["results"] if row["item"] == "left"]
    assert left == pytest.approx(100 * 80 / 1045)  # docs/explanation/chains-accuracy.md


def test_the_model_of_a_table_has_the_stated_error() -> None:
    points = ROOT / "docs/figures/experiments/table_exact_entries.csv"
    found = document("reproduce", "performance-models", "figure-2", points)
    values = {row["item"]: row["ours"] for row in found["results"]}
    assert 0 < values["model"] < 3
    assert values["segment 1"] < values["segment 2"] < values["segment 3"]


def test_spreading_state_gains_what_the_page_states() -> None:
    found = document("reproduce", "insights", "figure-15", ROOT / "examples/insights")
    gains = [round(row["ours"]) for row in found["results"] if "long" not in row["item"]]
    assert gains == [95, 27, 0]  # docs/explanation/insights-accuracy.md


def test_a_table_of_the_authors_is_read_like_ours(tmp_path: Path) -> None:
    folder = oracles.folder("bluefield-2", "SLOWPATH_BLUEFIELD2", "memory-train.csv")
    header, *lines = (folder / "memory-train.csv").read_text().splitlines()
    assert header.startswith("row,")
    table = tmp_path / "profile/flowmon/yala_mem_train"
    table.parent.mkdir(parents=True)
    table.write_text("\n".join(" ".join(line.split(",")[1:]) for line in lines))
    only = ("--only", "average")
    plain = document("reproduce", "contention", "table-5", tmp_path, *only)
    ours = document("reproduce", "contention", "table-5", folder, *only)
    assert plain["results"] == ours["results"]
    error = ours["results"][0]
    assert error["ours"] == pytest.approx(2.85, abs=0.15)  # contention-accuracy.md
    oracles.compared("bluefield-2", len(lines), "rows of FlowMonitor")
    table.write_text("1 2\n")
    run = slowpath("reproduce", "contention", "table-5", tmp_path)
    assert run.returncode == 3
    assert "is not a table of 10 columns of numbers" in run.stderr


def test_published_placements_and_orders() -> None:
    folder = oracles.folder("insights", "SLOWPATH_INSIGHTS", "state-placement")
    placed = document("reproduce", "insights", "placement", folder)
    assert [row["deviation"] for row in placed["results"]] == [0.0, 0.0]
    laid = document("reproduce", "insights", "coalescing", folder)
    rows = laid["results"]
    assert all(row["ours"] <= row["published"] for row in rows)
    stated = {"aggcounter": 4.5, "tcpgen": 8.2, "timefilter": 26.0, "webgen": 16.4}
    assert {row["item"]: row["ours"] for row in rows[:4]} == pytest.approx(stated)
    oracles.compared("insights", len(placed["results"]) + len(rows), "placements and orders")


def test_published_guarantees() -> None:
    results = oracles.folder("results", "SLOWPATH_RESULTS", "published results")
    listings = oracles.folder("listings", "SLOWPATH_LISTINGS", "published listings")
    found = document(*GUARANTEES, "table-2", results, listings)
    slowest = percents(found, SLOWEST)
    assert len(slowest) == 27
    assert all(abs(one) < 0.01 for one in slowest.values())
    assert all(one > -0.01 for one in percents(found, "naive bound").values())
    oracles.compared("results", len(slowest), "guarantees")
