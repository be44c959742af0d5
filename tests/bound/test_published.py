"""Tests the benchmark that compares guarantees with published packet rates of a network card."""

import csv
import subprocess
import sys
from pathlib import Path

import oracles
from support import ROOT


def bench(name: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "bench" / name, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_packet_rates_by_hash_functions_are_those_of_the_card(tmp_path: Path) -> None:
    """Check the benchmark's packet rates by number of hash functions against figure 8 of the paper.

    They must also equal the stored figures in `docs/figures/sweep`.
    """
    results = oracles.folder("results", "SLOWPATH_RESULTS", "published results")
    listings = oracles.folder("listings", "SLOWPATH_LISTINGS", "published listings")
    tool = Path(sys.executable).with_name("slowpath")
    run = bench("count_min.py", results, listings, "--out", tmp_path, "--slowpath", tool)
    assert run.returncode == 0, run.stdout + run.stderr
    fresh, shown = (
        list(csv.DictReader(file.read_text().splitlines()))
        for file in (tmp_path / "count_min.csv", ROOT / "docs/figures/sweep/count_min.csv")
    )
    keys = [key for key in fresh[0] if not key.startswith("example_")]
    assert [{k: row[k] for k in keys} for row in fresh] == [
        {k: row[k] for k in keys} for row in shown
    ]
    oracles.compared("results", sum(bool(row["measured_mpps"]) for row in fresh), "packet rates")


def test_a_bench_says_which_data_is_missing(tmp_path: Path) -> None:
    run = bench("count_min.py", tmp_path, tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert "name the folder of published results" in run.stderr
