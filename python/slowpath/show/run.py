"""Runs the command `slowpath show`."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from slowpath.bounds.options import check_page_file
from slowpath.bounds.outcomes import note_on
from slowpath.core import codes, engine
from slowpath.core.engine import as_text, objects
from slowpath.core.engine.cache import Cache, digest
from slowpath.core.errors import Coded, ExitCode, InputError, stopped_code, worst
from slowpath.core.formats import Reporter, json_items, stream_lines
from slowpath.core.inputs import write_text
from slowpath.core.jobs import Message, Stopping, heeding_signals
from slowpath.core.jobs.isolated_job import IsolatedJob
from slowpath.core.programs.loading import KernelBtf, load_program
from slowpath.core.programs.selection import Selection, no_match
from slowpath.core.programs.sources import (
    Clang,
    is_p4,
    is_source,
    not_an_object,
    provenance,
    provenance_lines,
)
from slowpath.core.schema.shown import BpfObject, Program
from slowpath.core.terminal import Line, error
from slowpath.show.report import object_report


class ShowOptions(NamedTuple):
    """Options for showing the content of BPF objects."""

    selection: Selection
    report: Reporter
    listing: bool
    deadline: float  # seconds for the loops of one program
    memory: int | None  # bytes for one object
    cflags: tuple[str, ...] = ()
    cache: Cache | None = None  # kept results of earlier runs
    html: str | None = None  # file for the page


class _Chosen(NamedTuple):
    """The selected programs of one file, or the reason why there are none."""

    file: str
    object: objects.Object | None
    digest: str  # of the content
    programs: list[objects.ProgramInfo]
    error: Coded | None


def show_objects(files: Sequence[str], options: ShowOptions, btf: str | None) -> ExitCode:
    """Describe all objects in files; a failure of one object does not stop the others.

    `btf` is a file with kernel types; None stands for those of the running kernel.

    Raises:
        InputError: if the kernel types in the file `btf` cannot be read.
        OptionError: if no object has a selected program.
    """
    if options.html is not None:
        check_page_file(options.html, files)
    types = KernelBtf(btf)
    clang = Clang(options.cflags, memory_bytes=options.memory)
    chosen, notes = _choose(files, options.selection, clang)
    with heeding_signals() as stopping:
        return _show(chosen, notes, options, types, stopping)


def _show(
    chosen: Sequence[_Chosen],
    notes: list[str],
    options: ShowOptions,
    btf: KernelBtf,
    stopping: Stopping,
) -> ExitCode:
    codes, found = list[ExitCode](), list[BpfObject]()
    # The page needs the instructions even if the report does not.
    everything = options._replace(listing=options.listing or options.html is not None)

    def objects() -> Iterator[BpfObject]:
        for choice in chosen:
            shown = _shown(choice, everything, btf, stopping)
            if is_p4(choice.file):
                shown = {**shown, "license": None}  # the translation's, not the user's
            if options.html is not None:
                found.append(shown)
            yield shown if options.listing else _without_listing(shown)
            codes.append(_judge(choice.file, shown))

    compiled = any(is_source(one.file) and one.object is not None for one in chosen)
    head = {**engine.head("show", "show"), **provenance(compiled=compiled), "notes": notes}
    stream_lines(options.report(head, objects(), listing=options.listing))
    if options.html is not None:
        from slowpath.show.page import show_page

        write_text(options.html, show_page(found, head))
    return worst(codes)


def _without_listing(shown: BpfObject) -> BpfObject:
    programs: list[Program] = [{**program, "listing": None} for program in shown["programs"]]
    return {**shown, "programs": programs}


def objects_json(
    head: Mapping[str, object], objects: Iterable[BpfObject], **_unused: object
) -> Iterator[str]:
    """Yield the lines of the JSON document, with one line for each object."""
    return json_items(head, "results", objects)


def objects_text(
    head: Mapping[str, object], objects: Iterable[BpfObject], *, listing: bool
) -> Iterator[Line]:
    """Yield the text report of each object."""
    separator = list[Line]()
    for shown in objects:
        if shown["error"] is None:
            yield from separator
            yield from object_report(shown, listing=listing)
        if not _problems(shown):
            separator = [Line("")]
    yield from provenance_lines(head)


def _choose(
    files: Sequence[str], selection: Selection, clang: Clang
) -> tuple[list[_Chosen], list[str]]:
    """Select programs in each file; return them, and notes on files without selected programs."""
    chosen, known, notes = list[_Chosen](), list[objects.ProgramInfo](), list[str]()
    for file in files:
        try:
            data = load_program(file, clang)
            found = objects.read_object(file, data)
        except InputError as problem:
            chosen.append(_Chosen(file, None, "", [], problem.coded))
            continue
        programs = objects.programs(found)
        if programs is None:
            chosen.append(_Chosen(file, None, "", [], not_an_object(data)))
            continue
        meant = [p for p in programs if selection.matches(p.section, p.name)]
        if meant:
            chosen.append(_Chosen(file, found, digest(data), meant, None))
        else:
            known += programs
            notes.append(note_on(file, f"no program matches {selection}"))
    if known and not any(choice.programs for choice in chosen):
        raise no_match(selection, known)
    return chosen, notes


def _shown(choice: _Chosen, options: ShowOptions, btf: KernelBtf, stopping: Stopping) -> BpfObject:
    found = choice.object
    if found is None:
        unreadable = Coded(codes.FILE_UNREADABLE, "cannot be read")
        return _failed(choice.file, choice.error or unreadable)
    if stopping.asked:
        return _failed(choice.file, Coded(codes.INTERRUPTED, "interrupted before it was analysed"))
    needed = any(program.needs_kernel for program in choice.programs)
    key = _key(choice, options, btf.digest(needed=needed))
    known = None if options.cache is None else options.cache.find(key, 1)
    if known is not None:
        with suppress(ValueError):  # an entry of another format
            kept: BpfObject = json.loads(known[0])
            return kept

    def work(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        numbers = [program.number for program in choice.programs]
        types = btf.for_program(needed=needed)
        view = objects.View(numbers, types, options.listing, options.deadline, options.memory)
        yield ("shown", *objects.show(choice.file, found, view, stopping))

    shown = list[BpfObject]()

    def take(message: Message) -> None:
        _, text, complete = message
        shown.append(json.loads(text))
        if complete and options.cache is not None:
            options.cache.keep(key, [text])
            options.cache.prune()

    try:
        with IsolatedJob(options.memory, work) as job:
            stopped = job.run(None, stopping, take)
    except InputError as problem:
        return _failed(choice.file, problem.coded)
    return (
        shown[0]
        if shown
        else _failed(choice.file, Coded(stopped_code(stopped), stopped or "no result"))
    )


def _key(choice: _Chosen, options: ShowOptions, types: str | None) -> str:
    """Return the cache key of an object's description; empty without a cache.

    It includes everything that the description depends on; `types` is the digest of the kernel
    types.
    """
    if options.cache is None:
        return ""
    numbers = [program.number for program in choice.programs]
    parts = [as_text(choice.file), choice.digest, numbers, options.listing, types]
    return options.cache.key("show", parts)


def _failed(file: str, error: Coded) -> BpfObject:
    """Return the description of a file that could not be read; it states the error."""
    return {
        "file": file,
        "license": None,
        "programs": [],
        "maps": [],
        "error": str(error),
        "code": error.code,
    }


def _problems(shown: BpfObject) -> list[tuple[str | None, str]]:
    """Return the errors of an object and its programs, each as a pair of code and text."""
    problems = [
        (p["code"], f"{p['name']}: {p['error']}")
        for p in shown["programs"]
        if p["error"] is not None
    ]
    return problems if shown["error"] is None else [*problems, (shown["code"], shown["error"])]


def _judge(file: str, shown: BpfObject) -> ExitCode:
    """Print the errors of an object to standard error; return the exit code for this file."""
    problems = _problems(shown)
    for code, problem in problems:
        error(code, file, problem)
    return ExitCode.INPUT if problems else ExitCode.FINE
