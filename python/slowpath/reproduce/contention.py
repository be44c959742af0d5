"""Recomputes the errors of throughput predictions for the function FlowMonitor (Wu et al., Tomur).

The paper states errors for rows that are not published. Ours are by nested cross-validation on the
published training rows: neither training nor the choice of a model sees the rows that are
predicted. Besides our models, our versions of the two methods of the paper are judged.
"""

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from slowpath.contention.columns import COUNTERS, THROUGHPUT, TRAFFIC
from slowpath.contention.memory.evaluation import Evaluated, Protocol, evaluate
from slowpath.contention.memory.features import Rows
from slowpath.contention.memory.recipes import RECIPES, Recipe
from slowpath.contention.model import rows_of
from slowpath.contention.options import quiet_libraries
from slowpath.contention.reading import read_memory
from slowpath.core.extras import need_contention
from slowpath.core.inputs import read_text
from slowpath.core.jobs.pool import StopRequested
from slowpath.reproduce.comparison import NOT_COMPUTED, Plan, Quantity, compared
from slowpath.reproduce.documents import ComparedValue
from slowpath.reproduce.registry import Source

CHOSEN = "chosen anew in each fold"
_FILES = ("memory-train.csv", "profile/flowmon/yala_mem_train", "profile/flowmon/tomur_mem_train")


class _Printed(NamedTuple):
    """Errors of a method for FlowMonitor, as the paper prints them in Table 5, in percent."""

    mape: float
    within_5: float  # predictions with an error of at most 5 %
    within_10: float


_SLOMO, _TOMUR = _Printed(11.9, 20.0, 44.0), _Printed(4.8, 62.0, 88.0)
_MODELS = {
    "slomo": (_SLOMO, "our version of SLOMO"),
    "published": (_TOMUR, "our version of the paper's learner"),
    "process-table": (_TOMUR, "a Gaussian process"),
    "average": (_TOMUR, "the mean of four Gaussian processes"),
    CHOSEN: (_TOMUR, "slowpath contention train chooses a model by its errors on training rows"),
}
"""Models that are compared, by name: errors that the paper prints for the method, and a
description.
"""
_MAPE = Quantity("mean absolute error of predicted throughput", "%")
_WITHIN = "predictions with an error of at most {} %"


class _Common(NamedTuple):
    rows: Rows
    repetitions: int


def flow_monitor(source: Source) -> Plan:
    """Return the work that recomputes the row FlowMonitor of Table 5.

    Raises:
        InputError: if the rows are missing or damaged.
        UnavailableError: if a package is missing.
    """
    need_contention()
    [file, *_] = source.needed(*_FILES)
    rows = rows_of(read_memory([str(file)])) if file.suffix else _plain(source, file)
    names = list(_MODELS)
    conditions = [
        "The paper's errors are for its test rows; ours are for the "
        f"{len(rows.throughput)} published training rows, by nested cross-validation in ten folds.",
        "A difference smaller than the standard error in the last column means little.",
    ]

    def plan(repetitions: int) -> Plan:
        common = _Common(rows, repetitions)
        return Plan(
            names, names, judge, common, _rows, conditions, source.warnings(), plan
        )  # fmt: skip

    return plan(1)


def _plain(source: Source, file: Path) -> Rows:
    """Read the table of the authors: columns of numbers without names, in the order of the paper.

    Raises:
        InputError: if `file` is not such a table.
    """
    names = [one.name for one in (*TRAFFIC, *COUNTERS, THROUGHPUT)]
    lines = read_text(str(file)).splitlines()
    cells = [line.split() for line in lines if line.strip()]
    if not cells or any(len(line) != len(names) or not _numbers(line) for line in cells):
        raise source.damaged(file, f"is not a table of {len(names)} columns of numbers")
    text = "\n".join(",".join(line) for line in (names, *cells))
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        table.write(text + "\n")
        table.flush()
        return rows_of(read_memory([table.name]))


def _numbers(words: Sequence[str]) -> bool:
    try:
        return all(math.isfinite(float(word)) for word in words)
    except ValueError:
        return False


def judge(common: _Common, name: str, stop_requested: StopRequested) -> Evaluated | None:
    """Return the errors of the model `name` on rows that its training did not see.

    Return None if a stop was requested.
    """
    if stop_requested():
        return None
    recipe: Recipe | None = None if name == CHOSEN else RECIPES[name]
    with quiet_libraries():
        return evaluate(recipe, common.rows, Protocol(common.repetitions))


def _rows(pairs: Sequence[tuple[str, Evaluated | None]]) -> list[ComparedValue]:
    errors, within = list[ComparedValue](), dict[int, list[ComparedValue]]()
    for name, result in pairs:
        printed, words = _MODELS[name]
        if result is None:
            errors.append(compared(name, _MAPE, printed.mape, None, NOT_COMPUTED))
            continue
        found = result.errors
        note = f"± {100 * found.standard_error:.2f}; {words}"
        errors.append(compared(name, _MAPE, printed.mape, 100 * found.mape, note))
        for limit, theirs, ours in (
            (5, printed.within_5, found.within_5),
            (10, printed.within_10, found.within_10),
        ):
            quantity = Quantity(_WITHIN.format(limit), "% of rows")
            row = compared(name, quantity, theirs, 100 * ours)
            within.setdefault(limit, []).append(row)
    return [*errors, *(row for rows in within.values() for row in rows)]
