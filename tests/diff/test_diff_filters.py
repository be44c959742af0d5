"""Tests the expressions in `--filter`, `--fail-on` and `--sort` of `slowpath diff`."""

import operator
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.diff.changes import NUMBER_SUFFIXES, NUMBERS, Row, make_row
from slowpath.diff.filters import (
    Comparison,
    Filter,
    Glob,
    Order,
    check_column,
    keep_rows,
    parse_comparison,
    parse_filter,
    parse_sort,
    sort_rows,
)
from slowpath.diff.pairs import Pair
from support import make_bound, make_result

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
}
COLUMNS = [f"{name}{suffix}" for name in NUMBERS for suffix in NUMBER_SUFFIXES]
NUMBER = st.floats(allow_nan=False, allow_infinity=False, width=32)


def row(percent: float = 0.0, **changes: object) -> Row:
    """Return the table row of a made-up program whose bit rate changed by `percent` percent."""
    made = make_row(Pair(make_result(**changes), make_result(**changes)))
    made.values["bitrate_pct"] = percent
    return made


@given(
    st.sampled_from(COLUMNS),
    st.sampled_from(sorted(OPERATORS)),
    NUMBER,
    NUMBER,
    st.sampled_from(["", " ", "  "]),
)
def test_comparisons_use_their_operators(
    column: str, sign: str, wanted: float, found: float, blank: str
) -> None:
    condition = parse_comparison(f"{blank}{column}{blank}{sign}{blank}{wanted!r}{blank}")
    assert condition.column == column
    made = row()
    made.values[column] = found
    assert condition.holds(made) is OPERATORS[sign](found, wanted)
    made.values[column] = None
    assert condition.holds(made) is None


@given(st.text(max_size=40))
def test_any_text_is_an_expression_or_an_error_about_it(text: str) -> None:
    for parse in (parse_filter, parse_comparison, parse_sort):
        try:
            parsed = parse(text)
        except ValueError:
            continue
        if isinstance(parsed, Filter):
            assert parsed.condition.holds(row()) in {True, False, None}
        elif isinstance(parsed, Comparison):
            assert parsed.holds(row()) in {True, False, None}
        else:
            assert len(sort_rows([row(), row(1.0)], parsed)) == 2


@given(st.text("bitrate_pct<>=!-5.|^v*/ N/A%,", max_size=24))
def test_texts_close_to_expressions(text: str) -> None:
    test_any_text_is_an_expression_or_an_error_about_it.hypothesis.inner_test(text)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "comparison"),
    [
        ("bitrate_pct < -5", Comparison("bitrate_pct", "<", -5)),
        ("bitrate_pct<-5%", Comparison("bitrate_pct", "<", -5)),
        ("bitrate_b < 40Gbit/s", Comparison("bitrate_b", "<", 40e9)),
        ("packetrate >= 1.5Mpps", Comparison("packetrate", ">=", 1.5e6)),
        ("memory-accesses_diff<>0", Comparison("memory_accesses_diff", "!=", 0)),
        ("verdict_b = bound", Comparison("verdict_b", "==", "bound")),
        ("program == 12", Comparison("program", "==", "12")),
        ("bitrate_a == N/A", Comparison("bitrate_a", "==", None)),
        ("cells_cycles_b > 1e3", Comparison("cells_cycles_b", ">", 1000)),
    ],
)
def test_comparisons(text: str, comparison: Comparison) -> None:
    assert parse_comparison(text) == comparison


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bitrate_pct",
        "bitrate_pct <",
        "< 5",
        "bitrate_pct < nan",
        "bitrate_pct < fast",
        "bitrate_pct == fast",
        "bitrate_pct < N/A",
        "verdict_b < 5",
        "bitrate_pct < 5 < 6",
        "bitrate pct < 5",
    ],
)
def test_invalid_comparisons(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_comparison(text)


def test_texts_are_globs() -> None:
    assert parse_comparison("program == sam*").holds(row()) is True
    assert parse_comparison("program != sam*").holds(row()) is False
    assert parse_comparison("bottleneck == dram").holds(row()) is False
    assert parse_comparison("error == N/A").holds(row()) is True
    assert parse_comparison("error != N/A").holds(row()) is False


def test_without_suffix_the_new_side_is_meant() -> None:
    new = make_result(guarantee=make_bound(bitrate_bps=5e9))
    made = make_row(Pair(make_result(), new))
    assert parse_comparison("bitrate == 5Gbit/s").holds(made) is True
    assert parse_comparison("bitrate_a == 5Gbit/s").holds(made) is False


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("sample", True),
        ("s*", True),
        ("sample.asm", True),
        ("*.asm/sample", True),
        ("sample.asm/other", False),
        ("other", False),
        ("folder/sample.asm", True),
    ],
)
def test_globs(pattern: str, fits: bool) -> None:
    assert Glob(pattern).holds(row(file="folder/sample.asm")) is fits


def test_filters_are_any_of_and_none_of() -> None:
    rows = [row(-10, program="a"), row(-3, program="b"), row(4, program="c")]

    def kept(*texts: str) -> list[str]:
        found = keep_rows(rows, [parse_filter(text) for text in texts])
        return [str(one.known("program")) for one in found]

    assert kept() == ["a", "b", "c"]
    assert kept("bitrate_pct < -5", "c") == ["a", "c"]
    assert kept("!b") == ["a", "c"]
    assert kept("!bitrate_pct > 0", "!a") == ["b"]
    assert kept("bitrate_pct < 0", "!a") == ["b"]


def test_missing_values_match_no_filter() -> None:
    rows = [row()]
    rows[0].values["bitrate_pct"] = None
    assert keep_rows(rows, [parse_filter("bitrate_pct < 5")]) == []
    assert keep_rows(rows, [parse_filter("!bitrate_pct < 5")]) == rows


def test_sort() -> None:
    assert parse_sort("bitrate_pct^, |bitrate_diff|v,file") == [
        Order("bitrate_pct", False, False),
        Order("bitrate_diff", True, True),
        Order("file", None, False),
    ]
    rows = [row(-10, program="a"), row(4, program="b"), row(4, program="c"), row(0, program="d")]
    rows[3].values["bitrate_pct"] = None

    def ordered(text: str) -> str:
        return "".join(str(one.known("program")) for one in sort_rows(rows, parse_sort(text)))

    assert ordered("bitrate_pct") == "bcad"
    assert ordered("bitrate_pct^") == "abcd"
    assert ordered("|bitrate_pct|") == "abcd"
    assert ordered("bitrate_pct,programv") == "cbad"
    assert ordered("programv") == "dcba"


@given(st.lists(NUMBER, max_size=8), st.sampled_from(["", "^", "v"]))
def test_sorting_loses_nothing(values: list[float], way: str) -> None:
    found = sort_rows([row(value) for value in values], parse_sort(f"bitrate_pct{way}"))
    numbers = [one.number("bitrate_pct") for one in found]
    assert numbers == sorted(values, reverse=way != "^")


def test_columns_have_to_exist() -> None:
    for column in ("bitrate", "bitrate_pct", "processing_cycles_a", "verdict_diff", "section"):
        check_column(column, [row()])
    for column in ("speed", "verdict_pct", "bitrate_c", "cells_cycles"):
        with pytest.raises(ValueError, match=f"'{column}' is not a column"):
            check_column(column, [row()])
