"""Tests that `examples/README.md` states the right figures for the programs in `examples/chain`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support import ROOT, slowpath

ROW = re.compile(r"^\| `(chain/\w+\.bpf\.o)` \| (\d+) \| (\d+) \|", re.MULTILINE)
ROWS = ROW.findall((ROOT / "examples/README.md").read_text())
CARD = "agilio-cx-2x40"


def result(*words: str) -> Any:
    run = slowpath(*words, "--format", "json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_all_objects_are_listed() -> None:
    folder = ROOT / "examples/chain"
    listed = [Path(name).name for name, _, _ in ROWS]
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.bpf.o"))
    assert sorted(listed) == sorted(f"{path.stem}.o" for path in folder.glob("*.bpf.c"))


@pytest.mark.parametrize(("name", "length", "most"), ROWS)
def test_counts_are_the_documented_ones(name: str, length: str, most: str) -> None:
    path = str(ROOT / "examples" / name)
    (bound,) = result("bound", path, "--target", "ebpf")["results"]
    assert bound["guarantee"]["exact"]
    assert bound["assumptions"] == []
    assert bound["guarantee"]["counts"]["instructions"] == int(most)
    (shown,) = result("show", path)["results"]
    (program,) = shown["programs"]
    assert program["instructions"] == int(length)


@pytest.mark.parametrize("name", ["firewall", "load_balancer_card"])
def test_the_card_runs_its_variant(name: str) -> None:
    path = str(ROOT / f"examples/chain/{name}.bpf.o")
    (bound,) = result("bound", path, "--target", CARD)["results"]
    assert bound["guarantee"]["exact"]
    assert bound["guarantee"]["bitrate_bps"] > 10e9
