"""Lists the programs that a request asks to analyse, each with its target and metric."""

import os.path
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from slowpath.bounds.default_target import CARD
from slowpath.core import codes
from slowpath.core.engine import analyses, objects, targets
from slowpath.core.engine.cache import Cache
from slowpath.core.engine.objects import ProgramInfo
from slowpath.core.engine.p4 import P4Program, given_content, translated, translated_pipeline
from slowpath.core.errors import Coded, InputError, OptionError, StoppedError
from slowpath.core.programs.loading import load_program
from slowpath.core.programs.selection import (
    ANALYSED,
    UNKNOWN,
    XDP,
    Selection,
    choose,
    list_programs,
    names_of,
    no_match,
    nothing_to_choose,
    remark_on,
)
from slowpath.core.programs.sources import Clang, is_p4, is_source
from slowpath.core.schema.rates import METRICS, Requirement

if TYPE_CHECKING:
    from slowpath.bounds.requirement import ProgramRequirement


class Request(NamedTuple):
    """The files to analyse, and all options after parsing."""

    files: Sequence[str]
    selection: Selection
    clang: Clang
    target: targets.Target
    description: targets.Description  # of the target
    options: analyses.Options  # metric None: the target's first metric
    btf: str | None  # file with kernel types; None: those of the running kernel
    until: float | None  # total deadline, by the monotonic clock
    requirement: Requirement | None
    accept_assumptions: bool  # true: accept limits that cut loops short
    reproduce: list[str]  # options that repeat the analysis, except target and metric
    option_files: Mapping[str, str]  # file names by option, such as `--assume`
    program_requirements: tuple["ProgramRequirement", ...] = ()  # of the project's settings
    remark: tuple[str, str] | None = None  # on the default target: a file and a text
    cache: Cache | None = None  # kept results of earlier analyses; None: analyse each program

    @property
    def metric(self) -> str:
        """The metric that is guaranteed."""
        return self.options.metric or (self.target.counters or METRICS)[0]


class Task(NamedTuple):
    """One program to analyse. If a file has no program, the task states the error instead."""

    file: str
    object: objects.Object | None  # None: not readable
    size: int  # of the file, in bytes
    program: objects.ProgramInfo | None  # None: a listing, or not readable
    target: str
    metric: str
    error: Coded | None = None  # reason for not having a program to analyse
    stopped: bool = False  # true if the reason is lack of time
    data: bytes | None = None  # content of the file, or compiled object; None: not from a file
    compiled: bool = False  # true: the program was compiled from C
    p4: P4Program | None = None  # source of the program, if it is P4
    conditions: Sequence[str] = ()  # of the translation of P4

    @property
    def label(self) -> str:
        """Label of the program in tables and messages: `FILE:NAME`, or only the file."""
        return self.file if self.program is None else f"{self.file}:{self.program.name}"


class Plan(NamedTuple):
    """The programs to analyse, in the order of the files, and remarks about other programs."""

    tasks: list[Task]
    remarks: list[tuple[str, str]]  # file and remark
    load: "Load" = load_program  # reads the files
    pipelines: bool = False  # true: P4 programs became pipelines of DPDK's software switch


Load = Callable[[str, Clang], bytes]
"""Function that returns the object or listing of a file, after it has compiled C source."""


def make_plan(request: Request, load: Load = load_program) -> Plan:
    """Read the files of a request with `load`, and choose the programs to analyse.

    Raises:
        OptionError: if no program is selected, or an option does not fit the target.
    """
    remarks = [] if request.remark is None else [request.remark]
    plan = Plan([], remarks, load, request.target.runs_pipelines)
    known: list[ProgramInfo] = []
    for file in request.files:
        plan.tasks.extend(_tasks(file, request, load, plan.remarks, known))
    if any(task.error is None for task in plan.tasks):
        _check_count(request)
    selection = request.selection
    if selection and not plan.tasks and known:
        raise no_match(selection, known)
    return plan


def retarget(plan: Plan, request: Request) -> Plan:
    """Change a plan to the target and metric of a request.

    Files are read again only if the target needs another translation of P4 programs.

    Raises:
        OptionError: if an option does not fit the target.
    """
    if plan.pipelines != request.target.runs_pipelines and any(map(is_p4, request.files)):
        return make_plan(request, plan.load)
    if any(task.error is None for task in plan.tasks):
        _check_count(request)
    target, metric = request.target.name, request.metric
    return plan._replace(tasks=[task._replace(target=target, metric=metric) for task in plan.tasks])


def _tasks(
    file: str,
    request: Request,
    load: Load,
    remarks: list[tuple[str, str]],
    known: list[ProgramInfo],
) -> Iterator[Task]:
    """Yield the programs of one file that the request selects.

    Remarks on the file are added to `remarks`. If the selection matches no program of the file, its
    programs are added to `known`, for an error message.
    """
    selection = request.selection
    task = Task(file, None, 0, None, request.target.name, request.metric)
    try:
        pipelines = request.target.runs_pipelines
        data = load(file, request.clang._replace(pipelines=pipelines))
        options = request.options
        found = objects.read_object(file, data)
        if options.set or options.maps is not None:
            found = objects.configured(file, found, options.set, options.maps)
    except InputError as problem:
        stopped = isinstance(problem, StoppedError)
        yield task._replace(error=problem.coded, stopped=stopped)
        return
    is_pipeline = pipelines and is_p4(file)
    compiled = is_source(file) and not is_pipeline
    task = task._replace(object=found, size=len(data), data=data, compiled=compiled)
    made = translated_pipeline(file) if is_pipeline else None
    source = translated(file) if is_p4(file) and not is_pipeline else None
    if made is not None:
        task = task._replace(conditions=made.conditions)
    if source is not None:
        source = source._replace(given=given_content(request.options.maps))
        task = task._replace(p4=source, conditions=source.conditions)
    programs = objects.programs(found)
    if programs is None:
        name, _ = os.path.splitext(os.path.basename(file))
        if selection.matches("", name):
            yield task
        else:
            known.append(ProgramInfo(0, "", name, UNKNOWN, needs_kernel=False))
        return
    # Targets with rates are cards, which run only XDP programs.
    kinds = XDP if request.target.counters is None else ANALYSED
    chosen, others = choose(programs, selection, kinds)
    if not chosen and selection:
        known += programs
        remarks.append((file, f"no program matches {selection}"))
    elif not chosen:
        yield task._replace(error=nothing_to_choose(others, kinds))
    elif others:
        remarks.append(
            (
                file,
                f"skipped, because only {names_of(kinds)} programs are analysed: "
                f"{list_programs(others, kinds=True)}",
            )
        )
    for program in chosen:
        remark = remark_on(program)
        if remark is not None:
            remarks.append((file, remark))
        yield task._replace(program=program)


def _check_count(request: Request) -> None:
    """Check that the request's target supports `--entries`, `--cores` and `--metric`.

    Raises:
        OptionError: if an option does not apply.
    """
    assumed = request.options.entries is not None or request.options.entries_of
    if assumed and request.target.machine is None:
        what = f"target {request.target.name} does not estimate times"
        raise OptionError(
            codes.TARGET_WITHOUT_TIMES, "--entries", f"{what}; use --target linux-xdp"
        )
    counters = request.target.counters
    if counters is None:
        return
    what = f"target {request.target.name} counts {' and '.join(counters)}"
    if request.options.cores is not None:
        raise OptionError(
            codes.WRONG_CORE_COUNT, "--cores", f"{what} and has no cores; use --target {CARD}"
        )
    metric = request.options.metric
    if metric in METRICS:
        raise OptionError(
            codes.UNKNOWN_METRIC, "--metric", f"{what}, not {metric}; use --target {CARD}"
        )
