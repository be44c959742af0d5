"""Measures all programs of a survey, and checks that nothing stays behind.

    measure_survey.py MANIFEST.json OUT.csv [OPTION...]

The manifest is that of `survey.py`. Options are those of `slowpath measure`. A program must be
measured, or refused with a reason; other outcomes are defects and are part of the summary.
"""

import csv
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from slowpath.core.engine import kernel

LIMIT = 300
"""Time limit for an object, in seconds."""


def held() -> list[set[int]]:
    return [set(numbers) for numbers in kernel.open_kernel().objects()]


def measured(file: str, names: list[str], options: list[str]) -> list[dict[str, Any]]:
    """Measure programs of an object, given by name; return a row for each."""
    words = [sys.executable, "-m", "slowpath", "measure", file, "--format", "json", *options]
    for name in names:
        words += ["-n", name]
    try:
        run = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return [{"file": file, "outcome": "DEFECT", "reason": f"longer than {LIMIT} s"}]
    if run.returncode not in {0, 3, 4} or not run.stdout:
        reason = (run.stderr.strip().splitlines() or ["nothing was said"])[-1]
        return [{"file": file, "outcome": "DEFECT", "reason": f"{run.returncode}: {reason}"}]
    rows = []
    for program in json.loads(run.stdout)["results"]:
        done = [path for path in program["paths"] if path["measured_ns"] is not None]
        reasons = [path["error"] for path in program["paths"] if path["error"] is not None]
        disagree = any(path["report"] is not None for path in program["paths"])
        outcome = "measured" if done else "refused"
        rows.append(
            {
                "file": file,
                "program": program["program"],
                "outcome": "DISAGREEMENT" if disagree else outcome,
                "paths": len(program["paths"]),
                "measured": len(done),
                "restored": sum(path["arrangement"] == "restored" for path in done),
                "slowest_ns": max((path["measured_ns"] for path in done), default=None),
                "reason": program["error"] or (reasons[0] if reasons else None),
            }
        )
    return rows


def main() -> None:
    manifest, out, *options = sys.argv[1:]
    objects: dict[str, list[str]] = {}
    for entry in json.loads(Path(manifest).read_text()):
        objects.setdefault(entry["object"], []).append(entry["program"])
    before, rows = held(), list[dict[str, Any]]()
    started = time.monotonic()
    for number, (file, names) in enumerate(objects.items(), 1):
        rows += measured(file, names, options)
        if number % 20 == 0:
            print(
                f"{number} of {len(objects)} objects, {time.monotonic() - started:.0f} s",
                flush=True,
            )
    time.sleep(2)
    left = [len(now - known) for known, now in zip(before, held(), strict=True)]
    columns = [
        "file",
        "program",
        "outcome",
        "paths",
        "measured",
        "restored",
        "slowest_ns",
        "reason",
    ]
    with Path(out).open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    print(dict(Counter(row["outcome"] for row in rows)), "programs, maps, links left:", left)
    paths = [sum(row.get(key) or 0 for row in rows) for key in ("paths", "measured", "restored")]
    print(f"{paths[0]} paths, {paths[1]} measured, {paths[2]} of them restored between runs")


if __name__ == "__main__":
    main()
