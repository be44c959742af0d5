"""Runs the command `slowpath bound`: analyses programs and prints their guarantees.

The Python function in `bounds/api.py` returns the same results.
"""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from slowpath.bounds.analyst import RunContext, Session, sessions_of
from slowpath.bounds.flags import written_options
from slowpath.bounds.multi_target import read_requests
from slowpath.bounds.options import check_not_a_program, check_page_file, read_option
from slowpath.bounds.outcomes import Analysed, ComplaintsByTarget, Unmatched, note_on, note_remarks
from slowpath.bounds.plan import Request
from slowpath.bounds.report import MakeReporter, Miss, Reporter, WithFiles
from slowpath.core import codes
from slowpath.core.engine.cache import Cache
from slowpath.core.errors import ExitCode, worst
from slowpath.core.formats import ReportFile
from slowpath.core.inputs import check_writable, write_error, write_text
from slowpath.core.jobs import Stopping, heeding_signals
from slowpath.core.programs.sources import provenance
from slowpath.core.schema.rates import Requirement
from slowpath.core.schema.results import Result
from slowpath.core.terminal import complain, error, out_lines

if TYPE_CHECKING:
    from slowpath.core.jobs.pool import Pool

Parts = Sequence[tuple[Request, Session]]
"""Pairs of a request and the session that analyses its programs."""


class Output(NamedTuple):
    """The output that the user wants: the format, and files to write."""

    make_reporter: MakeReporter
    pcap: str | None  # file for witness packets
    verbose: bool
    command: str = "bound"  # name of the command in messages
    html: str | None = None  # file for the page
    files: Sequence[ReportFile] = ()  # further reports; their reporters are `MakeReporter`s
    certificate: str | None = None  # file for the certificate


class Place(NamedTuple):
    """Selects the machines for analyses: this machine, or a cluster."""

    jobs: int | None = None  # parallel processes on this machine; None: one
    scheduler: str | None = None  # address of a cluster's scheduler; None: this machine


HERE = Place()
"""This machine, one analysis at a time."""


def requests_of(args: Namespace, files: Sequence[str], cache: Cache | None = None) -> list[Request]:
    """Return one request for each target, with the requirements of the project's settings.

    `args` has the options of `slowpath bound`; `args.requirements`, if present, is the table of
    requirements of a settings file. `cache` stores results of analyses.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a requirement is invalid, or a file that an option names cannot be read.
    """
    written, table = written_options(args, files), getattr(args, "requirements", {})
    if not table:
        return read_requests(files, written, cache)
    from slowpath.bounds.configured import read_requirements, with_requirements

    # `read_requests` refuses `accept_assumptions` without a requirement, so add the option later.
    requests = read_requests(files, written._replace(accept_assumptions=False), cache)
    required = read_requirements(table)
    return [
        with_requirements(one._replace(accept_assumptions=args.accept_assumptions), required)
        for one in requests
    ]


def run(requests: Sequence[Request], output: Output, place: Place = HERE) -> ExitCode:
    """Analyse all programs for each request, and report the results.

    A failed program does not stop the others. The requests must have the same files; each file is
    read once.

    Raises:
        OptionError: if an option does not fit the kind of a file.
        InputError: if the packet file cannot be written, or kernel types cannot be read.
    """
    files = requests[0].files
    if output.pcap is not None:
        read_option("--pcap-out", lambda path: check_not_a_program(path, files), output.pcap)
    if output.html is not None:
        check_page_file(output.html, files)
        requests = [one._replace(options=one.options._replace(code=True)) for one in requests]
    if output.certificate is not None:
        requests = [_for_certificate(one) for one in requests]
    parts = list(zip(requests, sessions_of(requests), strict=True))
    if output.certificate is not None:
        from slowpath.bounds.certificate import check_request

        tasks = [task for _, session in parts for task in session.plan.tasks]
        check_request(output.certificate, requests, tasks)
    count = sum(len(session.plan.tasks) for _, session in parts)
    if place.scheduler is None and min(place.jobs or 1, count) <= 1:
        return report(parts, output)
    from slowpath.core.jobs.local_pool import open_pool

    with open_pool(place.scheduler, place.jobs) as pool:
        return report(parts, output, pool)


def _for_certificate(request: Request) -> Request:
    return request._replace(options=request.options._replace(certificate=True))


def report(parts: Parts, output: Output, pool: "Pool | None" = None) -> ExitCode:
    """Analyse all programs of all sessions and report the results.

    With a pool, the analyses run in its worker processes.

    Raises:
        InputError: if the packet file cannot be written, or kernel types cannot be read.
    """
    if output.pcap is not None:
        check_writable(output.pcap)
    notes = note_remarks(*(session.plan for _, session in parts))
    with heeding_signals() as stopping:
        return _run(parts, output, notes, stopping, pool)


def _run(
    parts: Parts, output: Output, notes: list[str], stopping: Stopping, pool: "Pool | None"
) -> ExitCode:
    labels = [task.label for _, session in parts for task in session.plan.tasks]
    reporter = output.make_reporter(labels, verbose=output.verbose)
    if output.files:
        reporter = WithFiles(reporter, output.files, labels)
    compiled = any(task.compiled for _, session in parts for task in session.plan.tasks)
    reporter.command = output.command
    reporter.provenance = provenance(compiled=compiled)
    reporter.notes = notes
    if output.html is not None:
        from slowpath.core.html.explorer import PATHS

        reporter.described_paths = max(reporter.described_paths, PATHS)
    unmatched = Unmatched()
    several = len(set(labels)) < len(labels)  # with several targets, labels repeat
    complaints = ComplaintsByTarget([one for one, _ in parts], unmatched, several=several)
    codes, packets = list[ExitCode](), list[bytes]()
    found: list[list[Analysed]] = [[] for _ in parts]  # for the page
    out_lines(reporter.start())
    for at, analysed in _analysed(parts, reporter, stopping, pool):
        if output.pcap is not None:
            packets += _packets(analysed.result)
        if output.html is not None:
            found[at].append(analysed)
        # Before the report, whose reader may close the pipe and so end this process.
        if output.certificate is not None and analysed.result["guarantee"] is not None:
            from slowpath.bounds.certificate import save

            codes.append(save(output.certificate, parts[at][0], analysed))
        out_lines(reporter.add(analysed.result, analysed.detail, analysed.text))
        code = complaints.add(at, analysed)
        if code is ExitCode.FINE:
            where = f" on {analysed.task.target}" if several else ""
            label = f"{analysed.task.label}{where}"
            missed, said = check_requirement(parts[at][0], analysed, label, output.command)
            notes += said
            if missed is not None:
                reporter.miss(missed)
                code = ExitCode.UNDECIDED if missed.undecided else ExitCode.FAILED
        codes.append(code)
    # Save packets first, because a closed pipe of the report ends this process.
    if output.pcap is not None:
        _save_packets(output.pcap, packets)
    if output.html is not None:
        _save_page(output.html, parts, found, stopping)
    out_lines(reporter.finish())
    codes.append(unmatched.complain())
    return worst(codes)


def _analysed(
    parts: Parts, reporter: Reporter, stopping: Stopping, pool: "Pool | None"
) -> Iterator[tuple[int, Analysed]]:
    """Yield the results of all analyses in order, each with the index of its request in `parts`.

    With a pool, its worker processes run the analyses.
    """
    if pool is not None:
        from slowpath.bounds.bulk import analyse_all

        yield from analyse_all(parts, pool, stopping, reporter.described_paths)
        return
    for at, (request, session) in enumerate(parts):
        options = request.options._replace(path_details=reporter.described_paths)
        meanwhile = partial(reporter.prepare, request.metric)
        for each in session.analyse(RunContext(stopping, meanwhile=meanwhile), options):
            yield at, each


class Required(NamedTuple):
    """A requirement for one program, and its origin."""

    requirement: Requirement
    named: str  # its name in messages
    options: list[str]  # options with which the command checks it, unless they are written
    place: str | None = None  # FILE:LINE in a settings file; None: an option


def required_of(request: Request, analysed: Analysed) -> Required | str | None:
    """Return the requirement for a program; None if nothing is required.

    If the settings have a requirement that this analysis cannot check, return the reason as a text.
    """
    if request.requirement is not None:
        return Required(request.requirement, "--require", [])
    if not request.program_requirements:
        return None
    from slowpath.bounds.configured import requirement_of, unchecked

    found = requirement_of(request, analysed.result["program"], analysed.task.label)
    if found is None:
        return None
    reason = unchecked(found, request)
    named = f"{found.text!r} of {found.place}"
    if reason is not None:
        return f"{named} is not checked: {reason}"
    return Required(found.requirement, named, ["--require", found.text], found.place)


def check_requirement(
    request: Request, analysed: Analysed, label: str, command: str
) -> tuple[Miss | None, list[str]]:
    """Check the requirement for a program: return the missed requirement, or None, and notes.

    Notes, such as the conditions of a met requirement, and failures also go to standard error.
    `label` is the program's name in messages.
    """
    found = required_of(request, analysed)
    if found is None:
        return None, []
    if isinstance(found, str):
        return None, [note_on(label, found)]
    requirement, named, repeated, _ = found
    from slowpath.bounds.requirement import Decision, judge, reproduce

    task, accept = analysed.task, request.accept_assumptions
    judgement = judge(analysed.result, requirement, accept=accept)
    notes = [note_on(label, f"{named} is met if {text}") for text in judgement.relied_on]
    if judgement.decision is Decision.MET:
        return None, notes
    options = ["--target", task.target, "--metric", task.metric, *request.reproduce, *repeated]
    again = reproduce(command, [task.file], options)
    undecided = judgement.decision is Decision.UNDECIDED
    code = codes.UNDECIDED_REQUIREMENT if undecided else codes.MISSED_REQUIREMENT
    error(code, label, judgement.reason)
    complain(f"reproduce: {again}")
    return Miss(undecided, judgement.reason, again), notes


def _save_page(
    file: str, parts: Parts, found: Sequence[Sequence[Analysed]], stopping: Stopping
) -> None:
    """Write the HTML page about all programs, after analysing them with other settings, too."""
    from slowpath.bounds.analyst import alternatives
    from slowpath.bounds.page import Explored, bound_page
    from slowpath.core import engine

    explored = list[Explored]()
    for (request, session), analysed in zip(parts, found, strict=True):
        others = alternatives(request, session, analysed, stopping)
        both = zip(analysed, others, strict=True)
        explored += [Explored(one.result, one.detail, more) for one, more in both]
    compiled = any(task.compiled for _, session in parts for task in session.plan.tasks)
    head = {**engine.head("bound", "bound"), **provenance(compiled=compiled)}
    write_text(file, bound_page(explored, head))


def _packets(result: Result) -> Iterator[bytes]:
    """Return the packets that take the known paths, as Ethernet frames."""
    from slowpath.core.programs.packet import frame, wire_bytes

    return (frame(wire_bytes(path["witness"]), result["kind"]) for path in result["paths"])


def _save_packets(path: str, packets: list[bytes]) -> None:
    from slowpath.core.programs.packet import write_pcap

    try:
        write_pcap(path, packets)
    except OSError as problem:
        raise write_error(path, problem) from None
