"""What a sweep asks of each target: the options, read once."""

from argparse import Namespace
from collections.abc import Sequence
from typing import NamedTuple

from slowpath.analysis.defaults import default_target
from slowpath.analysis.flags import written_options
from slowpath.analysis.options import (
    WrittenOptions,
    check_valid,
    choose_target,
    read_option,
    read_request,
)
from slowpath.analysis.plan import Request
from slowpath.analysis.several import named_targets
from slowpath.cli.errors import OptionError
from slowpath.cli.inputs import read_program
from slowpath.commands.sweep.definitions import Definition, check_definitions, parse_definition
from slowpath.engine.targets import Target
from slowpath.programs.clang import check_clang
from slowpath.programs.sources import is_c
from slowpath.schema.rates import METRICS

_USUAL = "packetrate"
"""The metric of targets that have rates, unless another one is named."""


class Asked(NamedTuple):
    """What to compile with which values, and what to ask of the programs."""

    file: str
    definitions: Sequence[Definition]
    requests: Sequence[Request]  # one for each target
    counting: Request  # of the slowest path by BPF instructions


def read_asked(given: Namespace) -> Asked:
    """What the options ask for.

    Raises:
        OptionError: when one makes no sense.
        InputError: when the source, or a file that an option names, cannot be read, or there is no
            clang.
    """
    file: str = given.file
    definitions = [read_option("-D", parse_definition, text) for text in given.define]
    read_option("-D", check_definitions, definitions)
    if not is_c(file):
        raise OptionError("FILE", f"{file} is no C source (*.c); only these have definitions")
    names = named_targets(given.target or default_target([file]))
    targets = [read_option("--target", choose_target, name) for name in names]
    for target, name in zip(targets, names, strict=True):
        check_valid(target, name)
    _check_metric(given.metric, targets)
    _check_cores(given.cores, targets)
    _check_entries(given.entries, targets)
    written = written_options(given, [file])
    read_program(file)
    pairs = zip(names, targets, strict=True)
    requests = [read_request([file], _on(written, name, target)) for name, target in pairs]
    receive = written.receive or "test-run"  # what is measured is measured there
    counting = written._replace(target="ebpf", metric="instructions", cores=None, receive=receive)
    check_clang(file, requests[0].clang)
    # Time for all of it is counted from one moment.
    until = requests[0].until
    asked = [*requests, read_request([file], counting)]
    asked = [one._replace(until=until, clang=one.clang._replace(until=until)) for one in asked]
    return Asked(file, definitions, asked[:-1], asked[-1])


def _on(written: WrittenOptions, name: str, target: Target) -> WrittenOptions:
    """The options for one of the targets: without what only others have."""
    if target.machine is None:
        written = written._replace(entries=None)
    counters = target.counters
    metric = written.metric if written.metric in (counters or METRICS) else None
    if counters is None:
        return written._replace(target=name, metric=metric or _USUAL, receive=None)
    return written._replace(target=name, metric=metric, cores=None)


def _check_metric(metric: str | None, targets: Sequence[Target]) -> None:
    known = list(dict.fromkeys(one for each in targets for one in each.counters or METRICS))
    if metric is not None and metric not in known:
        reason = f"{metric!r} is no metric of these targets; they have {', '.join(known)}"
        raise OptionError("--metric", reason)


def _check_entries(entries: int | None, targets: Sequence[Target]) -> None:
    if entries is not None and all(target.machine is None for target in targets):
        named = ", ".join(target.name for target in targets)
        raise OptionError("--entries", f"no times are estimated on {named}; linux-xdp has them")


def _check_cores(cores: int | None, targets: Sequence[Target]) -> None:
    if cores is not None and all(target.counters is not None for target in targets):
        named = ", ".join(target.name for target in targets)
        raise OptionError("--cores", f"nothing is a throughput on {named}, there are no cores")
