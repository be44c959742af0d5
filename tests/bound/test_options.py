"""Tests that command-line options become requests for analyses, and that errors name the option."""

import time
from pathlib import Path

import pytest

from slowpath.bounds.cli import BOUND
from slowpath.bounds.default_target import CARD
from slowpath.bounds.options import (
    WrittenOptions,
    choose_metric,
    parse_entries,
    parse_paths,
    parse_unroll,
    read_request,
)
from slowpath.bounds.plan import Request
from slowpath.core.engine import analyses, targets
from slowpath.core.errors import InputError, OptionError
from slowpath.core.schema.rates import Rate

PLAIN = WrittenOptions()


def request(written: WrittenOptions) -> Request:
    return read_request(["a.asm"], written)


def test_defaults() -> None:
    assert request(PLAIN).options == analyses.Options(
        cores=None,
        unroll=[],
        paths=1,
        mtu=None,
        deadline_seconds=60.0,
        memory_bytes=None,
        assume=None,
        maps=None,
        map_abi=None,
    )


def test_deadlines() -> None:
    assert request(PLAIN._replace(deadline=0.0)).options.deadline_seconds is None
    assert request(PLAIN._replace(deadline=5.0)).options.deadline_seconds == 5.0
    assert request(PLAIN._replace(memory="2G")).options.memory_bytes == 2 << 30
    before = time.monotonic()
    until = request(PLAIN._replace(total_deadline=9.0)).until
    assert until is not None
    assert before + 9.0 <= until <= time.monotonic() + 9.0


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("160", ["160"]),
        ("10@.44", ["10@.44"]),
        ("5, 10@.44,3@a/b.c:7", ["5", "10@.44", "3@a/b.c:7"]),
    ],
)
def test_unroll(text: str, pieces: list[str]) -> None:
    assert parse_unroll(text) == pieces


@pytest.mark.parametrize("text", ["", "x", "-1", "5@", "5@a@b", "5,,6", "1.5", "٣"])
def test_unroll_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="loop limit"):
        parse_unroll(text)


@pytest.mark.parametrize(
    ("text", "every", "named"),
    [
        ("1000", 1000, {}),
        ("routes=100000", None, {"routes": 100000}),
        ("a=1, 7, b.c=2", 7, {"a": 1, "b.c": 2}),
    ],
)
def test_entries(text: str, every: int | None, named: dict[str, int]) -> None:
    assert parse_entries(text) == (every, named)


@pytest.mark.parametrize(
    "text", ["", "0", "x", "-1", "5,6", "=5", "a=", "a=0", "a=1,a=2", "٣", "1e3", "9" * 5000]
)
def test_entries_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number of entries"):
        parse_entries(text)


def test_paths() -> None:
    assert parse_paths("all") is None
    assert parse_paths("7") == 7


@pytest.mark.parametrize("text", ["0", "-1", "", "ALL", "1.0", str(1 << 64)])
def test_paths_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="number of paths"):
        parse_paths(text)


@pytest.mark.parametrize(
    ("requested", "requirement", "metric"),
    [
        (None, None, None),
        ("instructions", None, "instructions"),
        ("packetrate", None, "packetrate"),
        (None, Rate(1, "packetrate"), "packetrate"),
        ("bitrate", Rate(1, "bitrate"), "bitrate"),
    ],
)
def test_metric(requested: str | None, requirement: Rate | None, metric: str | None) -> None:
    assert choose_metric(requested, requirement) == metric


@pytest.mark.parametrize(
    ("written", "option"),
    [
        (PLAIN._replace(target=CARD, metric="bitrate", require="1pps"), "--require"),
        (PLAIN._replace(require="1Gbit/s"), "--require"),
        (PLAIN._replace(target="ebpf", metric="instructions", require="1pps"), "--require"),
        (PLAIN._replace(metric="speed"), "--metric"),
        (PLAIN._replace(require="fast"), "--require"),
        (PLAIN._replace(unroll="x"), "--unroll"),
        (PLAIN._replace(paths="0"), "--paths"),
        (PLAIN._replace(deadline=-1.0), "--deadline"),
        (PLAIN._replace(total_deadline=0.0), "--total-deadline"),
        (PLAIN._replace(memory="much"), "--memory"),
        (PLAIN._replace(deadline=float("nan")), "--deadline"),
        (PLAIN._replace(target="unheard-of"), "--target"),
    ],
)
def test_the_wrong_option_is_named(written: WrittenOptions, option: str) -> None:
    with pytest.raises(OptionError) as caught:
        request(written)
    assert caught.value.option == option


def test_files_that_options_name(tmp_path: Path) -> None:
    text = tmp_path / "mine.toml"
    text.write_text("schema = 1\n")
    made = request(PLAIN._replace(target=str(text), assume=str(text), maps=str(text)))
    assert made.target.name == str(text)
    assert made.target.problems()
    assert made.options.assume == made.options.maps == "schema = 1\n"
    assert set(made.option_files) == {"--target", "--assume", "--maps"}
    with pytest.raises(InputError, match="no such file"):
        request(PLAIN._replace(assume=str(tmp_path / "missing.toml")))


def test_reproduction_states_the_defaults() -> None:
    words = request(PLAIN._replace(target=CARD, require="40Gbit/s", cores=5)).reproduce
    assert words == ["--cores", "5", "--mtu", "1500", "--require", "40Gbit/s"]


def test_the_longest_packet_is_that_of_the_target(tmp_path: Path) -> None:
    """Check that the target's maximum packet length is used without `--mtu`.

    The command that repeats the analysis must state this length.
    """
    file = tmp_path / "long.toml"
    text = targets.target_text("agilio-cx-2x40") or ""
    file.write_text(text.replace("max_size_bytes = 1500", "max_size_bytes = 9000"))
    made = request(PLAIN._replace(target=str(file)))
    assert (made.options.mtu, made.target.max_packet) == (None, 9000)
    assert made.reproduce == ["--mtu", "9000"]
    made = request(PLAIN._replace(target=str(file), mtu=900))
    assert (made.options.mtu, made.reproduce) == (900, ["--mtu", "900"])


def test_every_option_is_carried() -> None:
    """Check that every analysis option is a field of `WrittenOptions` and reaches the engine."""
    names = {name for entry in BOUND.options for name in entry.names if name.startswith("--")}
    own = {"--format", "--report", "--html", "--pcap-out", "--verbose", "--jobs", "--scheduler"}
    own |= {"--cache-dir", "--no-cache-dir", "--certificate"}
    selection = {"--section", "--prog-name"}
    fields = {f"--{field.replace('_', '-')}" for field in WrittenOptions._fields}
    assert names - own - selection == fields - {"--selection"}
    options = request(PLAIN._replace(map_abi="call", cores=3, mtu=900)).options
    assert (options.map_abi, options.cores, options.mtu) == ("call", 3, 900)
