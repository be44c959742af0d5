"""Tests durations and sizes as values of options."""

import math
from argparse import ArgumentTypeError

import pytest

from slowpath.core.command import Option
from slowpath.core.jobs.memory import parse_size
from slowpath.core.quantities import duration, size
from support import commands, slowpath

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
    with pytest.raises(ValueError, match="too little for any analysis"):
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
