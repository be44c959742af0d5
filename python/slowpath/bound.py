"""The command `slowpath bound`: analyses files one after the other and reports.

It knows the order of things; options are read in `options`, results are written by `reporters`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath import engine
from slowpath.exit_codes import ExitCode, worst
from slowpath.inputs import InputError, read_program, write_error
from slowpath.packet import wire_bytes, witness_bytes
from slowpath.pcap import write_pcap
from slowpath.progress import live_line
from slowpath.rates import Rate
from slowpath.reporters import Format, choose_reporter
from slowpath.requirement import Decision, decide, explain, reproduce
from slowpath.results import Detail, Result, failed_result
from slowpath.terminal import error, note, out

_NO_DETAIL: Detail = {"paths": [], "stopped": None, "usage": False}


@dataclass(frozen=True)
class Job:
    """What the command line asks for."""

    files: Sequence[str]
    target: str  # as the user named it
    options: engine.Options
    requirement: Rate | None
    form: Format
    pcap: Path | None
    verbose: bool
    reproduce: list[str]  # options that repeat this job
    option_files: Mapping[str, str]  # options that name a file, such as --assume, and its name


def run(job: Job) -> ExitCode:
    """Analyses every file; a failure does not stop the rest.

    Raises:
        InputError: when the packet file cannot be written.
    """
    if job.pcap is not None:
        _save_packets(job.pcap, [])  # find out before the work whether this is possible
    reporter = choose_reporter(job.form, job.files, job.options.metric, verbose=job.verbose)
    codes, packets, interrupted = [], list[bytes](), False
    for line in reporter.start():
        out(line)
    for file in job.files:
        if interrupted:
            result = _failure(job, file, "interrupted before it was analysed")
            detail, code = _NO_DETAIL, ExitCode.UNDECIDED
        else:
            result, detail, interrupted = _analyse(job, file)
            code = _judge(job, result, detail)
        codes.append(code)
        packets += (wire_bytes(witness_bytes(path["witness"])) for path in result["paths"])
        for line in reporter.add(result, detail):
            out(line)
        _complain(job, file, result, code)
    for line in reporter.finish():
        out(line)
    if job.pcap is not None:
        _save_packets(job.pcap, packets)
    return worst(codes)


def _analyse(job: Job, file: str) -> tuple[Result, Detail, bool]:
    """The result, its details, and whether the user wants no more."""
    try:
        data = read_program(file)
    except InputError as problem:
        return _failure(job, file, problem.reason), _NO_DETAIL, False
    try:
        with live_line(file, job.options.metric) as show:
            return engine.analyse(file, data, job.options, show)
    except engine.EngineError as defect:
        message = f"internal error: {defect}; please report it"
        return _failure(job, file, message), _NO_DETAIL, False


def _failure(job: Job, file: str, message: str) -> Result:
    return failed_result(file, job.target, job.options.metric, message)


def _judge(job: Job, result: Result, detail: Detail) -> ExitCode:
    if detail["usage"]:
        return ExitCode.USAGE
    if result["error"] is not None:
        return ExitCode.INPUT if detail["stopped"] is None else ExitCode.UNDECIDED
    if job.requirement is None:
        return ExitCode.FINE
    return ExitCode(decide(result, job.requirement).value)


def _complain(job: Job, file: str, result: Result, code: ExitCode) -> None:
    """Says on standard error what went wrong with a file, and how to see it again."""
    if result["error"] is not None:
        error(*_blamed(job, result["file"], result["error"]))
    elif job.requirement is not None and code is not ExitCode.FINE:
        error(file, explain(result, job.requirement, Decision(code)))
        note(f"reproduce: {reproduce(file, job.reproduce)}")


def _blamed(job: Job, file: str, message: str) -> tuple[str, str]:
    """The file to blame and the message; the engine knows files of options by the option only."""
    for option, name in job.option_files.items():
        if message.startswith(f"{option}:"):
            return name, name + message.removeprefix(option)
    return file, message


def _save_packets(path: Path, packets: list[bytes]) -> None:
    try:
        write_pcap(path, packets)
    except OSError as problem:
        raise write_error(str(path), problem) from None
