"""The commands `slowpath chain bound`, `facts` and `optimize`."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, NamedTuple

from slowpath.bounds.analyst import Session
from slowpath.bounds.options import WrittenOptions, read_request
from slowpath.bounds.progress import WorkWatch, ending
from slowpath.bounds.run import Output, report
from slowpath.chain.documents import ChainReport, Fused, must_not_load
from slowpath.chain.guarantees import GuaranteeRequest, find_guarantees, known_facts
from slowpath.chain.loading import LoadedChain, conditions_of, load_chain, plans_of, targets_of
from slowpath.chain.rehearsal import RehearsalOptions, RewrittenPrograms, rehearse
from slowpath.core import engine
from slowpath.core.engine import chains
from slowpath.core.engine.current_stage import StageProgress
from slowpath.core.engine.errors import MapsFile
from slowpath.core.errors import ExitCode, OptionError
from slowpath.core.formats import Reporter
from slowpath.core.inputs import check_output, read_text, write_bytes, write_error, write_text
from slowpath.core.jobs import Message
from slowpath.core.jobs.isolated_job import IsolatedJob
from slowpath.core.jobs.stopping import Stopping, heeding_signals
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.programs.sources import Clang, provenance
from slowpath.core.terminal import error

_NAME = 15  # maximum length of a program name in the kernel


class ChainOptions(NamedTuple):
    """Options of `slowpath chain facts` and `slowpath chain optimize`."""

    file: str
    mode: Literal["trust", "guard"] | None  # None: only facts
    report: Reporter
    btf: str | None = None
    cflags: tuple[str, ...] = ()
    deadline_seconds: float | None = None
    memory_bytes: int | None = None
    output: Path | None = None  # a folder
    fuse: bool = False
    targets: tuple[str, ...] = ()  # targets of the guarantees
    assumed: tuple[str, ...] = ()  # facts about packets that arrive, in words
    maps: str | None = None  # file with content of frozen maps
    receive: str | None = None  # delivery of packets; None: as on any device
    variables: tuple[str, ...] = ()  # set by the loader, NAME=VALUE
    packets: int = 0  # number of packets to run in the kernel
    html: str | None = None  # file for the page


def find_facts(job: ChainOptions) -> ExitCode:
    """Find facts about packets that arrive at each program of a chain, and print the report.

    Raises:
        InputError: if the chain cannot be read.
    """
    loaded = _load(job)
    _check_outputs(job, loaded)
    found = _rewritten(job, loaded)
    if found is None:
        return ExitCode.UNDECIDED
    report = found.report
    # Write the page first: the reader of stdout may close the pipe early.
    _write_page(job, loaded, found, None)
    job.report.write(report)
    return ExitCode.UNDECIDED if report["stopped"] else ExitCode.FINE


def optimize(job: ChainOptions) -> ExitCode:
    """Rewrite the programs of a chain, write their objects, and print the report.

    Raises:
        OptionError: if the output is not a folder.
        InputError: if the chain cannot be read, or an object cannot be written.
    """
    if job.output is not None and job.output.exists() and not job.output.is_dir():
        raise OptionError("--output", f"{job.output} is no folder")
    loaded = _load(job)
    _check_outputs(job, loaded)
    found = _rewritten(job, loaded)
    if found is None:
        return ExitCode.UNDECIDED
    report = found.report
    members = zip(loaded.chain.members, found.objects, strict=True)
    files = [_write_object(job, name, data) for (name, _, _), data in members]
    whole = _write_object(job, loaded.label, found.fused)
    _write_page(job, loaded, found, (files, whole))
    job.report.write(report, files, whole)
    return ExitCode.UNDECIDED if report["stopped"] else ExitCode.FINE


def _check_outputs(job: ChainOptions, loaded: LoadedChain) -> None:
    """Check that no output overwrites an input or another output.

    Raises:
        OptionError: if an output does.
    """
    folder = Path(job.file).parent
    read = [job.file, *(str(folder / place) for _, place, _ in loaded.chain.members)]
    read += [file for file in (job.maps, job.btf) if file is not None]
    check_output("--html", job.html, read)
    if job.output is None:
        return
    names = [name for name, _, _ in loaded.chain.members]
    for name in names:
        check_output("--output", str(_object_file(job.output, name)), read)
    if job.fuse:
        whole = _object_file(job.output, loaded.label)
        check_output("--output", str(whole), read)
        if loaded.label in names:
            reason = f"{whole} is program {loaded.label}, and all programs as one: rename either"
            raise OptionError("--output", reason)


def _object_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.bpf.o"


def _load(job: ChainOptions) -> LoadedChain:
    clang = Clang(job.cflags, job.deadline_seconds, memory_bytes=job.memory_bytes)
    maps = None if job.maps is None else read_text(job.maps)
    return load_chain(job.file, clang, job.variables, maps)


class _Rewritten(NamedTuple):
    """The report of a chain, and the objects to load instead."""

    report: ChainReport
    objects: list[bytes | None]
    fused: bytes | None
    graphs: str | None  # as JSON


def _rewritten(job: ChainOptions, loaded: LoadedChain) -> _Rewritten | None:
    """Return the report of a chain and its objects, or None if there is no result.

    Raises:
        InputError: if a program cannot be linked.
    """
    kernel = KernelBtf(job.btf)
    btf = kernel.for_program(needed=loaded.needs_kernel)
    name = re.sub(r"\W", "_", loaded.label)[:_NAME] if job.fuse else None
    limits = job.deadline_seconds, job.memory_bytes
    maps = None if job.maps is None else MapsFile(job.maps, read_text(job.maps))
    known = (job.assumed, maps)
    graphs = job.html is not None
    rewriting = chains.Rewriting(job.mode, name, *limits, *known, graphs, job.receive)
    subject = chains.ChainSubject(loaded.file, loaded.chain, loaded.members, btf)
    # Report errors in the targets of devices before any work.
    targets_of(loaded)
    found = list[Message]()
    watch = WorkWatch(job.file, ending(job.deadline_seconds, "--deadline"))

    def take(message: Message) -> None:
        match message:
            case ("doing", *doing):
                watch.take(StageProgress(*doing))
            case _:
                found.append(message)

    def work(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        return chains.rewrite_messages(subject, rewriting, stopping)

    with heeding_signals() as stopping, ExitStack() as stack:
        stack.callback(watch.close)
        with IsolatedJob(job.memory_bytes, work) as errand:
            stopped = errand.run(job.deadline_seconds, stopping, take, watch.look)
        if not found:
            watch.close()
            error(job.file, stopped or "nothing is known")
            return None
        (_, text, objects, fused, covers, graphs) = found[-1]
        head = {"slowpath": engine.version(), **provenance(compiled=loaded.compiled)}
        report: ChainReport = json.loads(text) | head
        # A killed job reports nothing more; keep the report that it sent before.
        report["stopped"] = report["stopped"] or stopped
        for member, conditions in enumerate(conditions_of(loaded)):
            report["programs"][member]["assumptions"] += conditions
        if report["fused"] is not None:
            report["fused"]["assumptions"] = _conditions_of_fused(report, report["fused"])
        guarded = job.mode == "guard"
        what = (subject, loaded, job.packets, guarded, job.deadline_seconds)
        rehearsing = RehearsalOptions(
            *what, frozen=maps, assumed=job.assumed, receive=job.receive, watch=watch
        )
        whole = None if fused is None else chains.FusedObject(*fused)
        tried = RewrittenPrograms(list(zip(objects, covers, strict=True)), whole)
        fused = _rehearse(rehearsing, report, tried, stopping)
        kept = zip(objects, report["programs"], strict=True)
        objects = [None if must_not_load(program["rehearsal"]) else data for data, program in kept]
        starts = known_facts(report["programs"], *known)
        about = GuaranteeRequest(
            subject, loaded, objects, job.targets, *limits, kernel, starts, watch, job.receive
        )
        for program, guarantees in zip(
            report["programs"], find_guarantees(about, stopping), strict=True
        ):
            program["guarantees"] = guarantees
    return _Rewritten(report, objects, fused, graphs)


def _conditions_of_fused(report: ChainReport, fused: Fused) -> list[str]:
    """Return the conditions of all programs and all proofs."""
    proofs = [fused["proof"], *(program["proof"] for program in report["programs"])]
    said = [program["assumptions"] for program in report["programs"]]
    said += [proof["assumptions"] for proof in proofs if proof]
    return sorted({condition for conditions in said for condition in conditions})


def _rehearse(
    rehearsing: RehearsalOptions,
    report: ChainReport,
    rewritten: RewrittenPrograms,
    stopping: Stopping,
) -> bytes | None:
    """Add the rehearsals to the report; return the fused program if it may be loaded."""
    asked = rewritten
    if not rehearsing.packets:
        asked = RewrittenPrograms([(None, "") for _ in rewritten.programs])
    said, whole = rehearse(rehearsing, report["programs"], asked, stopping)
    for program, one in zip(report["programs"], said, strict=True):
        program["rehearsal"] = one
        program["measured_rate_ratio"] = one["rate_ratio"] if one else None
    fused = report["fused"]
    if fused is not None:
        fused["rehearsal"] = whole
        if whole and must_not_load(whole):
            fused["not_written"] = (
                f"the kernel refuses it: {whole['why_not']}"
                if whole["refused"]
                else f"in the kernel, {whole['difference']}"
            )
    if rewritten.fused is None or fused is None or fused["not_written"]:
        return None
    return rewritten.fused.data


def _write_object(job: ChainOptions, name: str, data: bytes | None) -> str | None:
    """Write an object, named after its program; return its path or the reason for none.

    Raises:
        InputError: if the file cannot be written.
    """
    if data is None:
        return None
    if job.output is None:
        return "not written"
    path = _object_file(job.output, name)
    try:
        job.output.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise write_error(str(path), problem) from None
    write_bytes(str(path), data)
    return str(path)


def _write_page(
    job: ChainOptions,
    loaded: LoadedChain,
    found: _Rewritten,
    written: tuple[list[str | None], str | None] | None,
) -> None:
    """Write the page, if requested; `written` has the files of the objects.

    Raises:
        InputError: if the file cannot be written.
    """
    if job.html is None or found.graphs is None:
        return
    from slowpath.chain.page import WrittenFiles, chain_page

    files = None if written is None else WrittenFiles(*written)
    text = chain_page(loaded.label, found.report, json.loads(found.graphs), files)
    write_text(job.html, text)


def bound(file: str, written: WrittenOptions, output: Output) -> ExitCode:
    """Analyse a chain; each device uses its own target.

    Raises:
        OptionError: if an option makes no sense for the target.
        InputError: if the description or an object cannot be read.
    """
    plans = plans_of(file, written, read_request([file], written))
    return report([(request, Session(request, plan)) for request, plan in plans], output)
