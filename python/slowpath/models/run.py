"""Runs the command `slowpath fit`."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slowpath.bounds.progress import ProgressLines
from slowpath.core import codes
from slowpath.core.errors import Coded, ExitCode, InputError, OptionError
from slowpath.core.extras import need_models
from slowpath.core.formats import Reporter, warn
from slowpath.core.inputs import write_error
from slowpath.core.pictures import check_picture
from slowpath.models.documents import FittedModel, Predicted
from slowpath.models.files import Table, document_of, read_table

if TYPE_CHECKING:
    from slowpath.models.options import Options
    from slowpath.models.points import Points


_SHOWN = 3


def fit(given: Namespace, reporter: Reporter) -> ExitCode:
    """Run the command `slowpath fit`: fit a model to measurements in a file, and report it.

    Raises:
        InputError: when a file or its content cannot be used.
        OptionError: when an option is invalid.
    """
    columns = _columns(given)
    check_picture(given.plot)
    need_models(["numpy", "scipy"])
    others = [name for name in (given.weight, given.spread) if name is not None]
    table = read_table(given.file, [*columns, given.y, *others])
    query = None if given.query is None else read_table(given.query, columns)
    return _derive(given, reporter, columns, table, query)


def _columns(given: Namespace) -> list[str]:
    columns = [name.strip() for name in given.x.split(",")]
    if "" in columns or len(set(columns)) < len(columns):
        raise OptionError(
            codes.REPEATED_OPTION,
            "--x",
            "the names of the x columns must differ; separate them by commas",
        )
    if given.y in columns:
        raise OptionError(
            codes.REPEATED_OPTION,
            "--y",
            f"the column {given.y!r} is already an x column; name another one",
        )
    return columns


def _derive(
    given: Namespace,
    reporter: Reporter,
    columns: Sequence[str],
    table: Table,
    query: Table | None,
) -> ExitCode:
    from slowpath.models.options import Options
    from slowpath.models.points import PointsError, points_of

    options = Options(
        metric=given.error_metric,
        select=given.select,
        search=given.search,
        segments=given.segments,
        monotone=given.monotone,
        non_negative=given.non_negative,
        least_parameter=given.least_parameter,
        most_segments=given.max_segments,
        confidence=given.confidence / 100,
        seed=given.seed,
    )
    try:
        points = points_of(
            table.columns, columns, given.y, weight=given.weight, spread=given.spread
        )
        model = _watched(given, points, options)
    except PointsError as problem:
        raise InputError(codes.POINTS_UNSUITABLE, given.file, str(problem)) from None
    if given.plot is not None:
        from slowpath.models.report import draw

        try:
            draw(given.plot, model, points)
        except OSError as problem:
            raise write_error(given.plot, problem) from None
    rows = None if query is None else _predicted(model, columns, query)
    reporter.write(document_of(given.file, model, rows))
    if rows is not None:
        outside = [list(row["x"]) for row in rows if row["outside"]]
        warn(_warnings(given.query, columns, outside, len(rows)))
    return ExitCode.FINE


def _watched(given: Namespace, points: "Points", options: "Options") -> FittedModel:
    """Derive the model, and show progress on standard error."""
    from slowpath.models.fitting import fit as derive

    progress = ProgressLines(given.file)
    faster = "" if given.search == "extrema" else "; --search extrema is faster"

    def show(number: int, most: int) -> None:
        state = (
            f"fitting model {number} of at most {most}, most of them to judge predictions "
            "at held-out points"
        )
        progress.show(
            lambda elapsed: f"{state}, {elapsed:.1f} s",
            lambda elapsed: f"{elapsed:.0f} s so far, {state}; press Ctrl-C to stop{faster}",
            after=1.0,
        )

    try:
        return derive(points, options, show)
    finally:
        progress.close()


def _predicted(model: FittedModel, columns: Sequence[str], query: Table) -> list[Predicted]:
    import numpy as np

    from slowpath.models.parts import evaluate
    from slowpath.models.points import PointsError
    from slowpath.models.report import prediction_rows

    if not len(query):
        return []
    try:
        found = evaluate(model, np.column_stack([query.columns[name] for name in columns]))
    except PointsError as problem:
        raise InputError(codes.POINTS_UNSUITABLE, query.file, str(problem)) from None
    return list(prediction_rows(model, query.columns, found))


def _warnings(
    file: str, columns: Sequence[str], outside: Sequence[Sequence[float]], all_: int
) -> list[Coded]:
    """Return a warning about predictions beyond the measured range of x; empty if there are none.

    `outside` has the x values of these predictions, `all_` is the number of all predictions. The
    JSON document marks the predictions; the other formats are CSV.
    """
    if not outside:
        return []
    shown = "; ".join(
        ", ".join(f"{name} {value:g}" for name, value in zip(columns, row, strict=True))
        for row in outside[:_SHOWN]
    )
    more = "; ..." if len(outside) > _SHOWN else ""
    lines = "line is" if all_ == 1 else "lines are"
    text = (
        f"{file}: {len(outside)} of {all_} {lines} beyond the measured range ({shown}{more}), so "
        "their predictions are guesses, and intervals are too narrow there"
    )
    return [Coded(codes.EXTRAPOLATED, text)]
