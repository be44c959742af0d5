"""Tests `slowpath measure` with cold caches: the flows, packets and map entries that it needs.

No test depends on measured times.
"""

import csv
from typing import Any

import pytest

import oracles
from running_kernel import HOT, measured, needs_kernel, paths_of
from slowpath.measure.cold import last_level
from slowpath.measure.report import cell, is_shown
from support import ROOT, remembered

EXAMPLES = {
    "firewall": (),
    "flow_monitor": ("--no-stretches",),
    # The search finds the slowest paths soon, but takes seconds for the fastest ones.
    "dns_cache": ("--no-stretches", "--paths", "2"),
    "ipv6_lb": ("--no-stretches",),
}
"""Options of the measurement for each example."""


@pytest.fixture
def kernel() -> None:
    needs_kernel()


def measured_paths(name: str) -> list[Any]:
    (program,) = measured(ROOT / f"examples/{name}.bpf.o", *EXAMPLES[name])["results"]
    return list(program["paths"])


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", EXAMPLES)
def test_each_path_has_a_cold_figure_or_a_reason(name: str) -> None:
    paths = measured_paths(name)
    for path in paths:
        assert (path["cold"] is None) == (path["cold_reason"] is not None)
        if path["cold"] is None:
            continue
        cold = path["cold"]
        # When the kernel ran each flow once, all flows took this path.
        assert cold["flows"] >= 16
        assert cold["flows"].bit_count() == 1
        assert cold["low_ns"] <= cold["measured_ns"] <= cold["high_ns"]
        assert (cold["limited"] is None) == (cold["entry_bytes"] >= cold["cache_bytes"])
        ends = [0, *(start + length for start, length in cold["varied"])]
        starts = [start for start, _ in cold["varied"]]
        assert all(end <= start for end, start in zip(ends, starts, strict=False))
        assert ends[-1] <= len(path["packet"]) // 2
        assert 8 * sum(length for _, length in cold["varied"]) >= cold["flows"].bit_length() - 1
    oracles.compared("kernel", len(paths), "paths looked at for cold data")


@pytest.mark.usefixtures("kernel")
def test_flows_differ_in_what_is_looked_for() -> None:
    # Flows differ in addresses and ports of IPv6, and not in other header fields.
    for path in measured_paths("firewall"):
        for start, length in path["cold"]["varied"] if path["cold"] else []:
            assert start >= 22
            assert start + length <= 58
    # On the path with most instructions, lookups find a rule.
    assert any(path["cold"] for path in measured_paths("firewall"))
    # The program looks up answers in its cache by the content of the query.
    questions = [path["cold"]["varied"] for path in measured_paths("dns_cache") if path["cold"]]
    assert questions
    assert all(start >= 54 for varied in questions for start, _ in varied)


@pytest.mark.usefixtures("kernel")
def test_insertions_have_a_reason() -> None:
    reasons = [path["cold_reason"] or "" for path in measured_paths("flow_monitor")]
    assert any("inserts or deletes elements" in reason for reason in reasons)
    assert any(
        "the lookups of the path do not differ between flows" in reason for reason in reasons
    )


@pytest.mark.usefixtures("kernel")
def test_hot_caches_only() -> None:
    for path in paths_of(measured(ROOT / "examples/firewall.bpf.o", *HOT)):
        assert path["cold"] is None
        assert path["cold_reason"] is None


@pytest.mark.usefixtures("kernel")
def test_text_and_csv_have_a_column() -> None:
    words = ("measure", ROOT / "examples/firewall.bpf.o", "--seconds", "0.1", "--paths", "2")
    lines = remembered(*words, "--cache", "cold").splitlines()
    assert lines[1].endswith("cold ns")
    assert any("flows with" in line for line in lines)
    header, *lines = remembered(*words, "--no-stretches", "--format", "csv").splitlines()
    assert header.split(",")[:4] == ["file", "section", "program", "rank"]
    rows = list(csv.DictReader([header, *lines], strict=True))
    assert len(rows) == 2
    assert all(line.count(",") == header.count(",") for line in lines)
    assert all(int(row["flows"]) >= 16 for row in rows)


def test_the_last_level_is_the_largest_that_data_are_in() -> None:
    def level(kind: str | None, size: int | None) -> Any:
        return {"level": 1, "kind": kind, "bytes": size, "line_bytes": 64, "cpus": [0]}

    assert last_level([]) is None
    assert last_level([level("Data", None)]) is None
    assert last_level([level("Instruction", 9), level("Data", 4), level("Unified", 8)]) == 8


def test_a_column_is_shown_where_it_differs() -> None:
    def path(differs: bool | None) -> Any:
        cold = {"measured_ns": 120.0, "spread_ns": 2.0, "differs": differs}
        return {"cold": None if differs is None else cold}

    assert not is_shown([path(None), path(False)], always=False)
    assert is_shown([path(None), path(True)], always=False)
    assert is_shown([path(None)], always=True)
    assert cell(path(None), always=True) == "-"
    assert cell(path(False), always=False) == "as hot"
    assert cell(path(False), always=True) == cell(path(True), always=False) == "120.0 ± 2.0"
