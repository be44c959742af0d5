"""Tests text and CSV reports of made-up measurements."""

import csv
import io
from typing import Any

import pytest

from slowpath.core.terminal import Line
from slowpath.measure.conclusions import conclude_trace
from slowpath.measure.documents import MeasuredPath, MeasuredProgram, MeasuredTrace
from slowpath.measure.report import csv_report, text_report
from slowpath.measure.report_document import live_csv_report

WHERE: Any = {"processor": {"cpu": 1, "model": "A"}, "kernel": {"release": "6.18"}}


def unmeasured(errors: list[str | None], error: str | None) -> Any:
    """Return the record of a program whose paths could not be measured.

    `errors` has the reason for each path, `error` that for the program.
    """
    record: Any = dict.fromkeys(MeasuredProgram.__annotations__)
    paths = []
    for rank, why in enumerate(errors, 1):
        path: Any = dict.fromkeys(MeasuredPath.__annotations__)
        paths.append(path | {"rank": rank, "error": why})
    return record | {"file": "a.o", "program": "p", "paths": paths, "error": error}


def test_each_path_says_why_it_was_not_measured() -> None:
    record = unmeasured(["the kernel takes another path", "it cannot be repeated"], "the first")
    lines = list(text_report([record], WHERE, verbose=False))
    assert lines[0] == Line("a.o:p: not measured", "bold")
    assert lines[1:3] == [
        "  path 1 was not measured: the kernel takes another path",
        "  path 2 was not measured: it cannot be repeated",
    ]


def test_a_row_without_values_has_a_reason() -> None:
    record = unmeasured(["it cannot be repeated", None], "interrupted before it was measured")
    for lines in (csv_report([record]), live_csv_report([record])):
        rows = csv.DictReader(io.StringIO("\n".join(lines)))
        found = [row["error"] for row in rows]
        assert found == ["it cannot be repeated", "interrupted before it was measured"]


@pytest.mark.parametrize(
    ("most", "known", "part"),
    [
        (40, True, "A packet takes the slowest path."),
        (
            41,
            True,
            "more than the slowest path of the analysis (40): the trace violates its assumptions "
            "(--mtu",
        ),
        (40, False, "as many as the slowest path found (40). The search stopped early"),
        (41, False, "more than the slowest path found (40). The search stopped early"),
        (39, True, "They take at most 39 instructions; the slowest path has 40."),
        (39, False, "They take at most 39 instructions; the slowest path found has 40."),
    ],
)
def test_a_trace_reaches_the_slowest_path_only_if_that_is_known(
    most: int, part: str, *, known: bool
) -> None:
    trace: Any = dict.fromkeys(MeasuredTrace.__annotations__)
    trace["mix"] = {"mean_ns": 10.0, "packetrate_pps": 1e8}
    trace["slowest"] = {"instructions": most, "bound_instructions": 40, "bound_ns": None}
    sentence = conclude_trace(trace, known=known)
    assert sentence is not None
    assert part in sentence
    assert ("A packet takes the slowest path" in sentence) == (most == 40 and known)
