"""A model and what it says, row by row: for CSV and JSON."""

from collections.abc import Iterator, Mapping, Sequence

from slowpath.cli.printable import csv_line
from slowpath.models.documents import FittedModel, Predicted
from slowpath.models.evaluation import Prediction

_CSV = ("from", "to", "points", "template", "rank", "formula", "origin", "smape", "mape", "rmse")


def prediction_rows(
    columns: Sequence[str], values: Mapping[str, Sequence[float]], found: Prediction
) -> Iterator[Predicted]:
    """What the model says, row by row."""
    for at, row in enumerate(zip(*(values[name] for name in columns), strict=True)):
        yield {
            "x": list(row),
            "y_pred": float(found.y[at]),
            "low": float(found.low[at]),
            "high": float(found.high[at]),
            "outside": bool(found.outside[at]),
        }


def csv_report(model: FittedModel) -> Iterator[str]:
    """One line for each segment; parameters have columns of their own, in order."""
    most = max(len(segment["parameters"]) for segment in model["segments"])
    numbers = range(1, most + 1)
    names = [f"{what}{at}" for at in numbers for what in ("parameter", "low", "high")]
    yield csv_line([*_CSV, *names])
    for segment in model["segments"]:
        known = [segment["from"], segment["to"], segment["points"], segment["template"]]
        error = segment["errors"]
        cells = [segment["rank"], segment["formula"], segment["origin"]]
        told = [error["smape"], error["mape"], error["rmse"]]
        values = [
            v for one in segment["parameters"] for v in (one["value"], one["low"], one["high"])
        ]
        blank = [None] * (len(names) - len(values))
        yield csv_line([*known, *cells, *told, *values, *blank])
