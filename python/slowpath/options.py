"""Turns the options of `slowpath bound` as typed into a job; says which one is wrong."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from slowpath import engine
from slowpath.bound import Job
from slowpath.inputs import read_text
from slowpath.rates import Metric, Rate, parse_rate
from slowpath.reporters import Format

_UNROLL = re.compile(r"[0-9]+(@[^\s,@]+)?")


T = TypeVar("T")
V = TypeVar("V")


class OptionError(Exception):
    """A value on the command line that makes no sense."""

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"{option}: {reason}")
        self.option = option
        self.reason = reason


@dataclass(frozen=True)
class Typed:
    """The options of `slowpath bound` as the user typed them."""

    target: str
    metric: Metric | None
    cores: int | None
    unroll: str | None
    paths: str
    mtu: int
    deadline: float | None
    require: str | None
    assume: str | None


class Target(NamedTuple):
    """A target as the engine takes it."""

    text: str  # name of a built-in one, or a description
    is_text: bool


def parse_unroll(text: str) -> list[str]:
    """Reads `N` or `N@LOCATION,...`; each piece limits all loops or the one at a place.

    Raises:
        ValueError: when a piece is malformed.
    """
    pieces = [piece.strip() for piece in text.split(",")]
    for piece in pieces:
        if _UNROLL.fullmatch(piece) is None:
            raise ValueError(
                f"{piece!r} is not a loop limit; write N, or N@LOCATION,... "
                "with the locations that slowpath named"
            )
    return pieces


def parse_paths(text: str) -> int | None:
    """Reads `K` or `all` (None).

    Raises:
        ValueError: when it is neither.
    """
    if text == "all":
        return None
    if text.isascii() and text.isdigit() and 0 < int(text) < 1 << 64:
        return int(text)
    raise ValueError(f"{text!r} is not a number of paths; write 1 or more, or 'all'")


def choose_metric(metric: Metric | None, requirement: Rate | None) -> Metric:
    """The metric to search by: as asked for, else the one that the requirement is about.

    Raises:
        ValueError: when the requirement is about another metric than the one asked for.
    """
    if requirement is None:
        return metric or "bitrate"
    if metric not in (None, requirement.metric):
        raise ValueError(
            f"the rate is a {_words(requirement.metric)}, but --metric asks for the "
            f"{_words(metric or 'bitrate')}"
        )
    return requirement.metric


def _words(metric: Metric) -> str:
    return "bit rate" if metric == "bitrate" else "packet rate"


def choose_target(name: str) -> Target:
    """A built-in target by its name, or the description in a file.

    Raises:
        ValueError: when it is neither a known name nor looks like a file.
        InputError: when the file cannot be read.
    """
    names = engine.target_names()
    if name in names:
        return Target(name, is_text=False)
    if name.endswith(".toml") or "/" in name:
        return Target(read_text(name), is_text=True)
    raise ValueError(
        f"{name!r} is not a target; known are {', '.join(names)}, or name a file that ends in .toml"
    )


def make_job(
    files: Sequence[str], typed: Typed, form: Format, pcap: Path | None, *, verbose: bool
) -> Job:
    """The job that the options describe.

    Raises:
        OptionError: when an option makes no sense.
        InputError: when a file that an option names cannot be read.
    """
    requirement = None if typed.require is None else _read("--require", parse_rate, typed.require)
    metric = _read("--require", lambda asked: choose_metric(asked, requirement), typed.metric)
    target = _read("--target", choose_target, typed.target)
    options = engine.Options(
        target=target.text,
        target_is_text=target.is_text,
        metric=metric,
        cores=typed.cores,
        unroll=[] if typed.unroll is None else _read("--unroll", parse_unroll, typed.unroll),
        paths=_read("--paths", parse_paths, typed.paths),
        mtu=typed.mtu,
        deadline_seconds=_read("--deadline", check_deadline, typed.deadline),
        assume=None if typed.assume is None else read_text(typed.assume),
    )
    if pcap is not None:
        _read("--pcap", lambda path: check_not_a_program(path, files), pcap)
    return Job(
        files=files,
        target=typed.target,
        options=options,
        requirement=requirement,
        form=form,
        pcap=pcap,
        verbose=verbose,
        reproduce=_repeat(typed, metric),
        option_files=_option_files(typed, target),
    )


def _option_files(typed: Typed, target: Target) -> dict[str, str]:
    files = {"--target": typed.target} if target.is_text else {}
    return files if typed.assume is None else files | {"--assume": typed.assume}


def _read(option: str, read: Callable[[V], T], value: V) -> T:
    try:
        return read(value)
    except ValueError as problem:
        raise OptionError(option, str(problem)) from None


def check_deadline(seconds: float | None) -> float | None:
    """A deadline is a positive number.

    Raises:
        ValueError: when it is not.
    """
    if seconds is None or (math.isfinite(seconds) and seconds > 0):
        return seconds
    raise ValueError("a deadline is a number of seconds above 0")


def check_not_a_program(output: Path, files: Sequence[str]) -> None:
    """A packet file must not replace a program, as a forgotten value would have it.

    Raises:
        ValueError: when it would.
    """
    for file in files:
        if output.exists() and Path(file).exists() and output.samefile(file):
            raise ValueError(f"{str(output)!r} is a program to analyse and would be overwritten")


def _repeat(typed: Typed, metric: Metric) -> list[str]:
    """Options that repeat an analysis, whatever the defaults are by then."""
    values = {
        "--target": typed.target,
        "--metric": metric,
        "--cores": typed.cores,
        "--unroll": typed.unroll,
        "--paths": None if typed.paths == "1" else typed.paths,
        "--mtu": typed.mtu,
        "--deadline": typed.deadline,
        "--assume": typed.assume,
        "--require": typed.require,
    }
    given = ((name, str(value)) for name, value in values.items() if value is not None)
    return [word for pair in given for word in pair]
