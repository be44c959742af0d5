"""Formats trained models and predictions as text, CSV, JSON and Parquet."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypedDict

from slowpath.contention.cells import write_columns
from slowpath.contention.columns import Query
from slowpath.contention.documents import PredictedRow, PredictionDocument
from slowpath.contention.memory.recipes import RECIPES, Recipe
from slowpath.contention.methods import METHODS, Method
from slowpath.contention.model import FunctionModel, Reason
from slowpath.contention.prediction import Predictions, error_known
from slowpath.contention.saved import written
from slowpath.core import engine
from slowpath.core.errors import Coded
from slowpath.core.formats import codes_of
from slowpath.core.printable import csv_line, json_line, one_line
from slowpath.core.quantities import significant, with_interval
from slowpath.core.terminal import Line, grid

SHARE = "share_of_solo"
"""Key of a throughput that is a share of the solo throughput."""
COLUMNS = ("row", "throughput", "low", "high", SHARE, "bottleneck", "outside")
_HEADS = ("row", "throughput", "low", "high", "share of solo throughput", "bottleneck", "outside")
RESOURCES = ("memory", "accelerator")
"""Keys of the throughputs with contention for a single resource."""


class PredictionReport(NamedTuple):
    """Predictions for a query, with the model and the method that made them."""

    model: FunctionModel
    method: Method
    query: Query
    found: Predictions
    confidence: float  # coverage of intervals, in percent
    warnings: Sequence[Coded] = ()

    @property
    def recipe(self) -> Recipe:
        """The kind of memory model that made the predictions."""
        return RECIPES["slomo"] if self.method == "slomo" else self.model.choice.recipe

    @property
    def intervals(self) -> bool:
        """True if the prediction method has confidence intervals."""
        return self.method == "slowpath"


def predictions_csv(answer: PredictionReport) -> Iterator[str]:
    """Yield the lines of a CSV report, one for each row of the query.

    The column `outside` lists columns that are outside the training range, separated by spaces.
    """
    yield csv_line(COLUMNS)
    for row in _rows(answer):
        cells = [row[name] for name in COLUMNS[:-1]]  # type: ignore[literal-required]
        yield csv_line([*cells, " ".join(row["outside"])])


def predictions_json(answer: PredictionReport) -> Iterator[str]:
    """Yield the predictions as one JSON document."""
    document: PredictionDocument = {
        **engine.head("contention predict", "predictions"),
        **_subject(answer),
        "confidence": answer.confidence / 100 if answer.intervals else None,
        "warnings": [*answer.warnings],
        "warning_codes": codes_of(answer.warnings),
        "results": _rows(answer),
    }
    yield json_line(document)


def predictions_parquet(file: str, answer: PredictionReport) -> None:
    """Write predictions to a Parquet file; other keys of the JSON document become its metadata.

    Raises:
        InputError: if the file cannot be written.
    """
    rows = _rows(answer)
    columns = {
        name: [row[name] for row in rows]  # type: ignore[literal-required]
        for name in (*COLUMNS, *RESOURCES)
    }
    confidence = f"{answer.confidence / 100:g}" if answer.intervals else None
    warnings = "\n".join(answer.warnings) or None
    head = engine.head("contention predict", "predictions")
    metadata = {**head, **_subject(answer), "confidence": confidence, "warnings": warnings}
    known = {name: str(one) for name, one in metadata.items() if one is not None}
    write_columns(file, columns, known)


class _Subject(TypedDict):
    """Keys of the JSON document that are the same for all rows of the prediction."""

    function: str | None
    device: str | None
    unit: str | None
    pattern: Literal["pipeline", "run-to-completion"]
    recipe: str
    method: Method


def _subject(answer: PredictionReport) -> _Subject:
    origin = answer.model.memory.origin
    return {
        "function": origin.function,
        "device": origin.device,
        "unit": origin.unit,
        "pattern": answer.model.pattern,
        "recipe": answer.recipe.name,
        "method": answer.method,
    }


def _rows(answer: PredictionReport) -> list[PredictedRow]:
    found, share = answer.found, answer.found.share
    known = [
        answer.intervals and error_known(*map(float, one))
        for one in zip(found.throughput, found.low, found.high, strict=True)
    ]
    return [
        {
            "row": row,
            "throughput": float(found.throughput[at]),
            "low": float(found.low[at]) if known[at] else None,
            "high": float(found.high[at]) if known[at] else None,
            "share_of_solo": None if share is None else float(share[at]),
            "bottleneck": found.bottleneck[at],
            "outside": found.outside[at],
            "memory": float(found.memory[at]),
            "accelerator": None if found.accelerator is None else float(found.accelerator[at]),
        }
        for at, row in enumerate(answer.query.rows)
    ]


def predictions_text(answer: PredictionReport) -> Iterator[Line]:
    """Yield the lines of a text report: model, method, and a table of predictions."""
    yield from _head(answer.model, answer.recipe)
    if answer.method != "slowpath":
        yield Line(f"Baseline: {METHODS[answer.method]} ({answer.method})")
    yield Line("")
    found = _rows(answer)
    rows = [
        (
            row["row"],
            *_numbers(row),
            "unknown" if (share := row["share_of_solo"]) is None else f"{share:.2f}",
            row["bottleneck"],
            ", ".join(row["outside"]),
        )
        for row in found
    ]
    yield from grid(_HEADS, rows, right=_HEADS[1:5])
    yield Line("")
    yield Line(one_line(throughput_unit(answer.model.memory.origin.unit)))
    if answer.intervals:
        unknown = sum(row["low"] is None for row in found)
        yield from interval_lines(answer.confidence, len(found) - unknown, unknown)
    else:
        yield Line("This method has no intervals, so the error is unknown.")


def throughput_unit(unit: str | None) -> str:
    """Return a sentence with the unit of throughput."""
    if unit is None:
        return "Throughput is in the unit of the profile, which the profile does not state."
    return f"Throughput is in {unit}."


def interval_lines(confidence: float, known: int, unknown: int) -> Iterator[Line]:
    """Yield sentences that explain intervals, and rows without an interval.

    `confidence` is the coverage of the intervals in percent; `known` and `unknown` are the numbers
    of rows with and without an interval.
    """
    if known:
        yield Line(f"low and high are the ends of the {confidence:g} % interval.")
    if unknown:
        values = "The error" if not known else "For rows without an interval, the error"
        yield Line(f"{values} is unknown, as all measured rows lie exactly on the model.")


def _numbers(row: PredictedRow) -> tuple[str, ...]:
    """Format a throughput and the ends of its interval; the ends are empty if it has none."""
    if row["low"] is None or row["high"] is None:
        return significant(row["throughput"]), "", ""
    return with_interval(row["throughput"], row["low"], row["high"])


def model_text(model: FunctionModel, _warnings: Sequence[Coded]) -> Iterator[Line]:
    """Yield a summary of a trained model as text, with errors of memory models on held-out rows."""
    yield from _head(model, model.choice.recipe)
    if model.request_time is not None:
        time = model.request_time
        yield Line(
            f"Accelerator: each request takes {time.formula()} (measured from {time.lowest:g} "
            f"to {time.highest:g} matches/MB)"
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
    columns = ("memory model", "error within the range", "error beyond the range", "")
    yield from grid(columns, rows, right=columns[1:3])
    yield Line("")
    yield Line(
        "Errors are means of |predicted - measured| / measured on rows held out from training."
    )


def _wait_source(model: FunctionModel) -> str:
    """Return a sentence that says how the waiting times at the accelerator were determined."""
    if model.co_runs is None:
        return (
            "Waits at the accelerator: assumed to be a full round of the requests of other clients"
        )
    count = len(model.co_runs.rows)
    return (
        f"Waits at the accelerator: measured in {count} mixes with a client that always has "
        "a request"
    )


def _pattern(model: FunctionModel, reason: Reason) -> Iterator[Line]:
    """Yield lines with the function's execution pattern, and how it was determined."""
    source = {
        "given": "set by --pattern",
        "detected": "detected from measured mixes",
        "declared": "read from the record of the profile",
        "assumed": "assumed without evidence",
    }[reason.source]
    if reason.source == "assumed" and model.request_time is None:
        source = "irrelevant, as the function uses a single resource"
    yield Line(f"Pattern: {model.pattern}, {source}")
    found = reason.detected
    if found is not None:
        yield Line(
            f"Errors in {found.co_runs} mixes with contention for both resources: "
            f"{_percent(found.pipeline_error)} as pipeline, "
            f"{_percent(found.run_to_completion_error)} as run-to-completion. The confidence "
            f"in the smaller error is {100 * found.confidence:.0f} %."
        )


def model_json(model: FunctionModel, warnings: Sequence[Coded]) -> Iterator[str]:
    """Yield the model as JSON, in the format of saved models."""
    yield written(model, warnings)


def model_csv(model: FunctionModel, _warnings: Sequence[Coded]) -> Iterator[str]:
    """Yield a CSV line for each candidate memory model, with its errors on held-out rows."""
    yield csv_line(("recipe", "among", "beyond", "taken"))
    for one in model.choice.scores:
        taken = one.recipe == model.choice.recipe.name
        yield csv_line((one.recipe, one.among, one.beyond, taken))


def _head(model: FunctionModel, recipe: Recipe) -> Iterator[Line]:
    origin = model.memory.origin
    device = f" on {origin.device}" if origin.device else ""
    yield Line(one_line(f"{model.name}{device}, {model.pattern}"), "bold")
    yield Line(
        f"Memory model: {recipe.words} ({recipe.name}), trained on {len(model.memory.rows)} rows"
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
