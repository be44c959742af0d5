"""Tests the source lines and instruction ranges of paths in reports, with loops folded."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.bounds.report_path import (
    Group,
    Node,
    Part,
    Range,
    fold,
    fold_repeats,
    format_ranges,
    join_adjacent,
    source_lines,
)
from slowpath.core.schema.results import Stretch
from support import make_path


def stretch(line: int | None, instructions: int = 1, first: int = 0) -> Stretch:
    return {"line": line, "first": first, "last": first, "instructions": instructions}


def test_loops_inside_of_loops() -> None:
    inner = [stretch(2), stretch(3)] * 5
    nodes = fold([stretch(0), *([stretch(1), *inner] * 4), stretch(4)])
    body = (Part(1, None, 1), Group((Part(2, None, 1), Part(3, None, 1)), 5))
    assert nodes == [Part(0, None, 1), Group(body, 4), Part(4, None, 1)]


def test_unknown_lines_are_told_apart_by_instruction() -> None:
    nodes = fold([stretch(None, first=3), stretch(None, first=9)])
    assert nodes == [Part(None, (3, 3), 1), Part(None, (9, 9), 1)]


def unfold(nodes: list[Node] | tuple[Node, ...]) -> list[Part]:
    parts = []
    for node in nodes:
        parts += [node] if isinstance(node, Part) else unfold(node.body) * node.times
    return parts


@given(st.lists(st.integers(0, 2), max_size=40))
def test_nothing_is_lost(lines: list[int]) -> None:
    assert [part.line for part in unfold(fold([stretch(line) for line in lines]))] == lines


def test_table() -> None:
    path = make_path(
        lines=[
            {"file": "src/a.c", "line": 7, "text": "    int x = 0;", "instructions": 3},
            {"file": "src/b.h", "line": 12, "text": "", "instructions": 320},
        ]
    )
    stretches = [stretch(0, 3), *([stretch(1, 2)] * 160), stretch(None, 1, 44)]
    detail = {"ranges": [], "exit": 0, "listing": [], "stretches": stretches}
    assert [line.text for line in source_lines(path, detail)] == [  # type: ignore[arg-type]
        "    insns  source line",
        "        3  a.c:7   int x = 0;",
        "    × 160",
        "        2  | b.h:12",
        "        1  .44",
    ]


# --- instruction ranges --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranges", "text"),
    [
        ([], ""),
        ([(0, 12), (15, 15)], "0-12, 15"),
        ([(0, 12), (13, 20)], "0-20"),
        ([(0, 3), (5, 9), (5, 9), (5, 9)], "0-3, 5-9 x3"),
        ([(5, 6), (8, 9), (5, 6), (8, 9), (20, 21)], "(5-6, 8-9) x2, 20-21"),
    ],
)
def test_format_of_ranges(ranges: list[Range], text: str) -> None:
    assert format_ranges(ranges) == text


small_ranges = st.tuples(st.integers(0, 9), st.integers(0, 3)).map(lambda r: (r[0], r[0] + r[1]))


@given(st.lists(small_ranges, max_size=60))
def test_folding_loses_nothing(ranges: list[Range]) -> None:
    unfolded = chain.from_iterable(body * times for body, times in fold_repeats(ranges))
    assert list(unfolded) == ranges


@given(st.lists(small_ranges, max_size=60))
def test_joining_keeps_the_instructions(ranges: list[Range]) -> None:
    def executed(parts: list[Range]) -> list[int]:
        return [i for first, last in parts for i in range(first, last + 1)]

    assert executed(join_adjacent(ranges)) == executed(ranges)
