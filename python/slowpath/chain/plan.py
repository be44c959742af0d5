"""The command `slowpath chain plan`."""

import hashlib
import json
import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from slowpath.bounds.flags import written_options
from slowpath.bounds.options import memory_or_share
from slowpath.bounds.progress import WorkWatch, ending
from slowpath.chain.documents import HotSpot, PlanReport
from slowpath.chain.loading import load_members
from slowpath.chain.report_types import AsIs, GreatestCost
from slowpath.core import engine
from slowpath.core.engine import chains
from slowpath.core.engine.current_stage import StageProgress
from slowpath.core.errors import ExitCode, OptionError
from slowpath.core.formats import Reporter
from slowpath.core.inputs import read_program, read_text, write_bytes, write_error
from slowpath.core.jobs import Message
from slowpath.core.jobs.isolated_job import IsolatedJob
from slowpath.core.jobs.stopping import Stopping, heeding_signals
from slowpath.core.printable import one_line
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.programs.sources import Clang, is_c, provenance, provenance_lines
from slowpath.core.terminal import Line, error, grid

_SHOWN = 20  # maximum number of lines of a kind
_NAMES = 4  # maximum number of nodes in a cell


def plan_report(report: PlanReport) -> Iterator[Line | str]:
    """Yield the text report: variants by decreasing gain, then unchanged programs with reasons."""
    spots = report["hot_spots"]
    if spots:
        numbers = ("traffic", "before", "after", "left", "executes", "now", "gain")
        columns = ("node", "program", "variant", *numbers, "rests on", "object")
        yield from grid(columns, [_row(one) for one in spots], right=numbers, margin="")
    else:
        yield "no variant of any program pays"
    never = [path["never"] for path in report["paths"] if path["never"]]
    yield from _some(never)
    yield from _some([_irrelevant(one) for one in spots if one["irrelevant"]])
    yield from _some([f"{_named(one)}: {text}" for one in spots for text in one["remarks"]])
    yield from _some([_as_is(one) for one in report["as_is"]])
    if report["not_looked_at"]:
        yield one_line(f"not looked at, for lack of time: {', '.join(report['not_looked_at'])}")
    if report["unused"]:
        yield one_line(f"on no path: {', '.join(report['unused'])}")
    yield from _some(sorted({f"if {text}" for one in spots for text in one["assumptions"]}))
    yield from (f"note: {one_line(note)}" for note in report["notes"])
    yield from _ending(report)
    yield from provenance_lines(report)


def _ending(report: PlanReport) -> Iterator[str]:
    results = report["kept"] + report["computed"]
    if report["changed"]:
        names = ", ".join(report["changed"])
        yield one_line(
            f"{names} changed since the last plan: {report['computed']} of {results} results "
            "computed anew"
        )
    else:
        yield f"{results} results: {report['computed']} computed, {report['kept']} from the cache"
    yield f"{report['queries']} questions to the solver, {report['seconds']:.2f} s in all"
    if report["stopped"]:
        yield f"stopped: {one_line(report['stopped'])}"


def _row(one: HotSpot) -> tuple[str, ...]:
    before, guard = one["instructions_before"], one["guard"]
    after = guard["instructions"] if guard else one["instructions_after"]
    return (
        one["node"],
        one["program"],
        one["variant"],
        f"{100 * one['share']:.1f} %",
        str(before),
        str(after),
        f"{100 * after / before:.0f} %" if before else "-",
        _cost(one["cost_before"]),
        _cost(one["cost_after"]),
        "-" if one["gain"] is None else f"{one['gain']:.1f}",
        _names(one["rests_on"]),
        one["file"] or "not written",
    )


def _cost(cost: GreatestCost | None) -> str:
    if cost is None:
        return "-"
    return f"{'' if cost['exact'] else '<= '}{cost['instructions']}"


def _names(names: Sequence[str]) -> str:
    more = len(names) - _NAMES
    shown = ", ".join(names[:_NAMES])
    return f"{shown}, {more} more" if more > 0 else shown or "-"


def _named(one: HotSpot) -> str:
    return f"{one['program']} at {one['node']} ({one['variant']})"


def _irrelevant(one: HotSpot) -> str:
    nodes = one["irrelevant"]
    are = "is" if len(nodes) == 1 else "are"
    return f"{_named(one)}: {_names(nodes)} {are} irrelevant, nothing from there is used"


def _as_is(one: AsIs) -> str:
    from_where = _names(one["ingresses"])
    why = "; ".join(one["why"])
    return f"{one['program']} at {one['node']} stays as it was for packets from {from_where}: {why}"


def _some(lines: Sequence[str]) -> Iterator[str]:
    """Yield the first lines, then the number of omitted ones."""
    yield from (one_line(text) for text in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"{len(lines) - _SHOWN} more like that; --format json has all"


_GRACE = 2.0
"""Extra seconds after the budget, to write the results found so far."""


class PlanOptions(NamedTuple):
    """Options of `slowpath chain plan`."""

    file: str
    mode: Literal["trust", "guard"]
    neighbours: bool
    variants: int
    budget_seconds: float
    cache: str | None  # a folder
    btf: str | None = None
    cflags: tuple[str, ...] = ()
    memory_bytes: int | None = None
    output: Path | None = None  # a folder


def cache_folder() -> str:
    """Return the default folder for cached results, in the user's cache directory (XDG)."""
    place = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not place.is_absolute():  # XDG: ignore relative paths
        place = Path("~/.cache").expanduser()
    return str(place / "slowpath" / "plan")


def plan(asked: PlanOptions, reporter: Reporter) -> ExitCode:
    """Plan variants of the programs of a topology, and write their objects.

    Raises:
        OptionError: if the output is not a folder.
        InputError: if the description or an object cannot be read, or a variant cannot be written.
    """
    if asked.output is not None and asked.output.exists() and not asked.output.is_dir():
        raise OptionError("--output", f"{asked.output} is no folder")
    found = _planned(asked)
    if found is None:
        return ExitCode.UNDECIDED
    report, objects = found
    for spot, data in zip(report["hot_spots"], objects, strict=True):
        spot["file"] = _write_object(asked.output, spot, data)
    reporter.write(report)
    return ExitCode.UNDECIDED if report["stopped"] else ExitCode.FINE


def _planned(asked: PlanOptions) -> tuple[PlanReport, list[bytes]] | None:
    """Return the plan and the object of each variant, or None if there is no result.

    Raises:
        InputError: if the description or an object cannot be read.
    """
    topology = chains.read_topology(asked.file, read_text(asked.file))
    clang = Clang(asked.cflags, None, memory_bytes=asked.memory_bytes)
    members = load_members(asked.file, topology, clang)
    needs_kernel = any(member.needs_kernel for member in members)
    kernel = KernelBtf(asked.btf)
    btf = kernel.for_program(needed=needs_kernel)
    types = "" if btf is None else _digest(read_program(kernel.file))
    objects = [(member.object, member.program, _digest(member.data)) for member in members]
    subject = chains.TopologySubject(asked.file, topology, objects, btf)
    planning = chains.Planning(
        asked.mode,
        asked.neighbours,
        asked.variants,
        len(os.sched_getaffinity(0)),
        asked.cache,
        f"{engine.build()} {types}",
        _digest(os.fsencode(os.path.realpath(asked.file))),
        asked.budget_seconds,
        asked.memory_bytes,
    )
    found = list[Message]()

    def work(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        return chains.plan_messages(subject, planning, stopping)

    watch = WorkWatch(asked.file, ending(asked.budget_seconds, "--budget"))

    def take(message: Message) -> None:
        match message:
            case ("doing", *doing):
                watch.take(StageProgress(*doing))
            case _:
                found.append(message)

    try:
        with heeding_signals() as stopping, IsolatedJob(asked.memory_bytes, work) as errand:
            seconds = asked.budget_seconds + _GRACE
            stopped = errand.run(seconds, stopping, take, watch.look)
    finally:
        watch.close()
    if not found:
        error(asked.file, stopped or "nothing is known")
        return None
    (_, text, written) = found[0]
    compiled = any(is_c(place) for _, place, _ in topology.members)
    head = {"slowpath": engine.version(), **provenance(compiled=compiled)}
    report: PlanReport = json.loads(text) | head
    return report, written


def _digest(data: bytes) -> str:
    """Return a digest that identifies the content of a file."""
    return hashlib.sha256(data).hexdigest()


def _write_object(output: Path | None, spot: HotSpot, data: bytes) -> str | None:
    """Write an object, named after its node and variant, and return its path.

    Raises:
        InputError: if the object cannot be written.
    """
    if output is None:
        return None
    path = output / f"{spot['node']}.{spot['variant']}.bpf.o"
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise write_error(str(path), problem) from None
    write_bytes(str(path), data)
    return str(path)


def make_plan_options(given: Namespace) -> PlanOptions:
    """Build the plan request from the options.

    Raises:
        OptionError: if an option makes no sense.
    """
    if given.cache is not None and given.no_cache:
        raise OptionError("--no-cache", "--cache says where results are kept")
    written = written_options(given, [given.topology])
    return PlanOptions(
        file=given.topology,
        mode="trust" if given.trust else "guard",
        neighbours=given.neighbours,
        variants=given.variants,
        budget_seconds=given.budget,
        cache=None if given.no_cache else given.cache or cache_folder(),
        btf=written.btf,
        cflags=written.cflags,
        memory_bytes=memory_or_share(written.memory),
        output=None if given.output is None else Path(given.output),
    )
