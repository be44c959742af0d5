"""Options as typed become jobs, or errors that name the option."""

from dataclasses import replace
from pathlib import Path

import pytest

from slowpath import engine
from slowpath.bound import Job
from slowpath.inputs import InputError
from slowpath.options import OptionError, Typed, choose_metric, make_job, parse_paths, parse_unroll
from slowpath.rates import Metric, Rate

PLAIN = Typed(
    target="agilio-cx-2x40",
    metric=None,
    cores=None,
    unroll=None,
    paths="1",
    mtu=1500,
    deadline=None,
    require=None,
    assume=None,
)


def job(typed: Typed) -> Job:
    return make_job(["a.asm"], typed, "table", None, verbose=False)


def test_defaults() -> None:
    assert job(PLAIN).options == engine.Options(
        target="agilio-cx-2x40",
        target_is_text=False,
        metric="bitrate",
        cores=None,
        unroll=[],
        paths=1,
        mtu=1500,
        deadline_seconds=None,
        assume=None,
    )


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("160", ["160"]), ("10@.44", ["10@.44"]), ("5, 10@.44,3@.7", ["5", "10@.44", "3@.7"])],
)
def test_unroll(text: str, pieces: list[str]) -> None:
    assert parse_unroll(text) == pieces


@pytest.mark.parametrize("text", ["", "x", "-1", "5@", "5@a@b", "5,,6", "1.5", "٣"])
def test_unroll_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="loop limit"):
        parse_unroll(text)


def test_paths() -> None:
    assert parse_paths("all") is None
    assert parse_paths("7") == 7


@pytest.mark.parametrize("text", ["0", "-1", "", "ALL", "1.0", str(1 << 64)])
def test_paths_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="number of paths"):
        parse_paths(text)


@pytest.mark.parametrize(
    ("asked", "requirement", "metric"),
    [
        (None, None, "bitrate"),
        ("packetrate", None, "packetrate"),
        (None, Rate(1, "packetrate"), "packetrate"),
        ("bitrate", Rate(1, "bitrate"), "bitrate"),
    ],
)
def test_metric(asked: Metric | None, requirement: Rate | None, metric: Metric) -> None:
    assert choose_metric(asked, requirement) == metric


@pytest.mark.parametrize(
    ("typed", "option"),
    [
        (replace(PLAIN, metric="bitrate", require="1pps"), "--require"),
        (replace(PLAIN, require="fast"), "--require"),
        (replace(PLAIN, unroll="x"), "--unroll"),
        (replace(PLAIN, paths="0"), "--paths"),
        (replace(PLAIN, deadline=0.0), "--deadline"),
        (replace(PLAIN, deadline=float("nan")), "--deadline"),
        (replace(PLAIN, target="unheard-of"), "--target"),
    ],
)
def test_the_wrong_option_is_named(typed: Typed, option: str) -> None:
    with pytest.raises(OptionError) as caught:
        job(typed)
    assert caught.value.option == option


def test_files_that_options_name(tmp_path: Path) -> None:
    text = tmp_path / "mine.toml"
    text.write_text("schema = 1\n")
    options = job(replace(PLAIN, target=str(text), assume=str(text))).options
    assert (options.target, options.target_is_text) == ("schema = 1\n", True)
    assert options.assume == "schema = 1\n"
    with pytest.raises(InputError, match="no such file"):
        job(replace(PLAIN, assume=str(tmp_path / "missing.toml")))


def test_reproduction_states_the_defaults() -> None:
    words = job(replace(PLAIN, require="40Gbit/s", cores=5)).reproduce
    assert words == [
        *("--target", "agilio-cx-2x40", "--metric", "bitrate", "--cores", "5"),
        *("--mtu", "1500", "--require", "40Gbit/s"),
    ]
