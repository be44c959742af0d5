"""Runs the commands `slowpath chain bound`, `facts` and `optimize`."""

import json
import re
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Literal, NamedTuple

from slowpath.bounds.analyst import Session
from slowpath.bounds.flags import written_options
from slowpath.bounds.multi_target import by_target, named_targets
from slowpath.bounds.options import (
    WrittenOptions,
    check_valid,
    choose_target,
    memory_or_share,
    read_option,
    read_options,
    read_request,
)
from slowpath.bounds.plan import Plan, Request
from slowpath.bounds.progress import WorkWatch, ending
from slowpath.bounds.run import Output, report
from slowpath.chain.documents import ChainReport, Fused, must_not_load
from slowpath.chain.guarantees import GuaranteeRequest, find_guarantees, known_facts
from slowpath.chain.loading import (
    LoadedChain,
    check_folder,
    conditions_of,
    load_chain,
    object_file,
    plans_of,
    run_watched,
    targets_of,
    write_object,
)
from slowpath.chain.rehearsal import RehearsalOptions, RewrittenPrograms, rehearse
from slowpath.core import codes, engine
from slowpath.core.engine import MapsFile, chains
from slowpath.core.errors import ExitCode, OptionError, stopped_code
from slowpath.core.formats import Reporter
from slowpath.core.inputs import check_output, check_page, read_text, write_text
from slowpath.core.jobs import Message, Stopping, heeding_signals
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.programs.sources import Clang, provenance
from slowpath.core.terminal import error

_NAME = 15  # maximum length of a program name in the kernel


class ChainOptions(NamedTuple):
    """Options of `slowpath chain facts` and `slowpath chain optimize`."""

    file: str  # chain description, or object of a chain of one program
    btf: str | None  # file with the kernel's types; None: those of the running kernel
    cflags: tuple[str, ...]
    deadline_seconds: float | None
    memory_bytes: int | None
    assumed: tuple[str, ...]  # facts about packets that arrive at the chain, in words
    maps: str | None  # file with content of frozen maps
    receive: str | None  # receiving environment; None: any device
    variables: tuple[str, ...]  # NAME=VALUE, as a loader sets them
    html: str | None  # file for the page
    mode: Literal["trust", "guard"] | None = None  # None: only derive facts
    fuse: bool = False
    targets: tuple[str, ...] = ()  # targets of the guarantees
    output: Path | None = None  # folder for rewritten objects; None: do not write them
    packets: int = 0  # number of packets to run in the kernel


def _read_options(options: Namespace) -> ChainOptions:
    """Read the options that `slowpath chain facts` and `slowpath chain optimize` have in common.

    Raises:
        OptionError: if an option is invalid.
    """
    check_page(options.html)
    # In this command, --maps describes the maps that programs are rewritten for. `written_options`
    # would read it as the option of `slowpath bound`.
    names = vars(options).keys() - {"maps"}
    others = Namespace(**{name: vars(options)[name] for name in names})
    written = written_options(others, [options.chain])
    return ChainOptions(
        options.chain,
        written.btf,
        written.cflags,
        read_options(written).deadline_seconds,
        memory_or_share(written.memory),
        read_option("--fact", chains.check_assumed, options.fact),
        options.maps,
        written.receive,
        written.set,
        options.html,
    )


def _read_targets(names: str | None) -> tuple[str, ...]:
    """Parse the argument of `--target`: names of targets, separated by commas.

    Raises:
        OptionError: if a name is not a target, or occurs twice.
        InputError: if the file of a target is invalid.
    """
    if names is None:
        return ()
    targets = named_targets(names)
    for name in targets:
        check_valid(read_option("--target", choose_target, name), name)
    return tuple(targets)


def find_facts(options: Namespace, reporter: Reporter) -> ExitCode:
    """Run `slowpath chain facts`: find facts about packets that reach each program.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the chain cannot be read.
    """
    started = monotonic()
    request = _read_options(options)
    loaded = _load(request)
    found = _rewrite(request, loaded)
    if found is None:
        return ExitCode.UNDECIDED
    found.report["seconds"] = monotonic() - started
    # Write the page first: the reader of stdout may close the pipe early.
    _write_page(request, loaded, found, None)
    reporter.write(found.report)
    return ExitCode.UNDECIDED if found.report["stopped"] else ExitCode.FINE


def optimize(options: Namespace, reporter: Reporter) -> ExitCode:
    """Run `slowpath chain optimize`: rewrite the programs, write their objects, and report.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the chain cannot be read, or an object cannot be written.
    """
    started = monotonic()
    request = _read_options(options)._replace(
        mode="trust" if options.trust or options.fuse else "guard",
        fuse=options.fuse,
        targets=_read_targets(options.target),
        output=None if options.output is None else Path(options.output),
        packets=max(options.packets, 0),
    )
    check_folder(request.output)
    loaded = _load(request)
    found = _rewrite(request, loaded)
    if found is None:
        return ExitCode.UNDECIDED

    def written(name: str, data: bytes | None) -> str | None:
        """Write an object, and return its path for the report.

        Return `not written` without `--output`, and None if there is no object.
        """
        if data is None or request.output is None:
            return None if data is None else "not written"
        return write_object(request.output, name, data)

    members = zip(loaded.chain.members, found.objects, strict=True)
    files = [written(name, data) for (name, _, _), data in members]
    fused_file = written(loaded.label, found.fused)
    found.report["seconds"] = monotonic() - started
    _write_page(request, loaded, found, (files, fused_file))
    reporter.write(found.report, files, fused_file)
    return ExitCode.UNDECIDED if found.report["stopped"] else ExitCode.FINE


def _load(options: ChainOptions) -> LoadedChain:
    """Load the chain, and check that no output overwrites an input or another output.

    Raises:
        OptionError: if an output would overwrite an input or another output.
        InputError: if the chain cannot be read.
    """
    clang = Clang(options.cflags, options.deadline_seconds, memory_bytes=options.memory_bytes)
    maps = None if options.maps is None else read_text(options.maps)
    loaded = load_chain(options.file, clang, options.variables, maps)
    folder = Path(options.file).parent
    inputs = [options.file, *(str(folder / path) for _, path, _ in loaded.chain.members)]
    inputs += [file for file in (options.maps, options.btf) if file is not None]
    check_output("--html", options.html, inputs)
    if options.output is None:
        return loaded
    names = [name for name, _, _ in loaded.chain.members]
    for name in names:
        check_output("--output", str(object_file(options.output, name)), inputs)
    if options.fuse:
        fused = object_file(options.output, loaded.label)
        check_output("--output", str(fused), inputs)
        if loaded.label in names:
            reason = f"{fused} would hold program {loaded.label} and the fused program; rename one"
            raise OptionError(codes.OUTPUT_IS_INPUT, "--output", reason)
    return loaded


class _Rewritten(NamedTuple):
    """The report on a chain, and the objects of its rewritten programs."""

    report: ChainReport
    objects: list[bytes | None]  # one per program; None: unchanged
    fused: bytes | None  # object of the fused program
    graphs: str | None  # control-flow graphs, as JSON


def _rewrite(options: ChainOptions, loaded: LoadedChain) -> _Rewritten | None:
    """Rewrite the programs of a chain; return the report and the objects.

    If there is no result, print an error and return None.

    Raises:
        InputError: if a program cannot be linked.
    """
    kernel = KernelBtf(options.btf)
    subject = loaded.subject(kernel.for_program(needed=loaded.needs_kernel))
    name = re.sub(r"\W", "_", loaded.label)[:_NAME] if options.fuse else None
    limits = options.deadline_seconds, options.memory_bytes
    maps = None if options.maps is None else MapsFile(options.maps, read_text(options.maps))
    known = (options.assumed, maps)
    with_graphs = options.html is not None
    rewriting = chains.Rewriting(options.mode, name, *limits, *known, with_graphs, options.receive)
    # Report errors in the targets of devices before any work.
    targets_of(loaded)

    def work(stopping: Stopping) -> Iterator[Message]:
        return chains.rewrite_messages(subject, rewriting, stopping)

    with (
        heeding_signals() as stopping,
        closing(WorkWatch(options.file, ending(options.deadline_seconds, "--deadline"))) as watch,
    ):
        message, stopped = run_watched(work, watch, stopping, *limits)
        if message is None:
            watch.close()
            error(stopped_code(stopped), options.file, stopped or "no result")
            return None
        (_, text, objects, fused, covers, graphs) = message
        command = "chain facts" if options.mode is None else "chain optimize"
        head = {**engine.head(command, "chain"), **provenance(compiled=loaded.compiled)}
        report: ChainReport = head | json.loads(text)
        report["engine_seconds"] = report["seconds"]
        # A killed job sends nothing more, so keep the report that it sent before.
        report["stopped"] = report["stopped"] or stopped
        for member, conditions in enumerate(conditions_of(loaded)):
            report["programs"][member]["assumptions"] += conditions
        if report["fused"] is not None:
            report["fused"]["assumptions"] = _conditions_of_fused(report, report["fused"])
        rehearsing = RehearsalOptions(
            subject,
            loaded,
            options.packets,
            guarded=options.mode == "guard",
            seconds=options.deadline_seconds,
            frozen=maps,
            assumed=options.assumed,
            receive=options.receive,
            watch=watch,
        )
        whole = None if fused is None else chains.FusedObject(*fused)
        rewritten = RewrittenPrograms(list(zip(objects, covers, strict=True)), whole)
        fused = _rehearse(rehearsing, report, rewritten, stopping)
        programs = report["programs"]
        objects = [
            None if must_not_load(program["rehearsal"]) else data
            for data, program in zip(objects, programs, strict=True)
        ]
        start = known_facts(programs, *known)
        request = GuaranteeRequest(
            *(subject, loaded, objects, options.targets, *limits, kernel),
            known=start,
            watch=watch,
            receive=options.receive,
        )
        found = find_guarantees(request, stopping)
        for program, guarantees in zip(programs, found, strict=True):
            program["guarantees"] = guarantees
    return _Rewritten(report, objects, fused, graphs)


def _conditions_of_fused(report: ChainReport, fused: Fused) -> list[str]:
    """Return the conditions under which the fused program is correct, each once.

    They are those of all programs of the chain and of all proofs.
    """
    proofs = [fused["proof"], *(program["proof"] for program in report["programs"])]
    assumptions = [program["assumptions"] for program in report["programs"]]
    assumptions += [proof["assumptions"] for proof in proofs if proof]
    return sorted({condition for conditions in assumptions for condition in conditions})


def _rehearse(
    rehearsing: RehearsalOptions,
    report: ChainReport,
    rewritten: RewrittenPrograms,
    stopping: Stopping,
) -> bytes | None:
    """Test rewritten programs in the kernel, and add the results to the report.

    Return the object of the fused program; None if there is none, or it must not be written.
    """
    rehearsed = rewritten
    if not rehearsing.packets:
        rehearsed = RewrittenPrograms([(None, "") for _ in rewritten.programs])
    rehearsals, fused_rehearsal = rehearse(rehearsing, report["programs"], rehearsed, stopping)
    for program, rehearsal in zip(report["programs"], rehearsals, strict=True):
        program["rehearsal"] = rehearsal
        program["measured_rate_ratio"] = rehearsal["rate_ratio"] if rehearsal else None
    fused = report["fused"]
    if fused is not None:
        fused["rehearsal"] = fused_rehearsal
        if fused_rehearsal and must_not_load(fused_rehearsal):
            fused["not_written"] = (
                f"the kernel rejects it: {fused_rehearsal['why_not']}"
                if fused_rehearsal["refused"]
                else f"in the kernel, {fused_rehearsal['difference']}"
            )
    if rewritten.fused is None or fused is None or fused["not_written"]:
        return None
    return rewritten.fused.data


def _write_page(
    options: ChainOptions,
    loaded: LoadedChain,
    found: _Rewritten,
    written: tuple[list[str | None], str | None] | None,
) -> None:
    """Write the HTML page, if it was requested.

    `written` has the object files of all programs, and that of the fused one; None if only facts
    were requested.

    Raises:
        InputError: if the file cannot be written.
    """
    if options.html is None or found.graphs is None:
        return
    from slowpath.chain.page import WrittenFiles, chain_page

    files = None if written is None else WrittenFiles(*written)
    text = chain_page(loaded.label, found.report, json.loads(found.graphs), files)
    write_text(options.html, text)


def bound(file: str, written: WrittenOptions, output: Output) -> ExitCode:
    """Analyse a chain as one program for each target, and report the results.

    `written` has the options of the analysis.
    """
    return report(sessions_of(file, written), output)


def sessions_of(file: str, written: WrittenOptions) -> list[tuple[Request, Session]]:
    """Return the analyses of a chain as one program, one for each target, with their requests.

    The description can state a target for each device, which replaces `--target`.

    Raises:
        OptionError: if an option is invalid for the target.
        InputError: if the description or an object cannot be read.
    """
    plans = list[tuple[Request, Plan]]()
    known = set[tuple[str, str]]()
    until = None
    for options in by_target(written):
        request = read_request([file], options)
        until = until or request.until  # all targets share one deadline
        for one, plan in plans_of(file, options, request._replace(until=until)):
            # A target that the description states for a device does not depend on --target.
            names = {(task.label, task.target) for task in plan.tasks}
            if not names <= known:
                known |= names
                plans.append((one, plan))
    return [(request, Session(request, plan)) for request, plan in plans]
