"""Prints models and predictions as text, CSV, JSON and Parquet."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from slowpath.contention.cells import write_columns
from slowpath.contention.columns import Query
from slowpath.contention.composition import Reason
from slowpath.contention.memory.recipes import RECIPES, Recipe
from slowpath.contention.methods import METHODS, Method
from slowpath.contention.model import FunctionModel
from slowpath.contention.prediction import Predictions
from slowpath.contention.saved import written
from slowpath.core import engine
from slowpath.core.printable import csv_line, json_line, one_line
from slowpath.core.quantities import significant, with_interval
from slowpath.core.terminal import Line, grid

COLUMNS = ("row", "throughput", "low", "high", "bottleneck", "outside")
RESOURCES = ("memory", "accelerator")
"""Keys of the throughputs that a single resource would allow, one for each resource."""


class PredictionReport(NamedTuple):
    """Predictions for a query, with the model and method that made them."""

    model: FunctionModel
    method: Method
    query: Query
    found: Predictions
    confidence: float  # coverage of intervals, in percent
    warnings: Sequence[str] = ()

    @property
    def recipe(self) -> Recipe:
        """Recipe (features and kind of model) of the memory model that made the predictions."""
        return RECIPES["slomo"] if self.method == "slomo" else self.model.choice.recipe

    @property
    def intervals(self) -> bool:
        """Return true if the prediction method has confidence intervals."""
        return self.method == "slowpath"


def predictions_csv(answer: PredictionReport) -> Iterator[str]:
    """Yield predictions as CSV, a line for each row of the query.

    The column `outside` lists columns that are outside the training range, separated by spaces.
    """
    yield csv_line(COLUMNS)
    for row in _rows(answer):
        cells = [row[name] for name in COLUMNS[:-1]]
        yield csv_line([*cells, " ".join(row["outside"])])


def predictions_json(answer: PredictionReport) -> Iterator[str]:
    """Yield the predictions as one JSON document."""
    confidence = answer.confidence / 100 if answer.intervals else None
    rest = {"confidence": confidence, "warnings": [*answer.warnings], "results": _rows(answer)}
    yield json_line({**_shared(answer), **rest})


def predictions_parquet(file: str, answer: PredictionReport) -> None:
    """Write the predictions as a table, and the other keys of the JSON document as metadata.

    Raises:
        InputError: when the file cannot be written.
    """
    rows = _rows(answer)
    columns = {name: [row[name] for row in rows] for name in (*COLUMNS, *RESOURCES)}
    confidence = f"{answer.confidence / 100:g}" if answer.intervals else None
    warnings = "\n".join(answer.warnings) or None
    metadata = {**_shared(answer), "confidence": confidence, "warnings": warnings}
    write_columns(file, columns, {name: one for name, one in metadata.items() if one is not None})


def _shared(answer: PredictionReport) -> dict[str, str | None]:
    """Return the properties of a report that are the same for all rows, such as the function."""
    origin, head = answer.model.memory.origin, engine.head("contention predict", "predictions")
    return {
        "slowpath": head["slowpath"],
        "command": head["command"],
        "schema": head["schema"],
        "function": origin.function,
        "device": origin.device,
        "unit": origin.unit,
        "pattern": answer.model.pattern,
        "recipe": answer.recipe.name,
        "method": answer.method,
    }


def _rows(answer: PredictionReport) -> list[dict[str, Any]]:
    found = answer.found
    return [
        {
            "row": row,
            "throughput": float(found.throughput[at]),
            "low": float(found.low[at]) if answer.intervals else None,
            "high": float(found.high[at]) if answer.intervals else None,
            "bottleneck": found.bottleneck[at],
            "outside": found.outside[at],
            "memory": float(found.memory[at]),
            "accelerator": None if found.accelerator is None else float(found.accelerator[at]),
        }
        for at, row in enumerate(answer.query.rows)
    ]


def predictions_text(answer: PredictionReport) -> Iterator[Line]:
    """Yield a table of predictions, with model and method."""
    yield from _head(answer.model, answer.recipe)
    if answer.method != "slowpath":
        yield Line(f"Baseline: {METHODS[answer.method]} ({answer.method})")
    yield Line("")
    rows = [
        (
            row["row"],
            *_numbers(row),
            row["bottleneck"],
            ", ".join(row["outside"]),
        )
        for row in _rows(answer)
    ]
    yield from grid(COLUMNS, rows, right=("throughput", "low", "high"))
    unit = answer.model.memory.origin.unit
    yield Line("")
    unit_text = f"in {unit}" if unit else "in the unit of the profile, which is not stated"
    intervals = f"{answer.confidence:g} % intervals" if answer.intervals else "no intervals"
    yield Line(one_line(f"Throughput {unit_text}; {intervals}."))


def _numbers(row: dict[str, Any]) -> tuple[str, ...]:
    """Format a throughput and its interval; the ends are empty if there is no interval."""
    if row["low"] is None:
        return significant(row["throughput"]), "", ""
    return with_interval(row["throughput"], row["low"], row["high"])


def model_text(model: FunctionModel, _warnings: Sequence[str]) -> Iterator[Line]:
    """Yield a summary of the model, with errors of memory models on held-out rows."""
    yield from _head(model, model.choice.recipe)
    if model.request_time is not None:
        time = model.request_time
        yield Line(
            f"Accelerator: {time.formula()} for each request"
            f" ({time.lowest:g} to {time.highest:g} matches/MB measured)"
        )
    if model.request_time is not None and model.pattern == "run-to-completion":
        yield Line(_wait_source(model))
    if model.pattern_reason is not None:
        yield from _pattern(model, model.pattern_reason)
    yield Line("")
    rows = [
        (
            one.recipe,
            _percent(one.among),
            _percent(one.beyond),
            "chosen" if one.recipe == model.choice.recipe.name else "",
        )
        for one in model.choice.scores
    ]
    columns = ("memory model", "error among rows", "beyond rows", "")
    yield from grid(columns, rows, right=columns[1:3])
    yield Line("")
    yield Line("Errors are means of |predicted - measured| / measured on held-out rows.")


def _wait_source(model: FunctionModel) -> str:
    """Return a sentence on how waiting times at the accelerator were determined."""
    if model.co_runs is None:
        return "Waits at the accelerator: a full round of the requests of others (assumed)"
    count = len(model.co_runs.rows)
    return f"Waits at the accelerator: measured in {count} mixes with a client that never pauses"


def _pattern(model: FunctionModel, reason: Reason) -> Iterator[Line]:
    """Yield the function's execution pattern, and how it was determined."""
    source = {
        "given": "as given",
        "detected": "detected from mixes",
        "declared": "from the record of the profile",
        "assumed": "an assumption without evidence",
    }[reason.source]
    if reason.source == "assumed" and model.request_time is None:
        source = "irrelevant for a single resource"
    yield Line(f"Pattern: {model.pattern}, {source}")
    found = reason.detected
    if found is not None:
        yield Line(
            f"Errors in {found.co_runs} mixes with contention for both resources: pipeline"
            f" {_percent(found.pipeline_error)}, run-to-completion"
            f" {_percent(found.run_to_completion_error)}; {100 * found.confidence:.0f} % confidence"
        )


def model_json(model: FunctionModel, warnings: Sequence[str]) -> Iterator[str]:
    """Yield the model as JSON, in the format of saved models."""
    yield written(model, warnings)


def model_csv(model: FunctionModel, _warnings: Sequence[str]) -> Iterator[str]:
    """Yield a CSV line for each candidate memory model, with its errors on held-out rows."""
    yield csv_line(("recipe", "among", "beyond", "taken"))
    for one in model.choice.scores:
        taken = one.recipe == model.choice.recipe.name
        yield csv_line((one.recipe, one.among, one.beyond, taken))


def _head(model: FunctionModel, recipe: Recipe) -> Iterator[Line]:
    origin = model.memory.origin
    device = f" on {origin.device}" if origin.device else ""
    yield Line(one_line(f"{model.name}{device}, {model.pattern}"), "bold")
    yield Line(f"Memory: {recipe.words} ({recipe.name}), {len(model.memory.rows)} rows")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
