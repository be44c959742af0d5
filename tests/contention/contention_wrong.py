"""Writes valid input files for `slowpath contention`, which tests damage to check the errors."""

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contention_tables import MEMORY, profile, write, write_memory
from slowpath.app import app
from support import without_codes

FAST = "--recipe ridge-pressure"
TRAINED = "train memory.csv regex.csv own.csv"
PREDICTED = "predict --memory-table memory.csv --accelerator-table regex.csv --query query.csv"
PLACED = "place fleet.yaml --arrivals arrivals.csv --no-reference"
REMARKS = {"function": "nf", "device": "nic", "source": "made up", "unit throughput": "kpps"}
DEVICE = {"device": "nic"}
FLEET = """nics: {device: nic, cores: 8}
functions:
  nat: {model: nat.json, cores: 2, traffic: {flows: 16000, size: 1500}, sla: 0.9, solo: 900}
  ids:
    model: nf.json
    cores: 4
    traffic: {flows: 16000, size: 1500, mtbr: 400}
    sla: [0.8, 0.9]
"""
ARRIVALS = (("a", "nat", 0.9), ("b", "ids", 0.8), ("c", "nat", 0.95))
TRUTH = (
    ("a", "nat", "nat", 1000),
    ("b", "ids", "ids", 500),
    ("c", "nat+ids", "nat", 900),
    ("d", "nat+ids", "ids", 400),
)


def run_command(words: str) -> tuple[int, str, str]:
    """Run `slowpath contention` in this process; return exit code, output and error output.

    The codes of errors and warnings are removed from the error output.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = app(["contention", *words.split()])
        except SystemExit as exiting:
            code = int(exiting.code or 0)
    return code, out.getvalue(), without_codes(err.getvalue())


def error_of(words: str, code: int) -> str:
    """Run `slowpath contention`, check its exit code, and return its one-line error message."""
    found, out, errors = run_command(words)
    assert found == code, f"{words}: {found}: {errors}"
    if code:
        assert out == ""
        assert "\n" not in errors.rstrip("\n") or code == 2, errors
    return errors


def folder_of_good_files(folder: Path) -> Path:
    """Write one valid file of each kind: tables, models, a fleet with arrivals, measured mixes."""
    write_memory(folder / "memory.csv", profile(24), REMARKS)
    write_memory(folder / "more.csv", profile(12, seed=7), REMARKS)
    requests = [("r1", 300, 0.0008), ("r2", 600, 0.0014)]
    write(folder / "regex.csv", ("row", "mtbr", "inverse_throughput"), requests, REMARKS)
    of = profile(4, seed=5)
    own = np.column_stack([of.columns[name] for name in MEMORY[:-1]]).tolist()
    write(folder / "own.csv", ("row", *MEMORY[:-1]), _named(own), REMARKS)
    header = ("row", "mtbr", "inverse_throughput_sum", *MEMORY[:-1])
    write(folder / "query.csv", header, _named([[400.0, 2e-4, *row] for row in own]), DEVICE)
    write(folder / "arrivals.csv", ("row", "function", "sla"), ARRIVALS, DEVICE)
    truth = {**DEVICE, "unit throughput": "kpps"}
    for name in ("truth.csv", "measured.csv"):
        write(folder / name, ("row", "mix", "function", "throughput"), TRUTH, truth)
    (folder / "fleet.yaml").write_text(FLEET)
    (folder / "empty").mkdir()
    with contextlib.chdir(folder):
        error_of(f"train memory.csv regex.csv own.csv {FAST} -o nf.json", 0)
        error_of(f"train memory.csv own.csv {FAST} -o nat.json", 0)
        error_of(f"train memory.csv {FAST} -o silent.json", 0)
    return folder


def _named(rows: Sequence[Sequence[float]]) -> list[tuple[object, ...]]:
    return [(f"q{at}", *row) for at, row in enumerate(rows)]
