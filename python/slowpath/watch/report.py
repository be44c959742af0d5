"""Prints what a save has changed: bounds, estimates, and costs of lines."""

from collections.abc import Iterator, Sequence

from slowpath.bounds.report_path import exactness
from slowpath.bounds.report_rates import brief
from slowpath.core.printable import one_line
from slowpath.core.schema.derived import program_label, verdict_of
from slowpath.core.schema.results import Result
from slowpath.core.terminal import Line
from slowpath.diff.columns import Row, also_changed, change_of, make_row
from slowpath.diff.lines import changed_lines
from slowpath.diff.pairs import Pair
from slowpath.diff.report import Report, table


def result_lines(results: Sequence[Result]) -> Iterator[Line]:
    """Yield the bound and the estimate of each result, and the conditions of the bound."""
    several = len({result["target"] for result in results}) > 1
    for result in results:
        name = program_label(result) + (f" on {result['target']}" if several else "")
        yield Line(one_line(f"{name}: {brief(result)}"), "bold")
        if verdict_of(result) == "conditional":
            yield Line(f"  {exactness(result)}")


def change_lines(pairs: Sequence[Pair], limit: int) -> Iterator[Line]:
    """Yield the changes of programs since the previous good result; `limit` is that of lines."""
    rows = [row for row in map(make_row, pairs) if _differs(row)]
    if not rows:
        yield Line("no bound or estimate has changed")
        return
    changes = [changed_lines(row.pair) for row in rows]
    yield from table(Report("previous save", "this save", rows, changes, [], [], limit))


def _differs(row: Row) -> bool:
    return change_of(row) != "same" or bool(also_changed(row))
