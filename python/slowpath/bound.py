"""The command `slowpath bound`: analyses programs one after the other and reports.

It knows the order of things; options are read in `options`, programs are found in `plan`, results
are written by `reporters`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slowpath import engine
from slowpath.exit_codes import ExitCode, worst
from slowpath.inputs import write_error
from slowpath.kernels import Kernels
from slowpath.packet import wire_bytes, witness_bytes
from slowpath.pcap import write_pcap
from slowpath.plan import Task, Wishes, make_plan
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
    wishes: Wishes
    options: engine.Options  # but for target and metric, which every program has its own
    requirement: Rate | None
    btf: str | None
    form: Format
    pcap: Path | None
    verbose: bool
    reproduce: list[str]  # options that repeat this job, target and metric left out
    option_files: Mapping[str, str]  # options that name a file, such as --assume, and its name


def run(job: Job) -> ExitCode:
    """Analyses every program; a failure does not stop the rest.

    Raises:
        OptionError: when an option makes no sense for what the files are.
        InputError: when the packet file cannot be written, or a kernel's types not be read.
    """
    kernels = Kernels(job.btf)
    plan = make_plan(job.files, job.wishes)
    if job.pcap is not None:
        _save_packets(job.pcap, [])  # find out before the work whether this is possible
    for file, remark in plan.remarks:
        note(f"note: {file}: {remark}")
    labels = [task.label for task in plan.tasks]
    reporter = choose_reporter(job.form, labels, verbose=job.verbose)
    complaints = _Complaints(job)
    codes, packets, interrupted = [], list[bytes](), False
    for line in reporter.start():
        out(line)
    for task in plan.tasks:
        if interrupted:
            result = _failure(task, "interrupted before it was analysed")
            detail, code = _NO_DETAIL, ExitCode.UNDECIDED
        else:
            result, detail, interrupted = _analyse(job, task, kernels)
            code = _judge(job, result, detail)
        codes.append(code)
        packets += (wire_bytes(witness_bytes(path["witness"])) for path in result["paths"])
        for line in reporter.add(result, detail):
            out(line)
        complaints.add(task, result, code)
    for line in reporter.finish():
        out(line)
    if job.pcap is not None:
        _save_packets(job.pcap, packets)
    return worst(codes)


def _analyse(job: Job, task: Task, kernels: Kernels) -> tuple[Result, Detail, bool]:
    """The result, its details, and whether the user wants no more."""
    if task.error is not None:
        return _failure(task, task.error), _NO_DETAIL, False
    choice = engine.Choice(0, None)
    if task.program is not None:
        kernel = kernels.for_program(needed=task.program.needs_kernel)
        choice = engine.Choice(task.program.number, kernel)
    target = task.target
    options = replace(
        job.options, target=target.text, target_is_text=target.is_text, metric=task.metric
    )
    try:
        with live_line(task.label, task.metric) as show:
            return engine.analyse(task.file, task.data, options, show, choice)
    except engine.EngineError as defect:
        message = f"internal error: {defect}; please report it"
        return _failure(task, message), _NO_DETAIL, False


def _failure(task: Task, message: str) -> Result:
    result = failed_result(task.file, task.target.name, task.metric, message)
    if task.program is not None:
        result["section"], result["program"] = task.program.section, task.program.name
    return result


def _judge(job: Job, result: Result, detail: Detail) -> ExitCode:
    if detail["usage"]:
        return ExitCode.USAGE
    if result["error"] is not None:
        return ExitCode.INPUT if detail["stopped"] is None else ExitCode.UNDECIDED
    if job.requirement is None:
        return ExitCode.FINE
    return ExitCode(decide(result, job.requirement).value)


class _Complaints:
    """Says on standard error what went wrong with a program, and how to see it again."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._said = set[tuple[str, str]]()

    def add(self, task: Task, result: Result, code: ExitCode) -> None:
        """Says it once, where several programs fail for the same reason: a file of an option."""
        requirement = self._job.requirement
        if result["error"] is not None:
            complaint = self._blamed(task, result["error"])
            if complaint not in self._said:
                error(*complaint)
            self._said.add(complaint)
        elif requirement is not None and code is not ExitCode.FINE:
            error(task.label, explain(result, requirement, Decision(code)))
            options = ["--target", task.target.name, "--metric", task.metric]
            note(f"reproduce: {reproduce(task.file, [*options, *self._job.reproduce])}")

    def _blamed(self, task: Task, message: str) -> tuple[str, str]:
        """The file to blame and the message; the engine knows files of options by the option."""
        for option, name in self._job.option_files.items():
            if message.startswith(f"{option}:"):
                return name, name + message.removeprefix(option)
        if task.program is None:
            return task.file, message
        return task.file, f"{task.program.name}: {message}"


def _save_packets(path: Path, packets: list[bytes]) -> None:
    try:
        write_pcap(path, packets)
    except OSError as problem:
        raise write_error(str(path), problem) from None
