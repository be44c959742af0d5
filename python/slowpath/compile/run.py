"""Runs the command `slowpath compile`: compiles BPF programs, and translates P4 programs."""

import json
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from slowpath.bounds.caching import without_limits
from slowpath.bounds.default_target import CARD
from slowpath.bounds.flags import cflags
from slowpath.bounds.multi_target import one_target
from slowpath.bounds.options import (
    WrittenOptions,
    check_not_a_program,
    find_target,
    memory_or_share,
    read_option,
    read_options,
)
from slowpath.bounds.outcomes import note_on
from slowpath.compile.report import judge, undecided, verdict
from slowpath.core import codes, engine
from slowpath.core.engine import MapsFile, analyses, as_text, objects, targets
from slowpath.core.engine.cache import Cache, digest
from slowpath.core.errors import ExitCode, InputError, OptionError, stopped_code
from slowpath.core.formats import Reporter, write_lines
from slowpath.core.inputs import read_text
from slowpath.core.jobs import Message, Stopping, heeding_signals
from slowpath.core.jobs.isolated_job import IsolatedJob
from slowpath.core.programs.loading import KernelBtf, load_program
from slowpath.core.programs.selection import (
    Selection,
    choose,
    list_programs,
    no_match,
    nothing_to_choose,
    remark_on,
)
from slowpath.core.programs.sources import (
    Clang,
    is_p4,
    is_source,
    not_an_object,
    provenance,
    provenance_lines,
)
from slowpath.core.schema.compiled import Compiled, Verification
from slowpath.core.terminal import Line, complain, error, note


class Job(NamedTuple):
    """A request to compile one BPF program for a SmartNIC."""

    file: str
    selection: Selection
    target: targets.Target
    description: targets.Description  # of the target
    btf: str | None
    output: str | None
    report: Reporter  # gets `Compiled` for the format `listing`, else the whole document
    source: bool  # true: add source lines to the listing
    options: analyses.Options
    verify: bool
    cflags: tuple[str, ...] = ()
    cache: Cache | None = None  # kept results of earlier runs; None: compile again


def compile_object(job: Job) -> ExitCode:
    """Compile a BPF program for a SmartNIC, verify it if requested, and print the results.

    Raises:
        OptionError: if an option is invalid, or does not select exactly one program.
        InputError: if the object cannot be read, the card cannot run the program, or the output
            cannot be written.
    """
    _check_target(job.target)
    btf = KernelBtf(job.btf)
    options = job.options
    clang = Clang(job.cflags, options.deadline_seconds, memory_bytes=options.memory_bytes)
    data = load_program(job.file, clang)
    found = objects.read_object(job.file, data)
    program, notes = _one_program(job, data, found)
    types = btf.for_program(needed=program.needs_kernel)
    subject = objects.Subject(job.file, found, program.number, types)
    results = _Results(job)
    types_digest = btf.digest(needed=program.needs_kernel)
    kept = _Kept(job, [digest(data), program.number, types_digest])
    stopped: str | None = None
    if not kept.take(results.take):
        with heeding_signals() as stopping:
            stopped = _work(job, subject, stopping, kept.keeping(results.take))
    if results.compiled is None:
        error(stopped_code(stopped), job.file, stopped or "not compiled")
        return ExitCode.UNDECIDED
    if job.report.format == "listing":
        for made in provenance_lines(provenance(compiled=is_source(job.file))):
            note(made.text)
    compiled, verification = results.compiled, results.verification
    if job.verify and verification is None:
        verification = undecided(stopped or "no result")
    if job.report.format == "json" or job.report.keeper is not None:
        document = _document(job, compiled, verification, notes)
        write_lines(job.report(document, source=job.source), job.output)
    if verification is None:
        return ExitCode.FINE
    for line in verdict(verification):
        complain(line)
    return judge(verification)


class _Kept:
    """Cache of the results of a compilation and its verification, in the form of messages.

    A finished compilation is always stored. A verification is stored only if it proved the program:
    otherwise time limits may have ended single proofs.
    """

    def __init__(self, job: Job, subject: Sequence[object]) -> None:
        """Prepare the cache for a job; `subject` identifies the program.

        Results are found again only if everything that they depend on is equal.
        """
        self._cache = job.cache
        self._kinds = ("compiled", "verified") if job.verify else ("compiled",)
        target = [as_text(job.description.name), job.description.text]
        self._parts = [as_text(job.file), subject, target, without_limits(job.options)]

    def take(self, take: Callable[[Message], None]) -> bool:
        """Pass the cached results to `take` and return true; return false if one is missing."""
        if self._cache is None:
            return False
        found = list[Message]()
        for kind in self._kinds:
            texts = self._cache.find(self._cache.key(kind, self._parts), 1)
            if texts is None or not _is_json(texts[0]):
                return False
            found.append((kind, *texts))
        for message in found:
            take(message)
        return True

    def keeping(self, take: Callable[[Message], None]) -> Callable[[Message], None]:
        """Return a function that passes results to `take`, and caches complete ones."""

        def taking(message: Message) -> None:
            take(message)
            kind, text = message
            if self._cache is None:
                return
            if kind == "compiled" or json.loads(text)["proved"]:
                self._cache.keep(self._cache.key(kind, self._parts), [text])
                self._cache.prune()

        return taking


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class _Results:
    """Collector of the results of compilation and verification, which arrive as messages."""

    def __init__(self, job: Job) -> None:
        self.compiled: Compiled | None = None
        self.verification: Verification | None = None
        self._job = job

    def take(self, message: Message) -> None:
        """Store the result in a message. A listing is printed at once."""
        match message:
            case ("compiled", text):
                self.compiled = compiled = _compiled(text)
                job = self._job
                if job.report.format == "listing" and job.report.keeper is None:
                    write_lines(job.report(compiled, source=job.source), job.output)
                for deviation in compiled["deviations"]:
                    complain(f"note: {self._job.file}: {deviation}")
            case ("verified", text):
                self.verification = json.loads(text)


def _compiled(text: str) -> Compiled:
    compiled: Compiled = json.loads(text)
    return compiled


def _work(
    job: Job,
    subject: objects.Subject,
    stopping: Stopping,
    take: Callable[[Message], None],
) -> str | None:
    """Compile and verify in a worker process, and pass results to `take`.

    Return the reason if the work ended early, else None.

    Raises:
        InputError: if the object cannot be read, or the card cannot run the program.
    """

    def work(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        return analyses.compile_messages(
            subject, job.target, job.options, stopping, verify=job.verify
        )

    with IsolatedJob(job.options.memory_bytes, work) as isolated:
        return isolated.run(job.options.deadline_seconds, stopping, take)


def _check_target(target: targets.Target) -> None:
    """Check that a target is valid, and that it is a SmartNIC for which slowpath can compile.

    Raises:
        OptionError: if the target runs BPF instructions directly.
        InputError: if the target's description has problems.
    """
    for problem in target.problems():
        raise InputError(codes.TARGET_FILE_INVALID, target.name, problem)
    if target.compiles:
        return
    able = [n for n in targets.target_names() if targets.builtin_target(n).compiles]
    reason = f"target {target.name} runs BPF instructions without compilation"
    raise OptionError(
        codes.CARD_NOT_COMPILABLE, "--target", f"{reason}; slowpath compiles for {', '.join(able)}"
    )


def _one_program(
    job: Job, data: bytes, found: objects.Object
) -> tuple[objects.ProgramInfo, list[str]]:
    """Return the program of an object that the options select, and the notes printed about it.

    `data` is the content of the file.

    Raises:
        OptionError: if no program or several programs are selected.
        InputError: if the file is not an object, or has no XDP program.
    """
    programs = objects.programs(found)
    if programs is None:
        wrong = not_an_object(data)
        raise InputError(wrong.code, job.file, wrong)
    chosen, others = choose(programs, job.selection)
    if len(chosen) == 1:
        remark = remark_on(chosen[0])
        return chosen[0], [] if remark is None else [note_on(job.file, remark)]
    if chosen:
        there_are = f"{job.file} has several programs: {list_programs(chosen)}"
        raise OptionError(
            codes.PROGRAM_NOT_CHOSEN,
            job.selection.option,
            f"{there_are}; select one with --prog-name NAME",
        )
    if job.selection:
        raise no_match(job.selection, programs)
    raise InputError(codes.OBJECT_WITHOUT_PROGRAMS, job.file, nothing_to_choose(others))


def _document(
    job: Job, compiled: Compiled, verification: Verification | None, notes: list[str]
) -> dict[str, object]:
    return {
        **engine.head("compile", "compile"),
        **provenance(compiled=is_source(job.file)),
        "notes": notes,
        "target": job.target.name,
        **compiled,
        "verification": verification,
    }


class Output(NamedTuple):
    """Options of `slowpath compile` about its output."""

    file: str | None
    report: Reporter
    source: bool  # true: add source lines to the listing
    verify: bool


def _card(named: str | None) -> str:
    return CARD if named is None else one_target(named, "a listing is for one card")


def make_job(file: str, written: WrittenOptions, output: Output, cache: Cache | None = None) -> Job:
    """Read the options of `slowpath compile` into a request.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file that an option names cannot be read.
    """
    if output.file is not None:
        read_option("--output", lambda path: check_not_a_program(path, [file]), output.file)
    if output.source and output.report.format == "json":
        raise OptionError(
            codes.OPTION_WITHOUT_EFFECT,
            "--source",
            ("has no effect, because --format json always includes the source lines; omit it"),
        )
    memory = memory_or_share(written.memory)
    description = read_option("--target", find_target, _card(written.target))
    return Job(
        file=file,
        selection=written.selection,
        target=targets.target_of(description),
        description=description,
        btf=written.btf,
        output=None if output.file is None else str(PurePath(output.file)),
        report=output.report,
        source=output.source,
        options=read_options(written)._replace(memory_bytes=memory),
        verify=output.verify,
        cflags=written.cflags,
        cache=cache,
    )


_FOR_LISTINGS = ("target", "section", "prog_name", "map_abi", "btf", "mtu", "source")
"""Options that apply only to listings, by their names in the parsed arguments. Each is false if the
user omits the option.
"""


def write_translation(args: Namespace) -> ExitCode:
    """Translate a P4 program to C for XDP or to an SWX pipeline, and write the result.

    It is written to standard output, or to the file of `--output`.

    Raises:
        OptionError: if the file is not P4, or an option has no effect.
        InputError: if the program has faults, or a file cannot be read or written.
    """
    if not is_p4(args.file):
        reason = f"{args.file} is not a P4 program (*.p4), the only source of {args.to}"
        raise OptionError(codes.OPTION_WITHOUT_EFFECT, "--to", reason)
    if args.verify:
        reason = "the option compares listings, and --to writes none; omit the option"
        raise OptionError(codes.CONFLICTING_OPTIONS, "--verify", reason)
    for name in _FOR_LISTINGS:
        if getattr(args, name):
            option = f"--{name.replace('_', '-')}"
            reason = f"has no effect with --to {args.to}, which writes no listing; omit it"
            raise OptionError(codes.OPTION_WITHOUT_EFFECT, option, reason)
    if args.format == "json":
        reason = f"--to {args.to} writes only text; omit the option"
        raise OptionError(codes.CONFLICTING_OPTIONS, "--format", reason)
    flags = cflags(args, [args.file])
    if args.maps is not None and args.to != "swx":
        reason = f"has no effect with --to {args.to}; pass the entries to slowpath bound --maps"
        raise OptionError(codes.OPTION_WITHOUT_EFFECT, "--maps", reason)
    if args.to == "swx":
        return _write_pipeline(args, flags)
    from slowpath.core.programs.p4 import to_c

    write_lines(_lines(to_c(args.file, flags)), args.output)
    return ExitCode.FINE


def _lines(text: str) -> list[Line]:
    """Return the lines of a C or SWX text, which end only at newlines."""
    return [Line(one) for one in text.removesuffix("\n").split("\n")]


def _write_pipeline(args: Namespace, flags: Sequence[str]) -> ExitCode:
    """Write the SWX pipeline of a P4 program, and files with the entries of its tables.

    Raises:
        OptionError: if there are entries of `--maps`, but no file name for the pipeline.
        InputError: if the program or an entry has a fault, or a file cannot be read or written.
    """
    if args.maps is not None and args.output is None:
        reason = "the option writes entries to files beside the pipeline; add --output FILE.spec"
        raise OptionError(codes.OPTION_NEEDS_OPTION, "--maps", reason)
    from slowpath.core.programs.p4 import swx_entries, to_swx

    pipeline = to_swx(args.file, flags)
    maps = None if args.maps is None else MapsFile(args.maps, read_text(args.maps))
    entries, spec = swx_entries(args.file, flags, maps)
    for condition in pipeline.conditions:
        complain(f"note: {args.file}: the pipeline does the same as the program if {condition}")
    write_lines(_lines(spec), args.output)
    for table, is_default in dict.fromkeys((one.table, one.is_default) for one in entries):
        word = "default" if is_default else "add"
        command = f"pipeline PIPELINE table {table} {word}"
        if args.output is None:
            complain(f"note: {args.file}: entries of {table} are not written without --output")
            continue
        file = str(Path(args.output).with_suffix(f".{table}.{word}.txt"))
        lines = [one for one in entries if (one.table, one.is_default) == (table, is_default)]
        write_lines([Line(one.text) for one in lines], file)
        count = f"{len(lines)} entr{'y' if len(lines) == 1 else 'ies'}"
        complain(f"note: {file}: {count}; DPDK loads them with '{command} {file}'")
    return ExitCode.FINE
