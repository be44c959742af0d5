"""Turns the options of commands that analyse, as typed, into work; says which one is wrong."""

import os.path
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from slowpath import engine
from slowpath.analysis.analyses import Work
from slowpath.analysis.plan import DEFAULT_TARGET, OptionError, Wishes
from slowpath.analysis.selection import Selection
from slowpath.analysis.sources import Clang, is_c
from slowpath.cli.inputs import read_text
from slowpath.schema.rates import METRICS, Rate, Requirement
from slowpath.schema.results import metric_words

DEFAULT_MTU = 1500
DEFAULT_DEADLINE = 60.0
"""Seconds for each program."""


T = TypeVar("T")
V = TypeVar("V")


class Typed(NamedTuple):
    """The options of an analysis as the user typed them."""

    target: str | None = None
    metric: str | None = None
    cores: int | None = None
    unroll: str | None = None
    paths: str = "1"
    mtu: int = DEFAULT_MTU
    deadline: float | None = None
    total_deadline: float | None = None
    memory: str | None = None
    require: str | None = None
    accept: bool = False
    assume: str | None = None
    maps: str | None = None
    map_abi: str | None = None
    btf: str | None = None
    cflags: tuple[str, ...] = ()
    selection: Selection = Selection()


def parse_unroll(text: str) -> list[str]:
    """Reads `N` or `N@LOCATION,...`; each piece limits all loops or the one at a place.

    Raises:
        ValueError: when a piece is malformed.
    """
    pieces = [piece.strip() for piece in text.split(",")]
    for piece in pieces:
        if not _is_loop_limit(piece):
            raise ValueError(
                f"{piece!r} is not a loop limit; write N, or N@LOCATION,... "
                "with the locations that slowpath named, such as 10@filter.c:44"
            )
    return pieces


def _is_loop_limit(piece: str) -> bool:
    """Whether this is `N` or `N@LOCATION`."""
    limit, at, place = piece.partition("@")
    named = bool(place) and "@" not in place and len(place.split()) == 1
    return limit.isascii() and limit.isdigit() and (named or not at)


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


def choose_metric(metric: str | None, requirement: Requirement | None) -> str | None:
    """The metric to search by: as asked for, else the one that the requirement is about.

    None when neither says anything: then it is the target's first.

    Raises:
        ValueError: when the requirement is about another metric than the one asked for.
    """
    if requirement is None:
        return metric
    if metric not in (None, requirement.metric):
        what = "the rate is a" if isinstance(requirement, Rate) else "the limit is one of"
        raise ValueError(
            f"{what} {_words(requirement.metric)}, but --metric asks for {_words(metric or '')}"
        )
    return requirement.metric


def _words(metric: str) -> str:
    return {"bitrate": "bit rate", "packetrate": "packet rate"}.get(metric, metric_words(metric))


def check_metric(metric: str | None, target: engine.Target) -> str | None:
    """A metric that there is on a target, or a rate, None or not.

    Raises:
        ValueError: when there is no such metric.
    """
    if metric is None:
        return None
    counters = target.counters
    if metric in (*METRICS, *(counters or [])):
        return metric
    named = engine.target_names()
    others = [n for n in named if metric in (engine.builtin_target(n).counters or [])]
    hint = f"; --target {others[0]} has it" if others else ""
    raise ValueError(
        f"{metric!r} is no metric of target {target.name}; it has {', '.join(counters or METRICS)}"
        + hint
    )


def check_required(requirement: Requirement | None, target: engine.Target) -> None:
    """A rate is required on targets that have rates, a count on those that count it.

    Raises:
        ValueError: when it is the other way round.
    """
    if requirement is None:
        return
    counters = target.counters
    if isinstance(requirement, Rate):
        if counters is not None:
            example = f"'<=4000 {counters[0]}'"
            what = f"target {target.name} counts {' and '.join(counters)}"
            raise ValueError(f"{what}, there is no rate to require; write for example {example}")
    elif counters is None:
        raise ValueError(
            f"target {target.name} has rates, it counts no {metric_words(requirement.metric)}; "
            "require a rate such as 10Gbit/s, or count with --target ebpf"
        )
    elif requirement.metric not in counters:
        what = f"target {target.name} counts {' and '.join(counters)}"
        raise ValueError(f"{what}, not {metric_words(requirement.metric)}")


def choose_target(name: str | None) -> engine.Target:
    """A built-in target by its name, or the description in a file; None is the default target.

    Raises:
        ValueError: when it is neither a known name nor looks like a file.
        InputError: when the file cannot be read.
    """
    name = DEFAULT_TARGET if name is None else name
    names = engine.target_names()
    if name in names:
        return engine.builtin_target(name)
    if name.endswith(".toml") or "/" in name:
        return engine.described_target(name, read_text(name))
    raise ValueError(
        f"{name!r} is not a target; known are {', '.join(names)}, or name a file that ends in .toml"
    )


def read_requirement(typed: Typed) -> Requirement | None:
    """What `--require` asks for.

    Raises:
        OptionError: when it makes no sense.
    """
    if typed.require is None:
        return None
    from slowpath.analysis.requirement import parse_requirement

    return read_option("--require", parse_requirement, typed.require)


def read_accept(typed: Typed) -> bool:
    """What `--accept-assumptions` says; it means something with `--require` only.

    Raises:
        OptionError: when there is none.
    """
    if typed.accept and typed.require is None:
        reason = "there is no --require that could rely on assumptions"
        raise OptionError("--accept-assumptions", reason)
    return typed.accept


def make_work(files: Sequence[str], typed: Typed) -> Work:
    """The analyses that the options describe.

    Raises:
        OptionError: when an option makes no sense.
        InputError: when a file that an option names cannot be read.
    """
    requirement = read_requirement(typed)
    target = read_option("--target", choose_target, typed.target)
    asked = read_option("--metric", lambda name: check_metric(name, target), typed.metric)
    metric = read_option("--require", lambda name: choose_metric(name, requirement), asked)
    read_option("--require", lambda required: check_required(required, target), requirement)
    total = read_option("--total-deadline", check_deadline, typed.total_deadline)
    until = None if total is None else time.monotonic() + total
    options = engine.Options(
        cores=typed.cores,
        unroll=[] if typed.unroll is None else read_option("--unroll", parse_unroll, typed.unroll),
        paths=read_option("--paths", parse_paths, typed.paths),
        mtu=typed.mtu,
        deadline_seconds=read_option("--deadline", parse_deadline, typed.deadline),
        memory_bytes=None
        if typed.memory is None
        else read_option("--memory", parse_memory, typed.memory),
        assume=None if typed.assume is None else read_text(typed.assume),
        maps=None if typed.maps is None else read_text(typed.maps),
        map_abi=typed.map_abi,
    )
    clang = Clang(typed.cflags, options.deadline_seconds, until, options.memory_bytes)
    return Work(
        files=files,
        wishes=Wishes(typed.selection, target, metric, typed.cores, clang),
        options=options,
        btf=typed.btf,
        until=until,
        reproduce=repeat(typed),
        option_files=_option_files(typed, target),
    )


def _option_files(typed: Typed, target: engine.Target) -> dict[str, str]:
    files = {
        "--target": target.name,
        "--assume": typed.assume,
        "--maps": typed.maps,
    }
    return {option: name for option, name in files.items() if name is not None}


def read_option(option: str, read: Callable[[V], T], value: V) -> T:
    """The value of an option.

    Raises:
        OptionError: when `read` refuses what was typed.
    """
    try:
        return read(value)
    except ValueError as problem:
        raise OptionError(option, str(problem)) from None


def parse_deadline(seconds: float | None) -> float | None:
    """The deadline of one program: the default where none is given, none at all for 0.

    Raises:
        ValueError: when it is no time.
    """
    if seconds == 0:
        return None
    return DEFAULT_DEADLINE if seconds is None else check_deadline(seconds)


def parse_memory(size: str) -> int:
    """The memory of an analysis in bytes.

    Raises:
        ValueError: when it is no size.
    """
    from slowpath.work.memory import parse_size

    return parse_size(size)


def memory_or_share(size: str | None) -> int | None:
    """The memory for work in bytes: a share of what is free where none is given.

    Raises:
        OptionError: when it is no size.
    """
    from slowpath.work.memory import default_limit

    return default_limit() if size is None else read_option("--memory", parse_memory, size)


def check_deadline(seconds: float | None) -> float | None:
    """A deadline is a positive number.

    Raises:
        ValueError: when it is not.
    """
    if seconds is None or 0 < seconds < float("inf"):
        return seconds
    raise ValueError("a deadline is a number of seconds above 0")


def parse_cflags(text: str, files: Sequence[str]) -> tuple[str, ...]:
    """Flags for clang, as a shell would read them.

    Raises:
        ValueError: when a quotation is open, or no file is compiled.
    """
    import shlex

    if not any(map(is_c, files)):
        raise ValueError("no file is C source (*.c), nothing is compiled by clang")
    return tuple(shlex.split(text))


def join_flags(flags: Sequence[str]) -> str | None:
    """The value of the option that `parse_cflags` reads; None for no flags."""
    if not flags:
        return None
    import shlex

    return shlex.join(flags)


def check_not_a_program(output: str, files: Sequence[str]) -> None:
    """A packet file must not replace a program, as a forgotten value would have it.

    Raises:
        ValueError: when it would.
    """
    for file in files:
        if os.path.exists(output) and os.path.exists(file) and os.path.samefile(output, file):
            raise ValueError(f"{output!r} is a program and would be overwritten")


def repeat(typed: Typed) -> list[str]:
    """Options that repeat an analysis, whatever the defaults are by then."""
    values = {
        "--cores": typed.cores,
        "--unroll": typed.unroll,
        "--paths": None if typed.paths == "1" else typed.paths,
        "--mtu": typed.mtu,
        "--deadline": None if typed.deadline is None else f"{typed.deadline:g}",
        "--memory": typed.memory,
        "--assume": typed.assume,
        "--maps": typed.maps,
        "--map-abi": typed.map_abi,
        "--btf": typed.btf,
        "--cflags": join_flags(typed.cflags),
        "--require": typed.require,
    }
    given = ((name, str(value)) for name, value in values.items() if value is not None)
    words = [*typed.selection.words(), *(word for pair in given for word in pair)]
    return [*words, "--accept-assumptions"] if typed.accept else words
