"""The guarantees of the published programs are the published ones, where these are at hand."""

import json
import subprocess
import sys

import oracles
from support import ROOT


def test_guarantees_are_the_published_ones() -> None:
    results = oracles.folder("results", "SLOWPATH_RESULTS", "published results")
    listings = oracles.folder("listings", "SLOWPATH_LISTINGS", "published listings")
    run = subprocess.run(
        [sys.executable, ROOT / "bench/published_bounds.py", results, listings],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    programs = json.loads((results / "summary.json").read_text())
    assert len(programs) == 27
    oracles.compared("results", len(programs), "guarantees")
