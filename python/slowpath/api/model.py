"""What `slowpath.fit` returns: a model, which says what to expect at any x."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slowpath.api.html import preformatted
from slowpath.cli.errors import InputError, OptionError
from slowpath.models.documents import Errors, FittedModel, Segment
from slowpath.models.packages import need

if TYPE_CHECKING:
    from slowpath.models.evaluation import Prediction
    from slowpath.models.points import Points


class Model:
    """A model of measurements. `str()` is the report of the command."""

    def __init__(
        self, document: FittedModel, *, file: str | None = None, points: "Points | None" = None
    ) -> None:
        """Of a document, as JSON has it below `model`."""
        self.document = document
        """Everything, as `docs/json.md` describes it."""
        self.file = file
        """The file of measurements, as it was named; None where columns were given."""
        self._points = points

    @classmethod
    def from_json(cls, text: str) -> "Model":
        """The model that `to_json` or `slowpath fit --format json` wrote.

        Raises:
            InputError: when the text is something else, or the extra `models` is not installed.
        """
        need(["numpy", "scipy"])
        from slowpath.models.files.saved import read

        file, document = read("model", text)
        return cls(document, file=file)

    @property
    def segments(self) -> list[Segment]:
        """Ascending: each with its function, parameters and their intervals."""
        return self.document["segments"]

    @property
    def errors(self) -> Errors:
        """How far measured values are from the model."""
        return self.document["errors"]

    @property
    def held_out(self) -> Errors | None:
        """The same for points that were left out; None where there are too few."""
        return self.document["held_out"]

    def predict(self, x: Any) -> "Prediction":  # noqa: ANN401 - whatever numpy takes
        """What the model says at each x, with an interval in which measurements are expected.

        Args:
            x: numbers, one or many; of several columns, rows of them; or columns by their names.

        Raises:
            InputError: when x is no number, or there are other columns than the model has.
        """
        need(["numpy", "scipy"])
        import numpy as np

        from slowpath.models.evaluation import evaluate

        names = self.document["x"]
        try:
            if _has_columns(x, names):
                rows = np.column_stack([np.asarray(x[name], dtype=float) for name in names])
            else:
                rows = np.atleast_1d(np.asarray(x, dtype=float))
            return evaluate(self.document, rows)
        except (KeyError, TypeError, ValueError) as problem:
            raise InputError("x", f"cannot be used: {problem}") from None

    def plot(self, file: str | os.PathLike[str]) -> None:
        """Draws measurements and model; the file ends in .svg or .png.

        Raises:
            OptionError: when it ends otherwise.
            InputError: when the measurements are not known, since the model was read, or the extra
                `models` is not installed.
            OSError: when the file cannot be written.
        """
        need(["numpy", "scipy", "matplotlib"])
        from slowpath.models.reports.plot import draw
        from slowpath.report.picture import PICTURES

        if not os.fspath(file).endswith(PICTURES):
            raise OptionError("--plot", "the file has to end in .svg or .png")
        if self._points is None:
            raise InputError("model", "has no measurements that could be drawn; fit them again")
        draw(os.fspath(file), self.document, self._points)

    def to_json(self) -> str:
        """The document that `slowpath fit --format json` writes."""
        from slowpath.models.files.saved import written

        return written(self.file, self.document, None)

    def __str__(self) -> str:
        from slowpath.models.reports.text import text_report

        return "\n".join(line.text for line in text_report(self.file, self.document))

    def __repr__(self) -> str:
        count = len(self.segments)
        over = ", ".join(self.document["x"])
        return (
            f"<slowpath.Model {self.document['y']} over {over}: {count} segment{'s'[: count > 1]}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return preformatted(str(self))


def _has_columns(x: object, names: Sequence[str]) -> bool:
    """Whether columns come by their names, in a dictionary or a table of pandas or polars."""
    return isinstance(x, Mapping) or (hasattr(x, "columns") and set(names) <= set(x.columns))
