"""Measures the contribution of each technique of the search, with the benchmark `ablation`.

This module selects the programs; the benchmark contains the variants of the search.
"""

import csv
import subprocess
import tempfile
from pathlib import Path

import figures
import programs
from families.loop_bound import loop_bound
from families.map_lookups import map_lookups
from figures import Column, Row

from measure import ROOT, Program

COMMAND = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "ablation", "--"]
PUBLISHED = [
    "xdp-switch",
    "xdp-dns-cache",
    "xdp-quic-lb-ipv6-options",
    "xdp-path-explosion",
    "xdp-alaw2ulaw",
    "xdp-cloudflare",
]


def rows(listings: Path, repeat: int, deadline: float) -> list[Row]:
    """Search every program with every variant of the search, and return a row for each run.

    Raises:
        SystemExit: if variants contradict each other, or a program cannot be searched.
    """
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        generated = {"map-lookups.16": map_lookups(16), "loop-bound.100": loop_bound(100)}
        chosen = [p for p in programs.of_paths([listings]) if p.name in PUBLISHED]
        for name, text in generated.items():
            file = Path(temporary) / f"{name}.asm"
            file.write_text(text)
            chosen.append(Program(name, file))
        output = Path(temporary) / "figures.csv"
        for program in chosen:
            options = ["--repeat", str(repeat), "--deadline", str(deadline), "--csv", str(output)]
            command = [*COMMAND, *program.options, *options, str(program.path)]
            run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if run.returncode:
                raise SystemExit(f"error: {' '.join(command)}\n{run.stdout}{run.stderr}")
            with output.open(newline="") as file_of_figures:
                found += [dict(row) for row in csv.DictReader(file_of_figures)]
    return found


def markdown(rows: list[Row], deadline: float) -> str:
    """Format a table with a line for each program, and the seconds of each variant as columns."""
    names = list(dict.fromkeys(str(row["variant"]) for row in rows))
    table: dict[str, Row] = {}
    for row in rows:
        name = str(row["program"])
        line = table.setdefault(name, {"program": name, **dict.fromkeys(names)})
        line[str(row["variant"])] = _cell(row, deadline)
    columns = [Column("program", "program"), *(Column(name, name, 3) for name in names)]
    return figures.markdown(list(table.values()), columns)


def _cell(row: Row, deadline: float) -> float | str | None:
    """Return the seconds of a run, or a note if its result is not exact."""
    if row["result"] == "exact":
        return float(str(row["seconds"]))
    if row["result"] == "deadline":
        return f"not in {deadline:g} s"
    return None if not row["seconds"] else "gave up"
