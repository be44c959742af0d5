"""Tests the parts of `slowpath diff`: pairs of programs, columns, gates, lines and texts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from slowpath.core import codes
from slowpath.core.errors import Coded, InputError
from slowpath.core.printable import one_line
from slowpath.core.schema.derived import failed_result
from slowpath.core.schema.results import Profile, ProfileLine, Result
from slowpath.diff.changes import (
    also_changed,
    cell,
    change_of,
    changed_lines,
    format_percent,
    make_row,
    summary,
)
from slowpath.diff.filters import Gate, failures, parse_comparison
from slowpath.diff.pairs import Pair, match_programs
from slowpath.diff.report import Report, markdown, table
from support import make_bound, make_profile, make_result


def rate(bits: float, **changes: Any) -> Result:
    """Return a made-up result with this guaranteed bit rate."""
    return make_result(guarantee=make_bound(bitrate_bps=bits, **changes))


def count(instructions: int, accesses: int = 3, **changes: Any) -> Result:
    """Return a made-up result for a target that counts instructions and memory accesses."""
    counts = {"instructions": instructions, "memory accesses": accesses}
    none = {"bitrate_bps": None, "packetrate_pps": None, "bottleneck": None, "components": None}
    guarantee = make_bound(counts=counts, **none)
    made = make_result(target="ebpf", metric="instructions", cores=None, guarantee=guarantee)
    return made | changes  # type: ignore[return-value]


# --- pairs ----------------------------------------------------------------------------------------


def named(*names: str) -> list[Result]:
    """Return made-up results of programs, each named `FILE:PROGRAM`."""
    pieces = (name.split(":") for name in names)
    return [make_result(file=file, program=program) for file, program in pieces]


def matched(old: list[Result], new: list[Result]) -> list[tuple[str | None, str | None]]:
    def text(result: Result | None) -> str | None:
        return None if result is None else f"{result['file']}:{result['program']}"

    return [(text(pair.old), text(pair.new)) for pair in match_programs(old, new)]


def test_single_programs_are_a_pair_despite_their_names() -> None:
    assert matched(named("a.o:x"), named("b.o:y")) == [("a.o:x", "b.o:y")]
    assert matched(named("a.o:x"), named("b.o:y", "b.o:z")) == [
        ("a.o:x", None),
        (None, "b.o:y"),
        (None, "b.o:z"),
    ]


def test_programs_are_matched_by_name() -> None:
    assert matched(named("a.o:x", "a.o:y"), named("b.o:z", "b.o:y")) == [
        ("a.o:x", None),
        ("a.o:y", "b.o:y"),
        (None, "b.o:z"),
    ]


def test_the_same_name_in_several_files() -> None:
    old, new = named("old/a.o:x", "old/b.o:x"), named("new/b.o:x", "new/a.o:x", "new/c.o:x")
    assert matched(old, new) == [
        ("old/a.o:x", "new/a.o:x"),
        ("old/b.o:x", "new/b.o:x"),
        (None, "new/c.o:x"),
    ]


@given(st.lists(st.sampled_from("abc"), max_size=5), st.lists(st.sampled_from("abc"), max_size=5))
def test_every_program_is_in_one_pair(old: list[str], new: list[str]) -> None:
    sides = [named(*(f"f.o:{name}" for name in side)) for side in (old, new)]
    pairs = match_programs(*sides)
    for side, found in zip(sides, zip(*pairs, strict=True) if pairs else ((), ()), strict=True):
        assert sorted(map(id, side)) == sorted(id(result) for result in found if result is not None)


@pytest.mark.parametrize(
    "other",
    [make_result(cores=5), make_result(metric="packetrate"), make_result(target="mine"), count(5)],
)
def test_incomparable_results(other: Result) -> None:
    with pytest.raises(InputError, match="analyse both with the same"):
        match_programs([make_result()], [other])
    match_programs([make_result()], [other | {"guarantee": None}])


# --- columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (rate(10e9), rate(11e9), "better"),
        (rate(10e9), rate(9e9), "worse"),
        (rate(10e9), rate(10e9), "same"),
        (count(100), count(90), "better"),
        (count(100), count(101), "worse"),
        (count(100), None, "gone"),
        (None, count(100), "new"),
        (
            count(100),
            failed_result("a.o", "ebpf", "instructions", Coded(codes.UNBOUNDED_LOOP, "no")),
            "unknown",
        ),
    ],
)
def test_change(old: Result | None, new: Result | None, change: str) -> None:
    assert change_of(make_row(Pair(old, new))) == change


@given(st.floats(1, 1e12), st.floats(1, 1e12))
def test_difference_and_percentage(a: float, b: float) -> None:
    row = make_row(Pair(rate(a), rate(b)))
    assert row.number("bitrate_diff") == b - a
    assert row.number("bitrate_pct") == pytest.approx(100 * (b - a) / a)


def test_a_percentage_of_zero() -> None:
    row = make_row(Pair(count(5, 0), count(5, 2)))
    assert row.number("memory_accesses_diff") == 2
    assert row.number("memory_accesses_pct") is None
    assert make_row(Pair(count(5, 0), count(5, 0))).number("memory_accesses_pct") == 0


def test_a_missing_side_has_no_differences() -> None:
    row = make_row(Pair(None, count(7)))
    assert row.number("instructions_b") == 7
    for column in ("instructions_a", "instructions_diff", "instructions_pct", "verdict_diff"):
        assert row.known(column) is None
        assert cell(row, column) == "N/A"


def test_other_columns() -> None:
    row = make_row(Pair(make_result(), rate(10e9, bottleneck="dram", exact=False)))
    assert row.known("bottleneck_diff") == row.known("verdict_diff") == "MISMATCH"
    assert row.number("processing_cycles_diff") == 0
    assert row.number("min_packet_size_b") is None  # a bound has no smallest packet
    assert also_changed(row) == "verdict exact -> bound, bottleneck processing -> dram"


def test_components_of_other_targets_have_columns() -> None:
    profile = make_profile(cost={"cells": 7})
    row = make_row(Pair(make_result(profile=profile), make_result(profile=profile)))
    assert row.number("cells_cycles_b") == 7
    assert parse_comparison("cells_cycles > 6").holds(row) is True


# --- texts ----------------------------------------------------------------------------------------


def test_values_as_text() -> None:
    row = make_row(Pair(rate(24.71e9), rate(24.72e9, exact=False, stopped="deadline")))
    assert cell(row, "bitrate_a") == "24.71 Gbit/s"
    assert cell(row, "bitrate_b") == ">= 24.72 Gbit/s"
    assert cell(row, "bitrate_diff") == "+10.0 Mbit/s"
    assert cell(row, "bitrate_pct") == "+0.04 %"
    loose = count(90)
    loose["guarantee"] = make_bound(counts={"instructions": 90}, exact=False)
    assert cell(make_row(Pair(count(100), loose)), "instructions_b") == "<= 90"
    assert cell(make_row(Pair(count(100), loose)), "instructions_diff") == "-10"


@given(st.floats(-1e6, 1e6))
def test_no_change_is_printed_as_none(percent: float) -> None:
    assert (format_percent(percent) == "0 %") is (percent == 0)


def test_summary() -> None:
    pairs = [(10, 9), (10, 9), (10, 10), (10, 12)]
    rows = [make_row(Pair(rate(a), rate(b))) for a, b in pairs]
    assert summary(rows) == "2 worse, 1 better, 1 same"
    assert summary([]) == "no programs"


def report(*pairs: Pair, **changes: Any) -> Report:
    rows = [make_row(pair) for pair in pairs]
    made = Report("a", "b", rows, [changed_lines(pair) for pair in pairs], [], [], 10)
    return made._replace(**changes)


def test_reports_state_assumptions() -> None:
    assumed = make_result(assumptions=["writes cost 5 cycles"])
    for writer in (table, markdown):
        text = "\n".join(line.text for line in writer(report(Pair(make_result(), assumed))))
        assert "only NEW of sample assumes: writes cost 5 cycles" in text
        text = "\n".join(line.text for line in writer(report(Pair(assumed, assumed))))
        assert "assumes" not in text
        loose = rate(1e9, exact=False, stopped="deadline")
        text = "\n".join(line.text for line in writer(report(Pair(make_result(), loose))))
        assert "NEW of sample: deadline" in text


def test_programs_of_the_same_name_are_told_apart_by_file() -> None:
    one, two = (make_result(file=f"{name}.o", section="xdp") for name in "ab")
    text = [line.text for line in table(report(Pair(one, one), Pair(two, two)))]
    assert any(line.startswith("a.o:sample ") for line in text)
    assert any(line.startswith("b.o:sample ") for line in text)
    text = [line.text for line in table(report(Pair(one, one)))]
    assert any(line.startswith("sample ") for line in text)


@given(st.text("ab|`*_<>&\\\n\x1b~[]# ", min_size=1, max_size=12).filter(str.strip))
def test_markdown_survives_any_name(name: str) -> None:
    made = report(Pair(make_result(program=name), make_result(program=name)))
    text = "\n".join(line.text for line in markdown(made))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    cells = [token for token in tokens if token.type == "td_open"]
    assert len(cells) == 7
    first = tokens[tokens.index(cells[0]) + 1].children or []
    assert [token.type for token in first] == ["code_inline"]
    assert first[0].content.strip() == one_line(name).strip()


# --- gates ----------------------------------------------------------------------------------------


def stopped(text: str, old: Result | None, new: Result | None) -> list[str]:
    gate = Gate(text, parse_comparison(text))
    return [failure.reason for failure in failures([make_row(Pair(old, new))], [gate])]


def test_gates() -> None:
    assert stopped("bitrate_pct < -5", rate(10e9), rate(9.6e9)) == []
    (reason,) = stopped("bitrate_pct < -5", rate(10e9), rate(9.4e9))
    assert reason == "bitrate_pct is -6.00 %, but --fail-on 'bitrate_pct < -5' forbids this"
    (reason,) = stopped("instructions_pct > 5", count(100), count(106))
    assert reason.startswith("instructions_pct is +6.00 %")


def test_gates_use_guaranteed_values() -> None:
    loose = rate(9e9, exact=False, stopped="deadline")
    (reason,) = stopped("bitrate_pct < -5", rate(10e9), loose)
    assert "(NEW is a bound that is not exact)" in reason
    assert stopped("bitrate_pct < -5", loose, rate(10e9)) == []


def test_undecidable_gates_fail() -> None:
    failed = failed_result(
        "a.asm", "agilio-cx-2x40", "bitrate", Coded(codes.LISTING_SYNTAX, "no such thing")
    )
    for old, new, why in (
        (None, rate(1e9), "OLD lacks the program"),
        (rate(1e9), None, "NEW lacks the program"),
        (rate(1e9), failed, "NEW could not be analysed"),
        (count(5), count(5), "target ebpf and metric instructions do not have this value"),
    ):
        (reason,) = stopped("bitrate_pct < -5", old, new)
        assert why in reason
    assert stopped("bitrate_pct != N/A", rate(1e9), None) == []


# --- lines ----------------------------------------------------------------------------------------


def line(text: str, cost: float, number: int = 1, function: str = "sample") -> ProfileLine:
    return {
        "file": "./a.c",
        "line": number,
        "text": text,
        "function": function,
        "runs": 1,
        "instructions": 1,
        "cost": {"processing": cost, "dram": 0},
    }


def lined(*lines: ProfileLine, **changes: Any) -> Result:
    total = 224 + sum(one["cost"]["processing"] for one in lines)
    profile: Profile = {
        "cost": {"processing": total, "dram": 0},
        "overhead": {"processing": 224, "dram": 0},
        "programs": [],
        "lines": list(lines),
        "instructions": [],
    }
    return make_result(profile=profile, **changes)


def differences(old: Result, new: Result) -> list[tuple[str, float]]:
    changes = changed_lines(Pair(old, new))
    assert changes is not None
    return [(change.text.strip(), change.diff) for change in changes.lines]


def test_moved_lines_are_matched() -> None:
    old = lined(line("  x++;", 4, 10), line("y++;", 5, 11))
    new = lined(line("y++;", 5, 3), line("x++;", 7, 90))
    assert differences(old, new) == [("x++;", 3)]


def test_the_program_s_own_function_may_be_renamed() -> None:
    old = lined(line("x;", 4), line("y;", 4, function="helper"))
    new = lined(line("x;", 5, function="renamed"), line("y;", 4, function="other"))
    assert differences(old, new | {"program": "renamed"}) == [
        ("x;", 1),
        ("y;", -4),
        ("y;", 4),
    ]


def test_lines_of_the_same_text_keep_their_order() -> None:
    old = lined(line("return;", 4, 10), line("return;", 9, 20))
    new = lined(line("return;", 4, 15), line("return;", 8, 25), line("return;", 1, 30))
    assert differences(old, new) == [("return;", -1), ("return;", 1)]


def test_lines_without_text_are_matched_by_number() -> None:
    assert differences(lined(line("", 4, 10)), lined(line("", 5, 10))) == [("", 1)]


LINES = st.lists(
    st.builds(
        line,
        st.sampled_from(["a", "b", "c", ""]),
        st.integers(0, 9),
        st.integers(1, 5),
        st.sampled_from(["sample", "other"]),
    ),
    min_size=1,
    max_size=6,
)


@given(LINES, LINES)
def test_all_changes_are_the_change_of_the_path(old: list[Any], new: list[Any]) -> None:
    a, b = lined(*old), lined(*new)
    changes = changed_lines(Pair(a, b))
    assert changes is not None
    assert a["profile"] is not None
    assert b["profile"] is not None
    total = sum(change.diff for change in changes.lines)
    assert total == b["profile"]["cost"]["processing"] - a["profile"]["cost"]["processing"]
    shown = [*changes.dearer(99), *changes.cheaper(99)]
    assert len(shown) == len(changes.lines)
    assert [*(change.diff for change in changes.dearer(2))] == sorted(
        (change.diff for change in changes.lines if change.diff > 0), reverse=True
    )[:2]


def test_results_without_profile_have_no_lines() -> None:
    old = make_result(profile=None)
    assert changed_lines(Pair(old, make_result())) is None
    assert changed_lines(Pair(None, make_result())) is None
    text = [one.text for one in table(report(Pair(old, make_result())))]
    assert not any("lines whose cost" in one for one in text)


def test_instructions_stand_in_for_lines() -> None:
    profile = make_profile(lines=[])
    old, new = make_result(profile=profile), make_result(profile=make_profile(lines=[]))
    assert new["profile"] is not None
    new["profile"]["instructions"][0]["text"] = "br[.99]"
    profile["instructions"][0]["text"] = "br[.7]"
    assert differences(old, new) == []
    new["profile"]["instructions"][0]["cost"] = {"processing": 501, "dram": 0}
    assert differences(old, new) == [("br[.99]", 1)]
