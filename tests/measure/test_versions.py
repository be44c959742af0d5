"""Tests `slowpath measure` with two files, which compares an old and a new version of a program."""

import csv
import io
import json
from pathlib import Path

import pytest

from compiler import needs_clang
from running_kernel import HOT, needs_kernel, text_of
from slowpath.core.errors import ExitCode
from support import ROOT, slowpath

FIREWALL = ROOT / "examples/firewall.bpf.o"
FLOW_MONITOR = ROOT / "examples/flow_monitor.bpf.o"
SHORT = ("--paths", "1", "--seconds", "0.1", *HOT)
SOURCE = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("xdp") int NAME(struct xdp_md *ctx)
{
    char *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    if (data + 40 > end)
        return XDP_DROP;
    BODY
    *(__u32 *)data = 7;
    return XDP_PASS;
}
SEC("xdp") int other_NAME(struct xdp_md *ctx) { return XDP_PASS; }
"""
RANDOM = "__u32 a = bpf_get_prandom_u32(); if (a == 0 || a == 0xffffffff) return XDP_TX;"
"""C code that almost never returns XDP_TX, except for the random numbers that the analysis tries
first."""


@pytest.fixture(autouse=True)
def _kernel() -> None:
    needs_kernel()


def source(folder: Path, file: str, name: str, body: str = "") -> Path:
    """Write a C program called `name` that contains the code `body`, and return the source file."""
    needs_clang()
    path = folder / file
    path.write_text(SOURCE.replace("NAME", name).replace("BODY", body))
    return path


def test_a_gate_fails_for_programs_without_a_counterpart(tmp_path: Path) -> None:
    old, new = source(tmp_path, "a.bpf.c", "marks"), source(tmp_path, "b.bpf.c", "renamed")
    run = slowpath("measure", old, new, *SHORT, "--fail-on", "ratio > 100")
    assert run.returncode == ExitCode.FAILED, run.stderr
    assert f"{old}: marks: {new} lacks a program with this name" in run.stderr
    assert f"{new}: other_renamed: {old} lacks a program with this name" in run.stderr


def test_csv_has_the_comparison(tmp_path: Path) -> None:
    words = ["measure", str(FIREWALL), str(FIREWALL), *SHORT, "--format", "csv"]
    rows = list(csv.DictReader(io.StringIO(slowpath(*words).stdout)))
    assert [row["path"] for row in rows] == ["slowest", "same packet", "fastest"]
    for row in rows:
        assert float(row["low"]) <= float(row["ratio"]) <= float(row["high"])
        assert row["old"] == row["new"] == f"{FIREWALL}:firewall"
    old, new = source(tmp_path, "a.bpf.c", "marks"), source(tmp_path, "b.bpf.c", "renamed")
    run = slowpath("measure", old, new, *SHORT, "--format", "csv")
    assert run.returncode == 0, "without a gate, programs may lack a counterpart"
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    assert [bool(row["old"]) for row in rows] == [True, True, False, False]
    assert {row["error"] for row in rows} == {"the other file lacks a program with this name"}


def test_a_packet_that_cannot_be_compared_says_why() -> None:
    run = slowpath("measure", FLOW_MONITOR, FIREWALL, *SHORT, "--format", "json")
    document = json.loads(run.stdout)
    (compared,) = document["comparison"]
    rows = {row["path"]: row for row in compared["paths"]}
    assert rows["slowest"]["error"] is None
    assert rows["same packet"]["ratio"] is None
    why = rows["same packet"]["error"]
    assert why
    assert f"same packet was not compared: {why}" in text_of(document)


def test_a_packet_whose_path_depends_on_random_numbers_is_compared(tmp_path: Path) -> None:
    old, new = source(tmp_path, "a.bpf.c", "marks"), source(tmp_path, "b.bpf.c", "marks", RANDOM)
    run = slowpath("measure", old, new, *SHORT, "--prog-name", "marks", "--format", "json")
    (compared,) = json.loads(run.stdout)["comparison"]
    row = compared["paths"][1]
    assert (row["path"], row["error"]) == ("same packet", None)
    assert row["ratio"] is not None


@pytest.mark.parametrize("words", [[str(FIREWALL)], ["--mode", "live"]])
def test_cold_caches_are_refused_where_nothing_is_measured_on_them(words: list[str]) -> None:
    run = slowpath("measure", str(FIREWALL), *words, "--cache", "cold")
    assert run.returncode == ExitCode.USAGE
    assert "'--cache'" in run.stderr
