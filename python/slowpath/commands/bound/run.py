"""The command `slowpath bound`: analyses programs one after the other and reports.

It knows the order of things; options are read in `options`, programs are found in `plan` and
analysed in `analyses`, results are written by `reporters`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from slowpath.analysis.analyses import (
    Analysed,
    Complaints,
    Unmatched,
    Work,
    judge,
    note_remarks,
)
from slowpath.analysis.analyst import Audience
from slowpath.analysis.session import Session
from slowpath.cli.exit_codes import ExitCode, worst
from slowpath.cli.inputs import write_error
from slowpath.cli.terminal import error, note, out_lines
from slowpath.report.reporters import Format, choose_reporter, load
from slowpath.schema.rates import Requirement
from slowpath.schema.results import Result
from slowpath.work.stopping import Stopping, heeding_signals


class Job(NamedTuple):
    """What the command line asks for."""

    work: Work
    requirement: Requirement | None
    accept: bool  # limits of loops below what is known of them
    form: Format
    pcap: str | None
    verbose: bool


def run(job: Job) -> ExitCode:
    """Analyses every program; a failure does not stop the rest.

    Raises:
        OptionError: when an option makes no sense for what the files are.
        InputError: when the packet file cannot be written, or a kernel's types not be read.
    """
    session = Session(job.work)
    if job.pcap is not None:
        _save_packets(job.pcap, [])  # find out before the work whether this is possible
    note_remarks(session.plan)
    with heeding_signals() as stopping:
        return _run(job, session, stopping)


def _run(job: Job, session: Session, stopping: Stopping) -> ExitCode:
    tasks = session.plan.tasks
    labels = [task.label for task in tasks]
    reporter = choose_reporter(job.form, labels, verbose=job.verbose)
    complaints, unmatched = Complaints(job.work), Unmatched()
    codes, packets = list[ExitCode](), list[bytes]()
    options = job.work.options._replace(path_details=reporter.described_paths)
    out_lines(reporter.start())

    def meanwhile() -> None:
        load(job.form, [task.metric for task in tasks[:2]])

    for analysed in session.analyse(Audience(stopping, meanwhile=meanwhile), options):
        code = _judge(job, analysed)
        codes.append(code)
        if job.pcap is not None:
            packets += _packets(analysed.result)
        out_lines(reporter.add(analysed.result, analysed.detail, analysed.text))
        complaints.add(analysed)
        _complain(job, analysed, code)
        unmatched.add(analysed)
    out_lines(reporter.finish())
    codes.append(unmatched.complain())
    if job.pcap is not None:
        _save_packets(job.pcap, packets)
    return worst(codes)


def _judge(job: Job, analysed: Analysed) -> ExitCode:
    code = judge(analysed)
    if code is not ExitCode.FINE or job.requirement is None:
        return code
    from slowpath.analysis.requirement import decide_with_cuts

    decision = decide_with_cuts(analysed.result, job.requirement, accept=job.accept)
    return ExitCode(decision.value)


def _complain(job: Job, analysed: Analysed, code: ExitCode) -> None:
    """Says on standard error why a requirement is not met, or what it relies on that it is."""
    task, result = analysed.task, analysed.result
    if result["error"] is not None or job.requirement is None:
        return
    from slowpath.analysis.requirement import (
        Decision,
        decide,
        explain,
        refusal,
        relied_on,
        reproduce,
    )

    decision = decide(result, job.requirement)
    if code is ExitCode.FINE:
        for sentence in relied_on(result):
            note(f"note: {task.label}: --require is met if {sentence}")
        return
    cut = decision is Decision.MET
    error(task.label, refusal(result) if cut else explain(result, job.requirement, decision))
    options = ["--target", task.target.name, "--metric", task.metric]
    note(f"reproduce: {reproduce('bound', [task.file], [*options, *job.work.reproduce])}")


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
