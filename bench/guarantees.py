#!/usr/bin/env python3
"""Time to the guarantee: medians over whole processes, with figures of the search.

Runs the examples for both targets, or the given listings and objects. Programs take turns, so that
other load on the machine affects all alike. Exits with 1 if a program that is not refused gets no
exact guarantee, or not all requested paths.
"""

import argparse
import statistics
import sys
from pathlib import Path

import anytime
import figures
import programs
from figures import Column

from measure import PYTHON, TOOL, start_up, take_turns

COLUMNS = [
    Column("program", "program"),
    Column("seconds", "seconds", 2),
    Column("engine", "engine_seconds", 3),
    Column("solver", "solver_seconds", 3),
    Column("MB", "megabytes", 0),
    Column("checked", "candidates"),
    Column("solver calls", "solver_checks"),
    Column("nogoods", "nogoods"),
    Column("published tool", "published_seconds", 2),
    Column("ratio", "ratio", 0),
]
STATUS = Column("", "status")
PATHS = Column("paths", "paths")


def parser() -> argparse.ArgumentParser:
    """Return the parser for the options of this program."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument(
        "paths", nargs="*", type=Path, help="listings, objects, or folders of them; else examples"
    )
    arguments.add_argument("--slowpath", type=Path, default=TOOL, help="the tool")
    arguments.add_argument("--python", type=Path, default=PYTHON, help="the interpreter with it")
    arguments.add_argument("--repeat", type=int, default=5, metavar="N")
    arguments.add_argument("--deadline", type=float, default=60, metavar="SECONDS")
    arguments.add_argument("--all", action="store_true", help="find all satisfiable paths")
    arguments.add_argument("--anytime", action="store_true", help="bounds over time instead")
    arguments.add_argument("--csv", type=Path, metavar="FILE", help="write all figures")
    return arguments


def main() -> int:
    given = parser().parse_args()
    chosen = programs.of_paths(given.paths) if given.paths else programs.examples()
    if not chosen:
        print("no listings and no objects there")
        return 0
    options = ["--deadline", str(given.deadline)]
    if given.anytime:
        rows, columns = anytime.rows(given.python, chosen, given.repeat, options), anytime.COLUMNS
    else:
        if given.all:
            options += ["--paths", "all"]
        runs = take_turns(given.slowpath, chosen, given.repeat, options)
        rows = [figures.row(program, done) for program, done in runs.items()]
        columns = [*COLUMNS, *([PATHS] if given.all else []), STATUS]
    shown = [row for row in rows if row.get("status") != "refused"]
    print(figures.aligned(shown, columns))
    print(f"{len(rows) - len(shown)} refused")
    if given.csv:
        figures.write_csv(given.csv, rows)
    if not given.anytime:
        seconds = statistics.median(row["seconds"] for row in shown)
        print(f"median {seconds:.3f} s; of this, processes that analyse nothing:")
        for name, value in start_up(given.slowpath, given.python, given.repeat).items():
            print(f"  {name}: {value:.3f} s")
    return int(any(row.get("status") in {"bounds", "some paths"} for row in rows))


if __name__ == "__main__":
    sys.exit(main())
