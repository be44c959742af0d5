"""Writes chains of the programs in examples/chain, and reads slowpath's reports on them."""

import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/chain"


class Run(NamedTuple):
    """Results of a completed run of slowpath: its JSON document, and its duration."""

    report: dict[str, Any]
    seconds: float  # duration of the whole process


def write(folder: Path, name: str, programs: Sequence[str]) -> Path:
    """Write the description of a chain of example programs, and return its file.

    Each program runs if the one before it returns XDP_PASS. A program can occur several times, so
    names contain the position in the chain.
    """
    labels = [f"{program}_{place}" for place, program in enumerate(programs, 1)]
    lines = ["schema: 1", "programs:"]
    for label, program in zip(labels, programs, strict=True):
        file = json.dumps(os.path.relpath(EXAMPLES / f"{program}.bpf.o", folder))
        lines.append(f"  - {{name: {label}, object: {file}}}")
    lines.append("edges:" if len(programs) > 1 else "edges: []")
    lines += [
        f"  - {{from: {first}, on: [XDP_PASS], to: {second}}}"
        for first, second in itertools.pairwise(labels)
    ]
    file = folder / f"{name}.yaml"
    file.write_text("\n".join(lines) + "\n")
    return file


def slowpath(python: Path, *arguments: object) -> Run:
    """Run slowpath with these arguments, and read its JSON output.

    Raises:
        SystemExit: if there is no output.
    """
    command = [str(python), "-m", "slowpath", *map(str, arguments), "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    started = time.perf_counter()
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT
    )
    seconds = time.perf_counter() - started
    try:
        return Run(json.loads(run.stdout), seconds)
    except ValueError:
        sys.stderr.write(run.stderr)
        raise SystemExit(f"error: no result from: {' '.join(command)}") from None


def median(values: Iterable[float]) -> float:
    """Return the median of some numbers."""
    return statistics.median(values)
