"""The command `slowpath chain plan`."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from slowpath.analysis.watching import WorkWatch, ending
from slowpath.cli.errors import OptionError
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.inputs import read_program, read_text, write_bytes, write_error
from slowpath.cli.printable import json_line
from slowpath.cli.terminal import error, out, out_lines
from slowpath.commands.chain.loading import load_members
from slowpath.commands.chain.plan.documents import HotSpot, PlanReport
from slowpath.commands.chain.plan.report import plan_report
from slowpath.engine import identity, topologies
from slowpath.engine.meanwhile import Doing
from slowpath.programs.kernel_btf import KernelBtf
from slowpath.programs.sources import Clang, is_c, provenance
from slowpath.schema.provenance import provenance_lines
from slowpath.work.errand import Errand
from slowpath.work.jobs import Message
from slowpath.work.stopping import Stopping, heeding_signals

_GRACE = 2.0
"""Seconds to write down what is known, when the time is over."""


class Planned(NamedTuple):
    """What the command line asks for."""

    file: str
    mode: Literal["trust", "guard"]
    form: Literal["table", "json"]
    neighbours: bool
    variants: int
    budget_seconds: float
    cache: str | None  # a folder
    btf: str | None = None
    cflags: tuple[str, ...] = ()
    memory_bytes: int | None = None
    output: Path | None = None  # a folder


def cache_folder() -> str:
    """Where results are kept: in the user's directory for what can be made again (XDG)."""
    place = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not place.is_absolute():  # what XDG asks: other paths count as not set
        place = Path("~/.cache").expanduser()
    return str(place / "slowpath" / "plan")


def plan(asked: Planned) -> ExitCode:
    """Plans variants of the programs of a topology, and writes their objects.

    Raises:
        OptionError: when the output is no folder.
        InputError: when the description or an object cannot be read, or a variant not be written.
    """
    if asked.output is not None and asked.output.exists() and not asked.output.is_dir():
        raise OptionError("--output", f"{asked.output} is no folder")
    found = _planned(asked)
    if found is None:
        return ExitCode.UNDECIDED
    report, objects = found
    for spot, data in zip(report["hot_spots"], objects, strict=True):
        spot["file"] = _write_object(asked.output, spot, data)
    if asked.form == "json":
        out(json_line(report))
    else:
        out_lines(plan_report(report))
        out_lines(provenance_lines(report))
    return ExitCode.UNDECIDED if report["stopped"] else ExitCode.FINE


def _planned(asked: Planned) -> tuple[PlanReport, list[bytes]] | None:
    """What is known of a topology, and the object of each variant; None if nothing is.

    Raises:
        InputError: when the description or an object cannot be read.
    """
    topology = topologies.read_topology(asked.file, read_text(asked.file))
    clang = Clang(asked.cflags, None, memory_bytes=asked.memory_bytes)
    members = load_members(asked.file, topology, clang)
    needs_kernel = any(member.needs_kernel for member in members)
    kernel = KernelBtf(asked.btf)
    btf = kernel.for_program(needed=needs_kernel)
    types = "" if btf is None else _digest(read_program(kernel.file))
    objects = [(member.object, member.program, _digest(member.data)) for member in members]
    subject = topologies.TopologySubject(asked.file, topology, objects, btf)
    planning = topologies.Planning(
        asked.mode,
        asked.neighbours,
        asked.variants,
        len(os.sched_getaffinity(0)),
        asked.cache,
        f"{identity.build()} {types}",
        _digest(os.fsencode(os.path.realpath(asked.file))),
        asked.budget_seconds,
        asked.memory_bytes,
    )
    found = list[Message]()

    def work(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        return topologies.plan_messages(subject, planning, stopping)

    watch = WorkWatch(asked.file, ending(asked.budget_seconds, "--budget"))

    def take(message: Message) -> None:
        match message:
            case ("doing", *doing):
                watch.take(Doing(*doing))
            case _:
                found.append(message)

    try:
        with heeding_signals() as stopping, Errand(work, asked.memory_bytes) as errand:
            seconds = asked.budget_seconds + _GRACE
            stopped = errand.run(seconds, stopping, take, watch.look)
    finally:
        watch.close()
    if not found:
        error(asked.file, stopped or "nothing is known")
        return None
    (_, text, written) = found[0]
    compiled = any(is_c(place) for _, place, _ in topology.members)
    head = {"slowpath": identity.version(), **provenance(compiled=compiled)}
    report: PlanReport = json.loads(text) | head
    return report, written


def _digest(data: bytes) -> str:
    """Tells the content of a file from others."""
    return hashlib.sha256(data).hexdigest()


def _write_object(output: Path | None, spot: HotSpot, data: bytes) -> str | None:
    """Writes an object, named as its node and variant; its file.

    Raises:
        InputError: when it cannot be written.
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
