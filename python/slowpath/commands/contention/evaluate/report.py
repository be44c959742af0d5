"""How well models do on held-out rows, as text, CSV and JSON."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath.cli.printable import csv_line
from slowpath.cli.terminal import Line
from slowpath.contention.memory.evaluation import Evaluated
from slowpath.contention.tables.profiles import MemoryProfile
from slowpath.engine import identity
from slowpath.report.grid import grid

_KEYS = ("mape", "standard_error", "median", "largest", "within_5", "within_10")
COLUMNS = (
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
"""What is told of each model."""
ROW = ("row", "measured", "predicted", "low", "high")
"""What is told of each row that was held out."""


class Evaluation(NamedTuple):
    """What was evaluated, and how it did."""

    memory: MemoryProfile
    models: Sequence[Evaluated]
    repetitions: int
    confidence: float  # of intervals, a share

    def shown(self) -> list[Evaluated]:
        """Models whose rows are drawn: the choice, where all were tried, else those named."""
        return [one for one in self.models if one.chosen is not None] or [*self.models]

    def rows(self, one: Evaluated) -> Iterator[tuple[str, float, float, float, float]]:
        """Each row as it was predicted when it was held out for the first time."""
        values = (self.memory.throughput, one.predicted[0], one.low[0], one.high[0])
        for name, *numbers in zip(self.memory.rows, *values, strict=True):
            measured, predicted, low, high = map(float, numbers)
            yield name, measured, predicted, low, high


def evaluation_json(report: Evaluation) -> dict[str, object]:
    """The document."""
    return {
        "slowpath": identity.version(),
        "files": [*report.memory.origin.files],
        "rows": len(report.memory.rows),
        "repetitions": report.repetitions,
        "confidence": report.confidence,
        "models": [
            {
                "recipe": one.name,
                "errors": one.errors._asdict(),
                "coverage": one.coverage,
                "width": one.width,
                "ends": None if one.ends is None else one.ends._asdict(),
                "chosen": one.chosen,
                "predictions": [dict(zip(ROW, row, strict=True)) for row in report.rows(one)],
            }
            for one in report.models
        ],
    }


def evaluation_csv(report: Evaluation) -> Iterator[str]:
    """A line for each model."""
    yield csv_line(("recipe", *_KEYS, "coverage", "width", "ends_mape"))
    for one in report.models:
        numbers = (getattr(one.errors, key) for key in _KEYS)
        ends = None if one.ends is None else one.ends.mape
        yield csv_line((one.name, *numbers, one.coverage, one.width, ends))


def evaluation_text(report: Evaluation) -> Iterator[Line]:
    """A table of models, and what its columns are."""
    yield from grid(COLUMNS, figures(report), right=COLUMNS[1:])
    yield Line("")
    yield Line(explained(report))
    for one in report.models:
        if one.chosen:
            yield Line(choices(one.chosen))


def figures(report: Evaluation) -> list[tuple[str, ...]]:
    """By model, what `COLUMNS` names."""
    return [
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
        for one in report.models
    ]


def explained(report: Evaluation) -> str:
    """What the columns are."""
    return (
        f"Held-out rows; +- standard error; covered by {100 * report.confidence:g} % intervals of "
        "that width; ends: MAPE beyond the rows."
    )


def choices(chosen: dict[str, int]) -> str:
    """How often which model was chosen."""
    names = ", ".join(f"{name} {count}" for name, count in sorted(chosen.items()))
    return f"Chosen in folds: {names}."
