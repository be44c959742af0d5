"""The Python function `slowpath.fit(...)`, and the class of the model that it returns."""

import os
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol

from slowpath.core import codes
from slowpath.core.errors import InputError, OptionError
from slowpath.core.extras import need_models
from slowpath.core.html import preformatted
from slowpath.core.printable import json_line
from slowpath.core.results import Row, Table, csv_rows
from slowpath.models.documents import Errors, FittedModel, Segment
from slowpath.models.options import (
    DIRECTIONS,
    METHODS,
    MOST_SEGMENTS,
    RULES,
    Direction,
    Method,
    Options,
    Rule,
)

if TYPE_CHECKING:
    from slowpath.models.parts import Prediction
    from slowpath.models.points import Points


class Model(Table):
    """A model that `slowpath.fit` has derived. `str()` returns the report of the command."""

    def __init__(
        self, document: FittedModel, *, file: str | None = None, points: "Points | None" = None
    ) -> None:
        """Create a model from a document, which is the value of `model` in the JSON output."""
        self.document = document
        """The complete model as a JSON document, described in `docs/reference/json.md`."""
        self.file = file
        """Name of the file with the measurements; None if they were passed as columns."""
        self._points = points

    @classmethod
    def from_json(cls, text: str) -> "Model":
        """Read a model from the output of `to_json` or `slowpath fit --format json`.

        Raises:
            InputError: when the text is not such output, or the extra `models` is missing.
        """
        need_models(["numpy", "scipy"])
        from slowpath.models.files import read

        file, document = read("model", text)
        return cls(document, file=file)

    @property
    def segments(self) -> list[Segment]:
        """Segments by ascending x, each with its function, its parameters and their intervals."""
        return self.document["segments"]

    @property
    def errors(self) -> Errors:
        """Errors of the model at the points that it was fitted to."""
        return self.document["errors"]

    @property
    def held_out(self) -> Errors | None:
        """Errors at points held out from the fit; None if there are too few points."""
        return self.document["held_out"]

    def predict(self, x: Any) -> "Prediction":  # noqa: ANN401 - whatever numpy takes
        """Predict y at each x, with an interval in which single measurements are expected.

        The ends of intervals are NaN if the error is unknown, because all points of a small table
        lie exactly on the model.

        Args:
            x: a number or a sequence; with several columns, rows of numbers or columns by name.

        Raises:
            InputError: when x is not numeric, or has other columns than the model.
        """
        need_models(["numpy", "scipy"])
        import numpy as np

        from slowpath.models.parts import error_known, evaluate

        names = self.document["x"]
        try:
            if _has_columns(x, names):
                rows = np.column_stack([np.asarray(x[name], dtype=float) for name in names])
            else:
                rows = np.atleast_1d(np.asarray(x, dtype=float))
            found = evaluate(self.document, rows)
        except (KeyError, TypeError, ValueError) as problem:
            raise InputError(
                codes.POINTS_UNSUITABLE, "x", f"the values of x cannot be used: {problem}"
            ) from None
        if error_known(self.document):
            return found
        unknown = np.full_like(found.y, np.nan)
        return found._replace(low=unknown, high=unknown)

    def plot(self, file: str | os.PathLike[str]) -> None:
        """Plot measurements and model into a file that ends in .svg or .png.

        Raises:
            OptionError: when the name of the file has another ending.
            InputError: when the model was read from JSON and thus lacks the measurements, or the
                extra `plots` is not installed.
            OSError: when the file cannot be written.
        """
        from slowpath.core.pictures import check_picture
        from slowpath.models.report import draw

        check_picture(os.fspath(file))
        if self._points is None:
            raise InputError(
                codes.MODEL_WITHOUT_MEASUREMENTS,
                "model",
                "the model was read from JSON without its measurements, so it cannot "
                "be plotted; fit it again",
            )
        draw(os.fspath(file), self.document, self._points)

    def to_json(self) -> str:
        """Return the JSON document that `slowpath fit --format json` writes for the model."""
        from slowpath.models.files import document_of

        return json_line(document_of(self.file, self.document))

    @property
    def rows(self) -> list[Row]:
        """Rows of a table with one row for each segment, as in `--format csv`."""
        from slowpath.models.files import document_of
        from slowpath.models.report import csv_report

        lines = csv_report(document_of(self.file, self.document))
        return csv_rows(one if isinstance(one, str) else one.text for one in lines)

    def __str__(self) -> str:
        from slowpath.models.files import document_of
        from slowpath.models.report import text_report

        lines = text_report(document_of(self.file, self.document))
        return "\n".join(line.text for line in lines)

    def __repr__(self) -> str:
        count = len(self.segments)
        over = ", ".join(self.document["x"])
        return (
            f"<slowpath.Model {self.document['y']} over {over}: {count} segment{'s'[: count > 1]}>"
        )

    def _repr_html_(self) -> str:
        """Return the report of the model as HTML for notebooks."""
        return preformatted(str(self))


def _has_columns(x: object, names: Sequence[str]) -> bool:
    """Return true if x has columns with these names: a dictionary, or a pandas or polars table."""
    return isinstance(x, Mapping) or (hasattr(x, "columns") and set(names) <= set(x.columns))


File = str | os.PathLike[str]
DATA = "data"
"""Stands for the file name in errors about columns that were passed from Python."""


class Columns(Protocol):
    """A table with named columns of numbers: a dictionary, or a pandas or polars table."""

    def __getitem__(self, name: str, /) -> Any:  # noqa: ANN401 - whatever numpy takes
        """Return the numbers of the column with this name."""


def fit(  # noqa: PLR0913 - one for each option of the command
    data: File | Columns,
    *,
    x: str | Sequence[str],
    y: str,
    weight: str | None = None,
    spread: str | None = None,
    select: Rule = "criterion",
    segments: int | None = None,
    max_segments: int = MOST_SEGMENTS,
    search: Method = "dynamic",
    monotone: Direction | None = None,
    non_negative: bool = False,
    least_parameter: float = 0.0,
    metric: str = "smape",
    confidence: float = 90.0,
    seed: int = 1,
) -> Model:
    """Derive a model of measurements, which says how a number grows with other numbers.

    Args:
        data: a CSV file with a header line, or columns by name.
        x: one to three columns that y depends on; the first is divided into segments.
        y: the measured column.
        weight: a column with the weight of each row.
        spread: a column with the standard deviation of each y.
        select: rule that selects functions and the number of segments: an information
            `criterion`, the `margins` of the paper, or the error on `held-out` points.
        segments: number of segments; fewer if so many are not possible.
        max_segments: maximum number of segments.
        search: method that finds segments: `dynamic`, `exhaustive` or `extrema`.
        monotone: restrict the model to rise (`increasing`) or fall (`decreasing`) with x.
        non_negative: restrict the model to values of zero or more.
        least_parameter: minimum absolute value of each parameter, in units in which the largest x
            and the median of y are one.
        metric: reported error: `smape`, `mape` or `rmse`.
        confidence: confidence level of intervals, in percent.
        seed: seed of the random numbers for intervals.

    Raises:
        OptionError: when an option is invalid; the error names the option of the command.
        InputError: when no model can be derived from the data, a file cannot be read, or the extra
            `models` is not installed.
    """
    names = (x,) if isinstance(x, str) else tuple(x)
    options = Options(
        metric=metric,
        select=select,
        search=search,
        segments=segments,
        most_segments=max_segments,
        monotone=monotone,
        non_negative=non_negative,
        least_parameter=least_parameter,
        confidence=confidence / 100,
        seed=seed,
    )
    _check(names, y, options)
    need_models(["numpy", "scipy"])
    return _derived(data, names, y, (weight, spread), options)


def _check(x: Sequence[str], y: str, options: Options) -> None:
    from slowpath.models.options import METRICS

    if not x or len(set(x)) < len(x) or y in x:
        raise OptionError(
            codes.REPEATED_OPTION,
            "--x",
            f"the names of the x columns must differ from each other and from the y column {y!r}",
        )
    for option, value, known in (
        ("--select", options.select, RULES),
        ("--search", options.search, METHODS),
        ("--monotone", options.monotone, (None, *DIRECTIONS)),
        ("--error-metric", options.metric, tuple(METRICS)),
    ):
        if value not in known:
            words = ", ".join(str(one) for one in known if one is not None)
            raise OptionError(codes.INVALID_VALUE, option, f"{value!r} is not one of {words}")
    segments = 1 if options.segments is None else options.segments
    for option, number, kind, least, most in (
        ("--segments", segments, Integral, 1, MOST_SEGMENTS),
        ("--max-segments", options.most_segments, Integral, 1, MOST_SEGMENTS),
        ("--least-parameter", options.least_parameter, Real, 0, 1),
        ("--confidence", 100 * options.confidence, Real, 1, 99.9),
        ("--seed", options.seed, Integral, 0, 2**32 - 1),
    ):
        if not isinstance(number, kind):
            what = "whole number" if kind is Integral else "number"
            raise OptionError(codes.INVALID_VALUE, option, f"{number!r} is not a {what}")
        if not least <= number <= most:
            raise OptionError(
                codes.INVALID_VALUE, option, f"{number:g} is not in the range {least}<=x<={most}"
            )


def _derived(
    data: File | Columns,
    x: Sequence[str],
    y: str,
    others: tuple[str | None, str | None],
    options: Options,
) -> Model:
    from slowpath.models.files import read_table
    from slowpath.models.fitting import fit as derive
    from slowpath.models.points import PointsError, points_of

    weight, spread = others
    names = [name for name in (*x, y, weight, spread) if name is not None]
    file = os.fspath(data) if isinstance(data, str | os.PathLike) else None
    columns = _numbers(data, names) if file is None else read_table(file, names).columns
    try:
        points = points_of(columns, x, y, weight=weight, spread=spread)
        return Model(derive(points, options), file=file, points=points)
    except PointsError as problem:
        raise InputError(
            codes.POINTS_UNSUITABLE, DATA if file is None else file, str(problem)
        ) from None


def _numbers(data: Any, names: Sequence[str]) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Convert the columns with these names to arrays of equal length.

    Raises:
        InputError: when a column is missing, not numeric, or of another length.
    """
    import numpy as np

    found = {}
    for name in names:
        try:
            column = data[name]
        except (KeyError, IndexError, TypeError):
            raise InputError(
                codes.MISSING_COLUMN, DATA, f"the data lack the column {name!r}"
            ) from None
        try:
            found[name] = np.asarray(column, dtype=float)
        except (OverflowError, TypeError, ValueError):
            raise InputError(
                codes.INVALID_CELL, DATA, f"the column {name} has a value that is not a number"
            ) from None
        if found[name].shape != (len(found[names[0]]),):
            raise InputError(
                codes.TABLE_SYNTAX, DATA, f"the columns {name} and {names[0]} differ in length"
            )
    return found
