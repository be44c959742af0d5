"""Compiles the elements of a configuration, and runs packets through all of it.

An element that does not compile or run, or whose configuration is wrong, becomes missing: the run
starts again without it, and packets that reach it are lost.
"""

import ctypes
import mmap
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError, StoppedError
from slowpath.core.jobs import Message, Stopping
from slowpath.core.programs.sources import Clang
from slowpath.insights.click.addresses import addresses, resolved
from slowpath.insights.click.classes import ClassSource, ClickTree
from slowpath.insights.click.graph import Graph
from slowpath.insights.click.models import MODELS, Model
from slowpath.insights.click.passage import Arrival, Passage
from slowpath.insights.click.processing import UNKNOWN, Directions, Shape, resolve
from slowpath.insights.click.stages import Setting, Stage, make_execution
from slowpath.insights.source.entry import Entry, choose_entry, task_entry
from slowpath.insights.source.sources import Source, load_source
from slowpath.insights.source.unit import CompiledUnit
from slowpath.insights.trace.counting import Counted
from slowpath.insights.trace.failure import SECONDS
from slowpath.insights.trace.packets import arrival_time
from slowpath.insights.trace.problems import coalescing_problem
from slowpath.insights.trace.running import read_packets
from slowpath.insights.trials import Series

_FLAGS = ("-DSLOWPATH_GRAPH", "-DSLOWPATH_PACKETS=64")
"""Flags of clang for elements with neighbours, and the number of packet buffers of each."""
_COMPILERS = 2
_ENDLESS = 1e9
_REPORT_SHARE = 0.25
"""Share of the time that is kept for the report after the last packet."""


class Configured(NamedTuple):
    """A configuration with the sources and ports of its classes."""

    graph: Graph
    classes: Mapping[str, ClassSource]
    """Sources of classes, by name; classes with a model or without a source are not here."""
    models: Mapping[int, Model]
    """Models, by element."""
    directions: Sequence[Directions]
    """Ports, by element."""


class Compiled(NamedTuple):
    """Compiled classes, and the reasons why others did not compile."""

    sources: Mapping[str, Source]
    failed: Mapping[str, str]


def configure(graph: Graph, tree: ClickTree) -> Configured:
    """Find the sources of all classes, and resolve push and pull.

    Raises:
        InputError: when a connection is wrong.
    """
    found, shapes = dict[str, ClassSource](), dict[str, Shape]()
    for kind in {one.kind for one in graph.elements}:
        source = tree.find(kind)
        model = MODELS.get(kind)
        if source is not None:
            shapes[kind] = Shape(source.ports, source.processing, source.flow)
        if model is not None and (source is None or None in shapes[kind]):
            shapes[kind] = model.shape
        if source is not None and model is None:
            found[kind] = source
    models = {at: MODELS[one.kind] for at, one in enumerate(graph.elements) if one.kind in MODELS}
    directions = resolve(graph, {kind: shapes.get(kind, UNKNOWN) for kind in shapes})
    return Configured(graph, found, models, directions)


def compile_classes(configured: Configured, clang: Clang) -> Compiled:
    """Compile the source of each class.

    Raises:
        StoppedError: when the deadline passes.
    """
    compiler = clang._replace(flags=(*_FLAGS, *clang.flags))

    def compiled(one: ClassSource) -> Source | str:
        try:
            flags = (*compiler.flags, *one.flags)
            return load_source(str(one.file), compiler._replace(flags=flags))
        except StoppedError:
            raise
        except InputError as problem:
            return problem.reason

    sources, failed = dict[str, Source](), dict[str, str]()
    with ThreadPoolExecutor(_COMPILERS) as pool:
        kinds = list(configured.classes)
        for kind, made in zip(kinds, pool.map(compiled, configured.classes.values()), strict=True):
            if isinstance(made, str):
                failed[kind] = f"does not compile: {made}"
            else:
                sources[kind] = made
    return Compiled(sources, failed)


class GraphSettings(NamedTuple):
    """The traffic of a configuration, and limits."""

    traffic: Mapping[int, str]
    """Capture file of each source element."""
    packets: int
    """Maximum number of packets of each capture file."""
    fuel: int
    """Maximum number of basic blocks of an element for one packet."""


def arrivals(settings: GraphSettings) -> tuple[list[Arrival], bool]:
    """Return the packets of all sources by time, and true if a file has more packets.

    Raises:
        InputError: when a file cannot be read, or has no packets.
    """
    files = {file: read_packets(file, settings.packets) for file in {*settings.traffic.values()}}
    found = [
        Arrival(element, number, packet, arrival_time(number, packet))
        for element, file in sorted(settings.traffic.items())
        for number, packet in enumerate(files[file][0])
    ]
    found.sort(key=lambda one: (one.nanoseconds, one.element, one.number))
    return found, any(more for _, more in files.values())


def run_graph(
    configured: Configured,
    compiled: Compiled,
    settings: GraphSettings,
    seconds: float | None,
    _stopping: Stopping,
) -> Iterator[Message]:
    """Run packets through a configuration, in the worker process.

    Yields ("missing", element, reason) for each element that does not run, ("counted", element,
    report, coalescing) for the others, and ("passed", facts) at the end.
    """
    until = monotonic() + (_ENDLESS if seconds is None else seconds)
    stages, missing = _stages(configured, compiled)
    if not settings.traffic:
        for at, reason in sorted(missing.items()):
            yield "missing", at, reason
        return
    arriving, more = arrivals(settings)
    passed: dict[str, Any] | None = None
    while stages:
        found = _attempt(configured, stages, arriving, settings, until)
        if isinstance(found, tuple):
            at, reason = found
            missing[at] = reason
            del stages[at]
            continue
        passed = found
        break
    for at, reason in sorted(missing.items()):
        yield "missing", at, reason
    if passed is None:
        return
    ran = [one.packet for one in arriving[: passed["packets"]]]
    for at, stage in stages.items():
        outcome = stage.execution.outcome(passed["stages"][str(at)])
        unit = stage.unit
        counts = Counted(stage.execution, outcome, unit.functions, stage.entry)
        report = counts.report(unit.file, next(iter(settings.traffic.values())), ran, more=more)
        yield (
            "counted",
            at,
            dict(report),
            coalescing_problem(counts, report),
        )
    kept = {key: value for key, value in passed.items() if key != "stages"}
    yield "passed", {**kept, "more": more}


def _stages(configured: Configured, compiled: Compiled) -> tuple[dict[int, Stage], dict[int, str]]:
    """Return the elements that can run, and the reasons why others cannot."""
    graph = configured.graph
    units = dict[str, tuple[CompiledUnit, Entry] | str]()
    stages, missing = dict[int, Stage](), dict[int, str]()
    for at, one in enumerate(graph.elements):
        if at in configured.models:
            continue
        if one.kind not in units:
            units[one.kind] = _unit(one.kind, configured, compiled)
        made = units[one.kind]
        if isinstance(made, str):
            missing[at] = made
            continue
        unit, entry = made
        config = resolved(graph, one)
        try:
            execution = make_execution(unit, entry)
            execution.check_config(config)
        except InputError as problem:
            missing[at] = problem.reason
            continue
        names, directions = addresses(graph, one), configured.directions[at]
        setting = Setting(one.name, config, names, directions)
        stages[at] = Stage(setting, execution, entry, unit)
    return stages, missing


def _unit(
    kind: str, configured: Configured, compiled: Compiled
) -> tuple[CompiledUnit, Entry] | str:
    if kind in compiled.failed:
        return compiled.failed[kind]
    if kind not in compiled.sources:
        return "no source below the folder of --click exports this class"
    unit = CompiledUnit(compiled.sources[kind])
    symbol = configured.classes[kind].symbol
    try:
        entry = choose_entry(unit.file, unit.functions, None, (), symbol)
    except InputError as problem:
        task = task_entry(unit.functions, symbol)
        return problem.reason if task is None else (unit, task)
    return unit, entry


def _attempt(
    configured: Configured,
    stages: Mapping[int, Stage],
    arriving: Sequence[Arrival],
    settings: GraphSettings,
    until: float,
) -> dict[str, Any] | tuple[int, str]:
    """Run all packets; return the counts, or an element that fails with the reason.

    Raises:
        InputError: when packets circle.
        StoppedError: when the time is too short.
    """
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    marker = ctypes.c_int32.from_buffer(memory)
    last = until - _REPORT_SHARE * (until - monotonic())

    def attempt() -> dict[str, Any]:
        passage = Passage(
            configured.graph, configured.directions, stages, configured.models, marker
        )
        failed = passage.prepare(settings.fuel, last)
        if failed is not None:
            return {"failed": failed}
        count = passage.run(arriving)
        return {
            "problem": passage.problem,
            "packets": count,
            "entered": dict(passage.entered),
            "dropped": dict(passage.dropped),
            "waiting": passage.waiting() | {at: one.held() for at, one in stages.items()},
            "stages": {at: one.finish(passage.entered[at]) for at, one in stages.items()},
        }

    series = Series([attempt], SECONDS * (1 + len(stages)), until)
    found = series.first()
    file = configured.graph.file
    if found is None:
        if monotonic() >= until:
            raise StoppedError(
                codes.STOPPED_AT_DEADLINE,
                file,
                "deadline before the last packet; run fewer with --packets",
            )
        at = marker.value
        if at not in stages:
            raise InputError(
                codes.RUN_FAILED,
                file,
                f"the run ended with exit code {series.ended}; run fewer packets with --packets",
            )
        return at, stages[at].execution.why(series.ended, settings.fuel)
    if "failed" in found:
        return found["failed"][0], found["failed"][1]
    if found["problem"] is not None:
        raise InputError(codes.RUN_FAILED, file, found["problem"])
    return found
