"""`slowpath.fit(...)`: the call for Python programs, and the model that it returns."""

import os
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol

from slowpath.core.errors import InputError, OptionError
from slowpath.core.html.elements import preformatted
from slowpath.models.documents import Errors, FittedModel, Segment
from slowpath.models.fitting import need
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
        from slowpath.models.files import read

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
        from slowpath.core.pictures import PICTURES
        from slowpath.models.report import draw

        if not os.fspath(file).endswith(PICTURES):
            raise OptionError("--plot", "the file has to end in .svg or .png")
        if self._points is None:
            raise InputError("model", "has no measurements that could be drawn; fit them again")
        draw(os.fspath(file), self.document, self._points)

    def to_json(self) -> str:
        """The document that `slowpath fit --format json` writes."""
        from slowpath.models.files import written

        return written(self.file, self.document, None)

    def __str__(self) -> str:
        from slowpath.models.report import text_report

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


File = str | os.PathLike[str]
DATA = "data"
"""What errors call columns that are given."""


class Columns(Protocol):
    """Numbers by the names of columns: a dictionary, or a table of pandas or polars."""

    def __getitem__(self, name: str, /) -> Any:  # noqa: ANN401 - whatever numpy takes
        """The numbers of a column."""


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
    """Derives a model of measurements: how a number grows with another one.

    Args:
        data: a CSV file with a header line, or columns by their names.
        x: the column that y depends on, or up to three; segments are of the first.
        y: the column that was measured.
        weight: a column: how much each row counts.
        spread: a column: the standard deviation of each y.
        select: how functions and the number of segments are selected: by an information
            `criterion`, by the `margins` of the paper, or such that points are predicted best that
            are left out: `held-out`.
        segments: have so many segments, or as many as there can be.
        max_segments: have no more segments than these.
        search: how segments are found: `dynamic`, `exhaustive` or `extrema`.
        monotone: the model may only rise (`increasing`) or fall (`decreasing`) with x.
        non_negative: the model may not be below zero anywhere.
        least_parameter: no parameter is smaller, where the largest x and the median of y are one.
        metric: the error that is told: `smape`, `mape` or `rmse`.
        confidence: how often an interval has what it is about, in percent.
        seed: start of the random numbers that intervals are made with.

    Raises:
        OptionError: when an option makes no sense; it names the option of the command.
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
    need(["numpy", "scipy"])
    return _derived(data, names, y, (weight, spread), options)


def _check(x: Sequence[str], y: str, options: Options) -> None:
    """Finds out whether options make sense.

    Raises:
        OptionError: which does not.
    """
    from slowpath.models.metrics import METRICS

    if not x or len(set(x)) < len(x) or y in x:
        raise OptionError("--x", f"names of columns, each once, and not {y!r}")
    for option, value, known in (
        ("--select", options.select, RULES),
        ("--search", options.search, METHODS),
        ("--monotone", options.monotone, (None, *DIRECTIONS)),
        ("--metric", options.metric, tuple(METRICS)),
    ):
        if value not in known:
            words = ", ".join(str(one) for one in known if one is not None)
            raise OptionError(option, f"{value!r} is none of {words}")
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
            raise OptionError(option, f"{number!r} is no {what}")
        if not least <= number <= most:
            raise OptionError(option, f"{number:g} is not in the range {least}<=x<={most}")


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
        raise InputError(DATA if file is None else file, str(problem)) from None


def _numbers(data: Any, names: Sequence[str]) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Columns as arrays of the same length.

    Raises:
        InputError: when they are not.
    """
    import numpy as np

    found = {}
    for name in names:
        try:
            column = data[name]
        except (KeyError, IndexError, TypeError):
            raise InputError(DATA, f"has no column {name!r}") from None
        try:
            found[name] = np.asarray(column, dtype=float)
        except (OverflowError, TypeError, ValueError):
            raise InputError(DATA, f"{name} has something that is not a number") from None
        if found[name].shape != (len(found[names[0]]),):
            raise InputError(DATA, f"{name} has other rows than {names[0]}")
    return found
