"""Tests durations and sizes as values of options, such as `10s` and `500M`."""

import math
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

import pytest

from slowpath.core.command import Option
from slowpath.core.jobs.memory import parse_size
from slowpath.core.quantities import (
    about_percent,
    digits_known,
    duration,
    number,
    significant,
    size,
    with_interval,
)
from slowpath.core.schema.rates import format_estimated_rate
from support import commands, slowpath

if TYPE_CHECKING:
    from slowpath.core.schema.results import RatedTime

LISTING = "examples/two_protocols.asm"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10), ("2m", 120), ("500ms", 0.5), ("1h", 3600), ("1.5min", 90), ("2 m", 120),
        ("60", 60), ("0", 0), ("1e3", 1000), ("1e3s", 1000), (".5s", 0.5), ("-1s", -1),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


def test_special_numbers_are_left_to_the_options() -> None:
    assert math.isinf(duration("inf"))
    assert math.isnan(duration("nan"))


@pytest.mark.parametrize("text", ["", "s", "soon", "10x", "10 parsecs", "1s2", "10S", "1:30"])
def test_other_texts_are_not_durations(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a time; write 10s, 2m or 500ms"):
        duration(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("512MiB", 512 << 20), ("2G", 2 << 30), ("500M", 500 << 20), ("1.5GiB", 3 << 29),
        ("64m", 64 << 20), ("1TB", 1 << 40), ("100", 100), ("2 GB", 2 << 30), ("16k", 16 << 10),
    ],
)  # fmt: skip
def test_sizes(text: str, count: int) -> None:
    assert size(text) == count


@pytest.mark.parametrize("text", ["", "M", "-1M", "1X", "1e9", "1,5G", "lots"])
def test_other_texts_are_not_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size of memory; write 512MiB or 2G"):
        size(text)


def test_limits_too_small_for_any_analysis_are_errors() -> None:
    with pytest.raises(ValueError, match="too little; an analysis needs at least"):
        parse_size("63M")


def options() -> list[tuple[str, Option]]:
    return [(path, option) for path, command in commands() for option in command.options]


TIMES = {"--deadline", "--total-deadline", "--seconds"}


def test_all_options_with_times_have_units() -> None:
    found = [(path, option) for path, option in options() if TIMES & {*option.names}]
    assert len(found) > 12
    for path, option in found:
        assert option.settings["metavar"] == "TIME", path
        assert option.settings["type"]("500ms") == 0.5, path
    assert not [path for path, one in options() if one.settings.get("metavar") == "SECONDS"]


@pytest.mark.parametrize("option", ["--deadline", "--total-deadline"])
def test_units_work_in_commands(option: str) -> None:
    assert slowpath("bound", LISTING, option, "2m").returncode == 0
    run = slowpath("bound", LISTING, option, "2 fortnights")
    assert run.returncode == 2
    assert run.stderr.startswith(f"error: {option}: '2 fortnights' is not a time; write 10s")


def test_sizes_work_in_commands() -> None:
    assert slowpath("bound", LISTING, "--memory", "1024MiB").returncode == 0


# --- digits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "low", "high", "texts"),
    [
        (228.3, 64.2, 314.1, ("230", "60", "310")),
        (39.4, 34.4, 46.9, ("39", "34", "47")),
        (1.9, 0.0, 6.0, ("1.9", "0", "6.0")),
        (9.9, 8.9, 10.9, ("9.9", "8.9", "10.9")),
        (1003.27, 990.1, 1016.4, ("1,003", "990", "1,016")),
        (1111000.4, 1000000, 1200000, ("1,110,000", "1,000,000", "1,200,000")),
        (123456.7, 123456.6, 123456.8, ("123,500", "123,500", "123,500")),
        (0.0, 0.0, 0.0, ("0", "0", "0")),
        (5.0, 1.0, math.inf, ("5.000", "1.000", "inf")),
        (-4.4, -6.0, -2.0, ("-4.4", "-6.0", "-2.0")),
    ],
)
def test_an_interval_determines_the_digits(
    value: float, low: float, high: float, texts: tuple[str, str, str]
) -> None:
    assert with_interval(value, low, high) == texts


@pytest.mark.parametrize("exponent", range(-6, 9))
def test_digits_do_not_depend_on_the_unit(exponent: int) -> None:
    scale = 10.0**exponent
    assert digits_known(2.28 * scale, 0.64 * scale, 3.14 * scale) == 2


def test_the_last_digit_is_at_most_a_quarter_of_the_interval() -> None:
    for width in (0.1, 0.4, 1.0, 3.9, 4.0, 39.0):
        text, *_ = with_interval(77.777, 77.777 - width / 2, 77.777 + width / 2)
        step = 10.0 ** -len(text.partition(".")[2])
        assert step <= max(width / 4, 0.01) * (1 + 1e-9)
        assert abs(float(text) - 77.777) <= step / 2


@pytest.mark.parametrize(
    ("value", "text"),
    [(1637.55, "1,640"), (82.02, "82.0"), (0.05123, "0.0512"), (1000.0, "1,000"), (0.0, "0")],
)
def test_values_without_an_interval_have_three_digits(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4096, "4,096"),
        (1234567.0, "1,234,567"),
        (12345.678, "12,346"),
        (1200.04, "1,200"),
        (4.3812, "4.38"),
        (0.05, "0.05"),
    ],
)
def test_counts_keep_the_digits_in_front_of_the_point(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.512, "51 %"),
        (0.0321, "3.2 %"),
        (1.8333, "180 %"),
        (0.0004, "<0.1 %"),
        (0.0, "0 %"),
        (-0.25, "-25 %"),
    ],
)
def test_estimated_shares(share: float, text: str) -> None:
    assert about_percent(share) == text


@pytest.mark.parametrize(
    ("ns", "low", "high", "rate"),
    [(1.95, 0.0, 6.0, "510 Mpps"), (38.6, 34.0, 47.0, "26 Mpps"), (228.0, 64.0, 314.0, "4.4 Mpps")],
)
def test_an_estimated_rate_has_the_digits_of_its_time(
    ns: float, low: float, high: float, rate: str
) -> None:
    time: RatedTime = {
        "ns": ns,
        "low_ns": low,
        "high_ns": high,
        "packetrate_pps": 1e9 / ns,
        "entries": "few",
        "caches": "warm",
        "receiving": "excluded",
    }
    assert format_estimated_rate(time) == rate
