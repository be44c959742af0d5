"""Runs the command `slowpath chain plan`, which plans program variants for a network topology."""

import hashlib
import json
import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Literal, NamedTuple

from slowpath.bounds.caching import cache_of
from slowpath.bounds.flags import written_options
from slowpath.bounds.options import memory_or_share
from slowpath.bounds.progress import WorkWatch, ending
from slowpath.chain.documents import HotSpot, PlanReport
from slowpath.chain.loading import check_folder, load_members, run_watched, write_object
from slowpath.chain.report_types import AsIs, GreatestCost
from slowpath.core import engine
from slowpath.core.engine import chains
from slowpath.core.engine.cache import Cache
from slowpath.core.errors import ExitCode, stopped_code
from slowpath.core.formats import Reporter
from slowpath.core.inputs import read_program, read_text
from slowpath.core.jobs import Message, Stopping, heeding_signals
from slowpath.core.printable import one_line
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.programs.sources import Clang, is_source, provenance, provenance_lines
from slowpath.core.terminal import Line, error, grid

_SHOWN = 20  # maximum number of lines in each part of the report
_NAMES = 4  # maximum number of nodes in a cell


def plan_report(report: PlanReport) -> Iterator[Line | str]:
    """Yield the lines of a text report: variants by decreasing gain, then unchanged programs.

    A variant is a program that is rewritten for some of the packets that arrive at a node.
    """
    spots = report["hot_spots"]
    if spots:
        numbers = ("traffic", "before", "after", "left", "executes", "now", "gain")
        columns = ("node", "program", "variant", *numbers, "rests on", "object")
        yield from grid(columns, [_row(one) for one in spots], right=numbers, margin="")
    else:
        yield "no variant pays off"
    never = [path["never"] for path in report["paths"] if path["never"]]
    yield from _first_lines(never)
    yield from _first_lines([_irrelevant(one) for one in spots if one["irrelevant"]])
    yield from _first_lines([f"{_title(one)}: {text}" for one in spots for text in one["remarks"]])
    yield from _first_lines([_as_is(one) for one in report["as_is"]])
    if report["not_looked_at"]:
        yield one_line(f"not planned, for lack of time: {', '.join(report['not_looked_at'])}")
    if report["unused"]:
        yield one_line(f"not on any path: {', '.join(report['unused'])}")
    yield from _first_lines(sorted({f"if {text}" for one in spots for text in one["assumptions"]}))
    yield from (f"note: {one_line(note)}" for note in report["notes"])
    yield from _ending(report)
    yield from provenance_lines(report)


def _ending(report: PlanReport) -> Iterator[str]:
    results = report["kept"] + report["computed"]
    if report["changed"]:
        names = ", ".join(report["changed"])
        yield one_line(
            f"{names} changed since the last plan: {report['computed']} of {results} results "
            "recomputed"
        )
    else:
        yield f"{results} results: {report['computed']} computed, {report['kept']} from the cache"
    yield f"{report['queries']} solver queries, {report['seconds']:.2f} s in all"
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


def _title(one: HotSpot) -> str:
    return f"{one['program']} at {one['node']} ({one['variant']})"


def _irrelevant(one: HotSpot) -> str:
    nodes = one["irrelevant"]
    are = "is" if len(nodes) == 1 else "are"
    return (
        f"{_title(one)}: {_names(nodes)} {are} irrelevant, because the plan uses no fact from there"
    )


def _as_is(one: AsIs) -> str:
    ingresses, reasons = _names(one["ingresses"]), "; ".join(one["why"])
    subject = f"{one['program']} at {one['node']}"
    return f"{subject} stays unchanged for packets from {ingresses}: {reasons}"


def _first_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the first `_SHOWN` lines, then the number of omitted lines."""
    yield from (one_line(text) for text in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"{len(lines) - _SHOWN} more; --format json lists all"


_DEADLINE, _UNLIMITED = 60.0, 1e9
"""Default deadline in seconds, and the deadline in place of `--deadline 0` (no limit)."""
_GRACE = 2.0
"""Time in seconds that a worker gets after the deadline to send the results found so far."""


class PlanOptions(NamedTuple):
    """Options of `slowpath chain plan`."""

    file: str
    mode: Literal["trust", "guard"]
    neighbours: bool
    variants: int
    budget_seconds: float
    cache: Cache | None  # kept results; None: compute all
    btf: str | None  # file with the kernel's types; None: those of the running kernel
    cflags: tuple[str, ...]
    memory_bytes: int | None
    output: Path | None  # folder for the objects of variants; None: do not write them


def plan(options: Namespace, reporter: Reporter) -> ExitCode:
    """Plan variants of the programs of a topology, write their objects, and print the report.

    A variant is a program that is rewritten for some of the packets that arrive at a node.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the description or an object cannot be read, or a variant cannot be written.
    """
    started = monotonic()
    request = make_plan_options(options)
    check_folder(request.output)
    found = _find_variants(request)
    if found is None:
        return ExitCode.UNDECIDED
    report, objects = found
    for spot, data in zip(report["hot_spots"], objects, strict=True):
        spot["file"] = None
        if request.output is not None:
            name = f"{spot['node']}.{spot['variant']}"
            spot["file"] = write_object(request.output, name, data)
    report["seconds"] = monotonic() - started
    reporter.write(report)
    return ExitCode.UNDECIDED if report["stopped"] else ExitCode.FINE


def _find_variants(options: PlanOptions) -> tuple[PlanReport, list[bytes]] | None:
    """Return the report, and the object of each program variant; None if there is no result.

    Raises:
        InputError: if the description or an object cannot be read.
    """
    topology = chains.read_topology(options.file, read_text(options.file))
    clang = Clang(options.cflags, None, memory_bytes=options.memory_bytes)
    members = load_members(options.file, topology, clang)
    needs_kernel = any(member.needs_kernel for member in members)
    kernel = KernelBtf(options.btf)
    btf = kernel.for_program(needed=needs_kernel)
    types = "" if btf is None else _digest(read_program(kernel.file))
    objects = [(member.object, member.program, _digest(member.data)) for member in members]
    subject = chains.TopologySubject(options.file, topology, objects, btf)
    planning = chains.Planning(
        options.mode,
        options.neighbours,
        options.variants,
        len(os.sched_getaffinity(0)),
        None if options.cache is None else options.cache.folder,
        "" if options.cache is None else f"{options.cache.engine} {types}",
        _digest(os.fsencode(os.path.realpath(options.file))),
        options.budget_seconds,
        options.memory_bytes,
    )

    def work(stopping: Stopping) -> Iterator[Message]:
        return chains.plan_messages(subject, planning, stopping)

    seconds = options.budget_seconds + _GRACE
    with (
        heeding_signals() as stopping,
        closing(WorkWatch(options.file, ending(options.budget_seconds, "--deadline"))) as watch,
    ):
        planned, stopped = run_watched(work, watch, stopping, seconds, options.memory_bytes)
    if planned is None:
        error(stopped_code(stopped), options.file, stopped or "nothing is known")
        return None
    (_, text, variants) = planned
    compiled = any(is_source(path) for _, path, _ in topology.members)
    head = {**engine.head("chain plan", "plan"), **provenance(compiled=compiled)}
    report: PlanReport = head | json.loads(text)
    return report, variants


def _digest(data: bytes) -> str:
    """Return the SHA-256 digest of a file's content, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def make_plan_options(options: Namespace) -> PlanOptions:
    """Read the options of `slowpath chain plan` from the command line.

    Raises:
        OptionError: if an option is invalid.
    """
    cache = cache_of(options)
    written = written_options(options, [options.topology])
    return PlanOptions(
        file=options.topology,
        mode="trust" if options.trust else "guard",
        neighbours=options.neighbours,
        variants=options.variants,
        budget_seconds=_DEADLINE if options.deadline is None else options.deadline or _UNLIMITED,
        cache=cache,
        btf=written.btf,
        cflags=written.cflags,
        memory_bytes=memory_or_share(written.memory),
        output=None if options.output is None else Path(options.output),
    )
