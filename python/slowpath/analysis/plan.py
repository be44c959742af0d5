"""What there is to analyse: the programs in the files, each with its target and metric."""

import os.path
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath import engine
from slowpath.analysis.selection import (
    Selection,
    choose,
    list_programs,
    nothing_to_choose,
    remark_on,
)
from slowpath.analysis.sources import Clang, load_program
from slowpath.cli.inputs import InputError, StoppedError
from slowpath.schema.rates import METRICS

DEFAULT_TARGET = "agilio-cx-2x40"
"""The target of programs where none is given."""


class OptionError(Exception):
    """A value on the command line that makes no sense."""

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"{option}: {reason}")
        self.option = option
        self.reason = reason


class Task(NamedTuple):
    """One program to analyse, or a file without any."""

    file: str
    object: engine.Object | None  # None: not readable
    size: int  # of the file, in bytes
    program: engine.ProgramInfo | None  # None: a listing, or not readable
    target: engine.Target
    metric: str
    error: str | None  # why there is nothing to analyse
    stopped: bool = False  # whether that is for want of time

    @property
    def label(self) -> str:
        """What the program is called in tables and messages."""
        return self.file if self.program is None else f"{self.file}:{self.program.name}"


class Wishes(NamedTuple):
    """What options say about the choice of targets and metrics."""

    selection: Selection
    target: engine.Target
    metric: str | None
    cores: int | None
    clang: Clang = Clang()


class Plan(NamedTuple):
    """The programs in the order of the files, and remarks: which are left out, or taken for XDP."""

    tasks: list[Task]
    remarks: list[tuple[str, str]]  # file and remark


def make_plan(files: Sequence[str], wishes: Wishes) -> Plan:
    """Reads the files and chooses programs.

    Raises:
        OptionError: when no program is meant, or an option makes no sense for one of them.
    """
    plan = Plan([], [])
    known: list[str] = []
    for file in files:
        plan.tasks.extend(_tasks(file, wishes, plan.remarks, known))
    if wishes.selection and not plan.tasks and known:
        option = "--section" if wishes.selection.sections else "--prog-name"
        reason = f"no program matches {wishes.selection}; there are {', '.join(known)}"
        raise OptionError(option, reason)
    return plan


def _tasks(
    file: str, wishes: Wishes, remarks: list[tuple[str, str]], known: list[str]
) -> Iterator[Task]:
    """The programs of one file; those that were not chosen are added to `known`."""
    try:
        data = load_program(file, wishes.clang)
        found = engine.read_object(file, data)
    except InputError as problem:
        stopped = isinstance(problem, StoppedError)
        yield _failed(file, wishes, problem.reason)._replace(stopped=stopped)
        return
    programs = engine.programs(found)
    if programs is None:
        name, _ = os.path.splitext(os.path.basename(file))
        if wishes.selection.matches("", name):
            yield _task(file, found, len(data), None, wishes)
        else:
            known.append(f"{name} (no section)")
        return
    chosen, others = choose(programs, wishes.selection)
    if not chosen and wishes.selection:
        known.append(list_programs(programs))
        remarks.append((file, f"no program matches {wishes.selection}"))
    elif not chosen:
        yield _failed(file, wishes, nothing_to_choose(others))
    elif others:
        remarks.append((file, f"not XDP, skipped: {list_programs(others, kinds=True)}"))
    for program in chosen:
        remark = remark_on(program)
        if remark is not None:
            remarks.append((file, remark))
        yield _task(file, found, len(data), program, wishes)


def _task(
    file: str,
    found: engine.Object,
    size: int,
    program: engine.ProgramInfo | None,
    wishes: Wishes,
) -> Task:
    target = wishes.target
    counters = target.counters
    if counters is not None:
        _check_count(target, counters, wishes)
    metrics = METRICS if counters is None else counters
    return Task(file, found, size, program, target, wishes.metric or metrics[0], None)


def _check_count(target: engine.Target, counters: list[str], wishes: Wishes) -> None:
    """Refuses what has no meaning on a target that counts.

    Raises:
        OptionError: naming the option.
    """
    what = f"target {target.name} counts {' and '.join(counters)}"
    if wishes.cores is not None:
        raise OptionError("--cores", f"{what}, it has no cores")
    if wishes.metric in METRICS:
        raise OptionError("--metric", f"{what}, there is no {wishes.metric}")


def _failed(file: str, wishes: Wishes, reason: str) -> Task:
    """A file without a program."""
    target = wishes.target
    counters = target.counters
    metrics = METRICS if counters is None else counters
    return Task(file, None, 0, None, target, wishes.metric or metrics[0], reason)
