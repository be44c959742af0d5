"""Runs `slowpath contention evaluate`."""

import gc
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.inputs import check_output, check_page, write_error, write_text
from slowpath.cli.printable import json_line
from slowpath.cli.terminal import is_terminal, out, out_lines, tell
from slowpath.commands.contention.options import quiet_libraries, read_recipe
from slowpath.contention.packages import need
from slowpath.report.picture import check_picture

if TYPE_CHECKING:
    from slowpath.contention.memory.evaluation import Evaluated
    from slowpath.contention.memory.learning.rows import Rows

_CLEAR = "\r\x1b[K"


def run(given: Namespace) -> ExitCode:
    """Evaluates and reports.

    Raises:
        InputError: when a table cannot be used, or a file not be written.
        OptionError: when there is no such recipe, or an option makes no sense.
        UnavailableError: when a package is missing.
    """
    check_page(given.html)
    check_picture(given.plot)
    for option, file in (("--html", given.html), ("--plot", given.plot)):
        check_output(option, file, given.table)
    need()
    names = [read_recipe(name) for name in given.recipe or ()]
    from slowpath.contention.model import rows_of
    from slowpath.contention.tables.reading import read_memory

    memory = read_memory(given.table)
    with quiet_libraries():
        found = _evaluated(given, rows_of(memory), names)
    from slowpath.commands.contention.evaluate.report import (
        Evaluation,
        evaluation_csv,
        evaluation_json,
        evaluation_text,
    )

    report = Evaluation(memory, tuple(found), given.repetitions, given.confidence / 100)
    if given.html is not None:
        from slowpath.commands.contention.evaluate.page import evaluation_page

        write_text(given.html, evaluation_page(report))
    if given.plot is not None:
        from slowpath.commands.contention.evaluate.plot import draw

        try:
            draw(given.plot, report)
        except OSError as problem:
            raise write_error(given.plot, problem) from None
    if given.format == "json":
        out(json_line(evaluation_json(report)))
    else:
        out_lines((evaluation_csv if given.format == "csv" else evaluation_text)(report))
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
