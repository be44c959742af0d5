"""The command `slowpath bound`: a request is planned and analysed, results are reported.

All but the report is what `slowpath.bound(...)` does as well: `api/bound.py`.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from slowpath.analysis.analyst import Audience
from slowpath.analysis.options import check_not_a_program, read_option
from slowpath.analysis.outcomes import Analysed, Complaints, Unmatched, note_remarks
from slowpath.analysis.plan import Request
from slowpath.analysis.session import Session
from slowpath.cli.exit_codes import ExitCode, worst
from slowpath.cli.inputs import write_error
from slowpath.cli.terminal import error, note, out_lines
from slowpath.report.reporters import MakeReporter
from slowpath.schema.results import Result
from slowpath.work.stopping import Stopping, heeding_signals


class Output(NamedTuple):
    """How results are written, and where."""

    make_reporter: MakeReporter
    pcap: str | None  # a file for packets
    verbose: bool
    command: str = "bound"  # the words that call it


def run(request: Request, output: Output) -> ExitCode:
    """Analyses every program; a failure does not stop the rest.

    Raises:
        OptionError: when an option makes no sense for what the files are.
        InputError: when the packet file cannot be written, or a kernel's types not be read.
    """
    files = request.files
    if output.pcap is not None:
        read_option("--pcap", lambda path: check_not_a_program(path, files), output.pcap)
    return report([(request, Session(request))], output)


def report(parts: Sequence[tuple[Request, Session]], output: Output) -> ExitCode:
    """Analyses every program of sessions, each with its request, and reports all of it.

    Raises:
        InputError: when the packet file cannot be written, or a kernel's types not be read.
    """
    if output.pcap is not None:
        _save_packets(output.pcap, [])  # find out before the work whether this is possible
    for _, session in parts:
        note_remarks(session.plan)
    with heeding_signals() as stopping:
        return _run(parts, output, stopping)


def _run(parts: Sequence[tuple[Request, Session]], output: Output, stopping: Stopping) -> ExitCode:
    labels = [task.label for _, session in parts for task in session.plan.tasks]
    reporter = output.make_reporter(labels, verbose=output.verbose)
    unmatched = Unmatched()
    codes, packets = list[ExitCode](), list[bytes]()
    out_lines(reporter.start())
    for request, session in parts:
        complaints = Complaints(request, unmatched)
        options = request.options._replace(path_details=reporter.described_paths)
        meanwhile = partial(reporter.prepare, request.metric)
        for analysed in session.analyse(Audience(stopping, meanwhile=meanwhile), options):
            if output.pcap is not None:
                packets += _packets(analysed.result)
            out_lines(reporter.add(analysed.result, analysed.detail, analysed.text))
            code = complaints.add(analysed)
            if code is ExitCode.FINE:
                code = _hold(request, analysed, output.command)
            codes.append(code)
    out_lines(reporter.finish())
    codes.append(unmatched.complain())
    if output.pcap is not None:
        _save_packets(output.pcap, packets)
    return worst(codes)


def _hold(request: Request, analysed: Analysed, command: str) -> ExitCode:
    """What the exit code says of `--require`; why it is not met goes to standard error."""
    if request.requirement is None:
        return ExitCode.FINE
    from slowpath.analysis.requirement import Decision, hold_against, reproduce

    task, accept = analysed.task, request.accept_assumptions
    judgement = hold_against(analysed.result, request.requirement, accept=accept)
    for sentence in judgement.relied_on:
        note(f"note: {task.label}: --require is met if {sentence}")
    if judgement.decision is not Decision.MET:
        error(task.label, judgement.reason)
        options = ["--target", task.target, "--metric", task.metric, *request.reproduce]
        note(f"reproduce: {reproduce(command, [task.file], options)}")
    return ExitCode(judgement.decision.value)


def _packets(result: Result) -> Iterator[bytes]:
    """The packets of all paths that are known."""
    from slowpath.packet.witness import wire_bytes

    return (wire_bytes(path["witness"]) for path in result["paths"])


def _save_packets(path: str, packets: list[bytes]) -> None:
    from slowpath.packet.pcap import write_pcap

    try:
        write_pcap(path, packets)
    except OSError as problem:
        raise write_error(path, problem) from None
