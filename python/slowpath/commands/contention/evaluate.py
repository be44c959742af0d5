"""The command `slowpath contention evaluate`."""

import gc
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.printable import csv_line, json_line
from slowpath.cli.terminal import Line, is_terminal, out, out_lines, tell
from slowpath.commands.contention.options import quiet_libraries, read_recipe
from slowpath.contention.packages import need
from slowpath.engine import identity
from slowpath.report.grid import grid

if TYPE_CHECKING:
    from slowpath.contention.memory.evaluation import Evaluated
    from slowpath.contention.memory.learning.rows import Rows

_CLEAR = "\r\x1b[K"
_KEYS = ("mape", "standard_error", "median", "largest", "within_5", "within_10")


def evaluate(given: Namespace) -> ExitCode:
    """Evaluates and reports.

    Raises:
        InputError: when a table cannot be used.
        OptionError: when there is no such recipe.
    """
    names = [read_recipe(name) for name in given.recipe or ()]
    need()
    from slowpath.contention.model import rows_of
    from slowpath.contention.tables.reading import read_memory

    memory = read_memory(given.table)
    with quiet_libraries():
        found = _evaluated(given, rows_of(memory), names)
    if given.format == "json":
        rows = [_record(one) for one in found]
        document = {
            "slowpath": identity.version(),
            "files": given.table,
            "rows": len(memory.rows),
            "repetitions": given.repetitions,
            "confidence": given.confidence / 100,
            "models": rows,
        }
        out(json_line(document))
    elif given.format == "csv":
        out_lines(_csv(found))
    else:
        out_lines(_text(found, given.confidence))
    return ExitCode.FINE


def _evaluated(given: Namespace, rows: "Rows", names: Sequence[str]) -> "list[Evaluated]":
    from slowpath.contention.memory.evaluation import Protocol
    from slowpath.contention.memory.evaluation import evaluate as measure
    from slowpath.contention.memory.learning.recipes import RECIPES
    from slowpath.contention.memory.selection import compared

    protocol = Protocol(given.repetitions, given.confidence / 100)
    live = is_terminal(sys.stderr)
    recipes = [RECIPES[name] for name in names] if names else [*compared(rows), None]
    found = []
    for recipe in recipes:
        name = "chosen" if recipe is None else recipe.name

        def progress(done: int, count: int, name: str = name) -> None:
            gc.collect()  # main.py leaves it to those who make cycles
            if live:
                tell(f"{_CLEAR}{name}: fold {done + 1} of {count}")

        found.append(measure(recipe, rows, protocol, progress))
    if live:
        tell(_CLEAR)
    return found


def _record(one: "Evaluated") -> dict[str, object]:
    return {
        "recipe": one.name,
        "errors": one.errors._asdict(),
        "coverage": one.coverage,
        "width": one.width,
        "ends": None if one.ends is None else one.ends._asdict(),
        "chosen": one.chosen,
    }


def _csv(found: "Sequence[Evaluated]") -> Iterator[str]:
    yield csv_line(("recipe", *_KEYS, "coverage", "width", "ends_mape"))
    for one in found:
        numbers = (getattr(one.errors, key) for key in _KEYS)
        ends = None if one.ends is None else one.ends.mape
        yield csv_line((one.name, *numbers, one.coverage, one.width, ends))


def _text(found: "Sequence[Evaluated]", confidence: float) -> Iterator[Line]:
    columns = (
        "model",
        "MAPE",
        "+-",
        "median",
        "largest",
        "within 10 %",
        "covered",
        "width",
        "ends",
    )
    rows = [
        (
            one.name,
            f"{100 * one.errors.mape:.2f} %",
            f"{100 * one.errors.standard_error:.2f}",
            f"{100 * one.errors.median:.1f} %",
            f"{100 * one.errors.largest:.0f} %",
            f"{100 * one.errors.within_10:.0f} %",
            f"{100 * one.coverage:.0f} %",
            f"{100 * one.width:.0f} %",
            "" if one.ends is None else f"{100 * one.ends.mape:.1f} %",
        )
        for one in found
    ]
    yield from grid(columns, rows, right=columns[1:])
    yield Line("")
    yield Line(
        f"Held-out rows; +- standard error; covered by {confidence:g} % intervals of that width; "
        "ends: MAPE beyond the rows."
    )
    for one in found:
        if one.chosen:
            names = ", ".join(f"{name} {count}" for name, count in sorted(one.chosen.items()))
            yield Line(f"Chosen in folds: {names}.")
