#!/usr/bin/env python3
"""How time, memory and nogoods grow with one number, for the generated families.

Writes the listings of each family (`--listings` keeps them), runs them in turns, prints a table and
the slopes between the logarithms of number and figure: 1 is linear, 2 quadratic. plots.py draws the
output of `--csv`. Exits with 1 if a program gets no exact guarantee.
"""

import argparse
import math
import statistics
import sys
import tempfile
from pathlib import Path

import figures
from families import FAMILIES, Family
from figures import Column, Row

from measure import TOOL, Program, take_turns

COLUMNS = [
    Column("seconds", "seconds", 2),
    Column("engine", "engine_seconds", 3),
    Column("solver", "solver_seconds", 3),
    Column("MB", "megabytes", 0),
    Column("checked", "candidates"),
    Column("solver calls", "solver_checks"),
    Column("nogoods", "nogoods"),
    Column("", "status"),
]
# Figures for which slopes are computed, with their names in sentences.
GROWTH = {"engine_seconds": "seconds of the engine", "nogoods": "nogoods", "megabytes": "memory"}


def columns(family: Family) -> list[Column]:
    """Return the columns of the table of a family's measurements."""
    return [Column(family.parameter, "number"), *COLUMNS]


def measure(
    family: Family, tool: Path, repeat: int, deadline: float, folder: Path | None
) -> list[Row]:
    """Measure the programs of a generated family; write their listings to a folder.

    Without `folder`, the listings are temporary.
    """
    with tempfile.TemporaryDirectory() as temporary:
        place = folder or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        chosen = {}
        for number in family.values:
            file = place / f"{family.name}.{number}.asm"
            file.write_text(family.generate(number))
            chosen[number] = Program(file.stem, file, family.options)
        runs = take_turns(tool, list(chosen.values()), repeat, ["--deadline", str(deadline)])
        return [
            {"number": number} | figures.row(program, runs[program])
            for number, program in chosen.items()
        ]


def slope(rows: list[Row], key: str) -> float | None:
    """Return the slope of log(value) against log(program size): 1 is linear, 2 quadratic.

    Only the larger half of the programs with exact guarantees counts, as constant costs dominate
    the smaller half. None if fewer than three programs are left.
    """
    exact = [row for row in rows if row["status"] == "exact" and row[key]]
    larger = exact[min(len(exact) // 2, max(len(exact) - 3, 0)) :]
    if len(larger) < 3:  # noqa: PLR2004 - two points are always on a line
        return None
    numbers = [math.log(row["number"]) for row in larger]
    return statistics.linear_regression(numbers, [math.log(row[key]) for row in larger]).slope


def slopes(rows: list[Row]) -> str:
    """Describe the slopes of time, memory and nogoods in a sentence.

    Nogoods are sets of branches that no packet takes together.
    """
    found = {words: slope(rows, key) for key, words in GROWTH.items()}
    known = [f"{words} {value:.1f}" for words, value in found.items() if value is not None]
    return f"Slopes: {', '.join(known)}." if known else "Too few exact results for slopes."


SUMMARY = [
    Column("family", "family"),
    Column("grows with", "parameter"),
    Column("from", "first"),
    Column("to", "last"),
    Column("exact up to", "exact"),
    Column("engine seconds there", "seconds", 3),
    Column("MB there", "megabytes", 0),
    Column("slope of time", "slope of engine_seconds", 1),
    Column("slope of nogoods", "slope of nogoods", 1),
    Column("slope of memory", "slope of megabytes", 1),
]


def summary(family: Family, rows: list[Row]) -> Row:
    """Return the table row of a family: its largest program with an exact guarantee, and slopes."""
    exact = [row for row in rows if row["status"] == "exact"]
    largest = exact[-1] if exact else dict.fromkeys(("number", "engine_seconds", "megabytes"))
    return {
        "family": family.name,
        "parameter": family.parameter,
        "first": rows[0]["number"],
        "last": rows[-1]["number"],
        "exact": largest["number"],
        "seconds": largest["engine_seconds"],
        "megabytes": largest["megabytes"],
    } | {f"slope of {key}": slope(rows, key) for key in GROWTH}


def main() -> int:
    names = [family.name for family in FAMILIES]
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(names))
    arguments.add_argument("--slowpath", type=Path, default=TOOL, help="the tool")
    arguments.add_argument("--repeat", type=int, default=3, metavar="N")
    arguments.add_argument("--deadline", type=float, default=60, metavar="SECONDS")
    arguments.add_argument("--listings", type=Path, metavar="FOLDER", help="keep the listings here")
    arguments.add_argument("--csv", type=Path, metavar="FOLDER", help="write FAMILY.csv here")
    given = arguments.parse_args()
    if unknown := set(given.families) - set(names):
        arguments.error(f"unknown families {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    fine = True
    for family in FAMILIES:
        if given.families and family.name not in given.families:
            continue
        rows = measure(family, given.slowpath, given.repeat, given.deadline, given.listings)
        fine &= all(row["status"] == "exact" for row in rows)
        print(f"{family.name}\n{figures.aligned(rows, columns(family))}\n{slopes(rows)}\n")
        if given.csv:
            figures.write_csv(given.csv / f"{family.name}.csv", rows)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
