"""Parses the macros and values of a sweep (options `-D`), and its requests to the analysis.

A sweep compiles a program with each combination of macro values, and analyses it for each target.
"""

import re
from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from slowpath.bounds.caching import cache_of
from slowpath.bounds.default_target import default_target
from slowpath.bounds.flags import written_options
from slowpath.bounds.multi_target import named_targets
from slowpath.bounds.options import (
    WrittenOptions,
    check_valid,
    choose_target,
    read_option,
    read_request,
)
from slowpath.bounds.plan import Request
from slowpath.core import codes
from slowpath.core.engine.targets import Target
from slowpath.core.errors import OptionError
from slowpath.core.inputs import read_program
from slowpath.core.programs.clang import check_clang
from slowpath.core.programs.sources import is_source
from slowpath.core.quantities import parse_range
from slowpath.core.schema.rates import METRICS

_NAME = r"[A-Za-z_]\w*"
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_MOST = 10_000
"""Maximum number of programs (combinations of values) in a sweep."""


class Definition(NamedTuple):
    """A C macro that is swept (`-D`), with its values in order."""

    name: str
    values: tuple[str, ...]

    @property
    def numbers(self) -> list[float] | None:
        """The values as numbers; None if a value is not a number."""
        try:
            return [float(value) for value in self.values]
        except ValueError:
            return None


Point = tuple[tuple[str, str], ...]
"""A combination of values: the name of each macro, with one of its values."""


def parse_definition(text: str) -> Definition:
    """Parse the argument of `-D`: `NAME=VALUES`.

    Values are `1..20`, `1..20+2`, `1..1024*2`, or words with commas.

    Raises:
        ValueError: if the text has another form.
        OptionError: if it has a value twice.
    """
    name, equals, values = text.partition("=")
    if not re.fullmatch(_NAME, name, re.ASCII) or not equals:
        raise ValueError(f"{text!r} is not NAME=VALUES; write for example HASHES=1..20")
    found = [value for piece in values.split(",") for value in _values(piece.strip(), name)]
    twice = next((value for value in found if found.count(value) > 1), None)
    if twice is not None:
        raise _repeated(f"{name} has the value {twice} twice; remove one")
    return Definition(name, tuple(found))


def _repeated(reason: str) -> OptionError:
    return OptionError(codes.REPEATED_OPTION, "-D", reason)


def _values(piece: str, name: str) -> list[str]:
    if not piece:
        raise ValueError(f"{name} has an empty value; write for example {name}=1,2,4")
    if ".." not in piece:
        return [piece]
    found = parse_range("-D", piece, "+*", "+")
    written = (found.first, found.last, found.amount or "1")
    if not all(map(_INTEGER.fullmatch, written)):
        raise ValueError(f"{piece!r} is not a range of integers")
    first, last, amount = map(int, written)
    if last < first:
        raise ValueError(f"{piece!r} ends before it begins; write the smaller number first")
    if found.sign == "*":
        return _multiples(piece, first, last, amount)
    if amount < 1:
        raise ValueError(f"{piece!r} has steps below 1; write for example 1..20+2")
    if (last - first) // amount >= _MOST:
        raise ValueError(f"{piece!r} has more than {_MOST:,} values")
    return [str(number) for number in range(first, last + 1, amount)]


def _multiples(piece: str, first: int, last: int, factor: int) -> list[str]:
    """Return the values `first`, `first` x `factor`, and so on, up to `last`.

    `piece` is their text, for errors.
    """
    if first < 1 or factor < 2:  # noqa: PLR2004 - no other factor makes values grow
        raise ValueError(f"{piece!r} does not grow; write for example 1..1024*2")
    numbers = [first]
    while (following := numbers[-1] * factor) <= last:
        numbers.append(following)
    return list(map(str, numbers))


def check_definitions(definitions: Sequence[Definition]) -> None:
    """Check that the macros have different names, and that the sweep is not too large.

    Raises:
        OptionError: if a name occurs twice.
        ValueError: if there are too many combinations of values.
    """
    names = [one.name for one in definitions]
    for name in names:
        if names.count(name) > 1:
            raise _repeated(f"{name} is given twice; write all its values with commas")
    if (count := prod(len(one.values) for one in definitions)) > _MOST:
        raise ValueError(
            f"the definitions give {count:,} programs, more than the limit of {_MOST:,}"
        )


def points(definitions: Sequence[Definition]) -> Iterator[Point]:
    """Yield all combinations of values; the values of the last macro change fastest."""
    names = [one.name for one in definitions]
    for values in product(*(one.values for one in definitions)):
        yield tuple(zip(names, values, strict=True))


def flags(point: Point) -> tuple[str, ...]:
    """Return the compiler flags (`-DNAME=VALUE`) for a combination of values."""
    return tuple(f"-D{name}={value}" for name, value in point)


def words(point: Point) -> str:
    """Format a combination of values for messages, such as `HASHES=3, SIZE=64`."""
    return ", ".join(f"{name}={value}" for name, value in point)


_DEFAULT_RATE = "packetrate"
"""Default metric of targets whose guarantees are rates."""


class SweepRequest(NamedTuple):
    """A sweep to run: source file, macros, and a request to the analysis for each target."""

    file: str
    definitions: Sequence[Definition]
    requests: Sequence[Request]  # one for each target
    counting: Request  # finds the path to measure: the slowest by BPF instructions


def read_sweep_request(args: Namespace) -> SweepRequest:
    """Read the options of `slowpath sweep` into a request.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the source or a file of an option cannot be read, or clang is missing.
    """
    file: str = args.file
    definitions = [read_option("-D", parse_definition, text) for text in args.define]
    read_option("-D", check_definitions, definitions)
    if not is_source(file):
        reason = f"{file} is not a C or P4 source (*.c, *.p4)"
        raise OptionError(codes.SWEEP_NOT_C_SOURCE, "FILE", reason)
    names = named_targets(args.target or default_target([file]))
    targets = [read_option("--target", choose_target, name) for name in names]
    for target, name in zip(targets, names, strict=True):
        check_valid(target, name)
    _check_metric(args.metric, targets)
    _check_cores(args.cores, targets)
    _check_entries(args.entries, targets)
    written = written_options(args, [file])
    read_program(file)
    pairs = zip(names, targets, strict=True)
    requests = [read_request([file], _on(written, name, target)) for name, target in pairs]
    receive = written.receive or "test-run"  # measurements use test runs
    counting = written._replace(target="ebpf", metric="instructions", cores=None, receive=receive)
    check_clang(file, requests[0].clang)
    # All requests share one deadline.
    until = requests[0].until
    requests.append(read_request([file], counting))
    *requests, last = (
        one._replace(until=until, clang=one.clang._replace(until=until)) for one in requests
    )
    cache = cache_of(args)
    requests = [one._replace(cache=cache) for one in requests]
    # A measurement needs the path of a new analysis, so earlier results are not used.
    return SweepRequest(file, definitions, requests, last)


def _on(written: WrittenOptions, name: str, target: Target) -> WrittenOptions:
    """Return the options for the target `name`, without those that only other targets support."""
    if target.machine is None:
        written = written._replace(entries=None)
    counters = target.counters
    metric = written.metric if written.metric in (counters or METRICS) else None
    if counters is None:
        return written._replace(target=name, metric=metric or _DEFAULT_RATE, receive=None)
    return written._replace(target=name, metric=metric, cores=None)


def _check_metric(metric: str | None, targets: Sequence[Target]) -> None:
    known = list(dict.fromkeys(one for each in targets for one in each.counters or METRICS))
    if metric is not None and metric not in known:
        reason = f"{metric!r} is not a metric of these targets; they have {', '.join(known)}"
        raise OptionError(codes.UNKNOWN_METRIC, "--metric", reason)


def _check_entries(entries: int | str | None, targets: Sequence[Target]) -> None:
    if entries is not None and all(target.machine is None for target in targets):
        named = ", ".join(target.name for target in targets)
        raise OptionError(
            codes.TARGET_WITHOUT_TIMES,
            "--entries",
            f"{named} does not estimate times; use linux-xdp",
        )


def _check_cores(cores: int | None, targets: Sequence[Target]) -> None:
    if cores is not None and all(target.counters is not None for target in targets):
        named = ", ".join(target.name for target in targets)
        raise OptionError(codes.WRONG_CORE_COUNT, "--cores", f"{named} has no cores; omit --cores")
