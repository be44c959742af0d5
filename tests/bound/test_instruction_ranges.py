"""Instruction ranges in short."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.bounds.report_path import Range, fold_repeats, format_ranges, join_adjacent


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
def test_format(ranges: list[Range], text: str) -> None:
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
