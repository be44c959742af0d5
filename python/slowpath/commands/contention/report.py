"""Models and predictions as text, CSV, JSON and Parquet."""

from collections.abc import Iterator

from slowpath.cli.printable import csv_line, json_line, one_line
from slowpath.cli.terminal import Line
from slowpath.contention.model import FunctionModel
from slowpath.contention.prediction import Predictions
from slowpath.contention.tables.parquet import write_columns
from slowpath.contention.tables.profiles import Query
from slowpath.engine import identity
from slowpath.report.grid import grid

COLUMNS = ("row", "throughput", "low", "high", "bottleneck", "outside")
RESOURCES = ("memory", "accelerator")
"""What each would let through alone."""


def predictions_csv(
    _model: FunctionModel, query: Query, found: Predictions, _confidence: float
) -> Iterator[str]:
    """A line for each row of the query; `outside` names columns, with spaces between them."""
    yield csv_line(COLUMNS)
    for at, row in enumerate(query.rows):
        numbers = (float(one[at]) for one in (found.throughput, found.low, found.high))
        yield csv_line([row, *numbers, found.bottleneck[at], " ".join(found.outside[at])])


def predictions_json(
    model: FunctionModel, query: Query, found: Predictions, confidence: float
) -> Iterator[str]:
    """One document."""
    yield json_line(
        {
            **_said(model),
            "confidence": confidence / 100,
            "predictions": _rows(query, found),
        }
    )


def predictions_parquet(
    file: str, model: FunctionModel, query: Query, found: Predictions, confidence: float
) -> None:
    """Writes the rows of the document as a table, and the rest of it as metadata.

    Raises:
        InputError: when the file cannot be written.
    """
    rows = _rows(query, found)
    columns = {name: [row[name] for row in rows] for name in (*COLUMNS, *RESOURCES)}
    said = {**_said(model), "confidence": f"{confidence / 100:g}"}
    write_columns(file, columns, {name: one for name, one in said.items() if one is not None})


def _said(model: FunctionModel) -> dict[str, str | None]:
    """What all predictions have in common."""
    origin = model.memory.origin
    return {
        "slowpath": identity.version(),
        "function": origin.function,
        "device": origin.device,
        "unit": origin.unit,
        "pattern": model.pattern,
        "recipe": model.choice.recipe.name,
    }


def _rows(query: Query, found: Predictions) -> list[dict[str, object]]:
    return [
        {
            "row": row,
            "throughput": float(found.throughput[at]),
            "low": float(found.low[at]),
            "high": float(found.high[at]),
            "bottleneck": found.bottleneck[at],
            "outside": found.outside[at],
            "memory": float(found.memory[at]),
            "accelerator": None if found.accelerator is None else float(found.accelerator[at]),
        }
        for at, row in enumerate(query.rows)
    ]


def predictions_text(
    model: FunctionModel, query: Query, found: Predictions, confidence: float
) -> Iterator[Line]:
    """A table, and how it was made."""
    yield from _head(model)
    yield Line("")
    rows = [
        (
            row,
            f"{found.throughput[at]:.4g}",
            f"{found.low[at]:.4g}",
            f"{found.high[at]:.4g}",
            found.bottleneck[at],
            ", ".join(found.outside[at]),
        )
        for at, row in enumerate(query.rows)
    ]
    yield from grid(COLUMNS, rows, right=("throughput", "low", "high"))
    unit = model.memory.origin.unit
    yield Line("")
    said = f"in {unit}" if unit else "in the unit of the profile, which it does not state"
    yield Line(one_line(f"Throughput {said}; {confidence:g} % intervals."))


def model_text(model: FunctionModel) -> Iterator[Line]:
    """What was learnt, and how models did on rows that were held out."""
    yield from _head(model)
    if model.request_time is not None:
        time = model.request_time
        yield Line(
            f"Accelerator: {time.words()} for each request"
            f" ({time.lowest:g} to {time.highest:g} matches/MB measured)"
        )
    yield Line("")
    rows = [
        (
            one.recipe,
            _percent(one.among),
            _percent(one.beyond),
            "taken" if one.recipe == model.choice.recipe.name else "",
        )
        for one in model.choice.scores
    ]
    columns = ("memory model", "error among rows", "beyond rows", "")
    yield from grid(columns, rows, right=columns[1:3])
    yield Line("")
    yield Line("Errors are means of |predicted - measured| / measured on rows that were held out.")


def model_csv(model: FunctionModel) -> Iterator[str]:
    """A line for each model that was tried."""
    yield csv_line(("recipe", "among", "beyond", "taken"))
    for one in model.choice.scores:
        taken = "yes" if one.recipe == model.choice.recipe.name else "no"
        yield csv_line((one.recipe, one.among, one.beyond, taken))


def _head(model: FunctionModel) -> Iterator[Line]:
    origin = model.memory.origin
    device = f" on {origin.device}" if origin.device else ""
    yield Line(one_line(f"{model.name}{device}, {model.pattern}"), "bold")
    yield Line(
        f"Memory: {model.choice.recipe.words} ({model.choice.recipe.name}), "
        f"{len(model.memory.rows)} rows"
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
