"""Quality of the bound before the search ends.

Measures the seconds until the first bound, and the distance between the bound after a tenth of the time and the last one. The figures come from the events of the engine (trace.py); seconds count from when the file is read.
"""

import json
import statistics
from pathlib import Path
from typing import NamedTuple

from figures import Column, Row

from measure import Program, process

EARLY = 0.1  # share of the time

COLUMNS = [
    Column("program", "program"),
    Column("first bound, ms", "first_ms", 0),
    Column("all, ms", "total_ms", 0),
    Column("first from last, %", "first_off", 1),
    Column("after a tenth from last, %", "early_off", 1),
]


class Trace(NamedTuple):
    """Times of the first and last bound of an analysis, and deviations of early bounds."""

    first: float  # seconds until the first bound
    total: float  # seconds until the end
    first_off: float  # percent between the first bound and the last one
    early_off: float | str  # percent between the bound after a tenth of the time and the last


def read(text: bytes) -> Trace | None:
    """Read the output of trace.py. Return None if the analysis found no bound."""
    trace = json.loads(text)
    bounds = trace["bounds"]
    if not bounds:
        return None
    total, last = trace["seconds"], bounds[-1][1]
    early = [value for seconds, value in bounds if seconds <= EARLY * total]
    early_off = abs(early[-1] / last - 1) * 100 if early else "no bound"
    return Trace(bounds[0][0], total, abs(bounds[0][1] / last - 1) * 100, early_off)


def rows(python: Path, programs: list[Program], repeat: int, options: list[str]) -> list[Row]:
    """Analyse each program `repeat` times; return a table row for each program that has a bound.

    A row has the values of the run with the median duration.
    """
    script = Path(__file__).with_name("trace.py")
    traces: dict[Program, list[Trace]] = {program: [] for program in programs}
    for _ in range(repeat):
        for program, done in traces.items():
            command = [str(python), str(script), str(program.path)]
            found = read(process([*command, *program.options, *options]).output)
            if found:
                done.append(found)
    return [_row(program, done) for program, done in traces.items() if done]


def _row(program: Program, traces: list[Trace]) -> Row:
    middle = sorted(traces, key=lambda trace: trace.total)[len(traces) // 2]
    return {
        "program": program.name,
        "first_ms": statistics.median(1000 * trace.first for trace in traces),
        "total_ms": 1000 * middle.total,
        "first_off": middle.first_off,
        "early_off": middle.early_off,
    }
