"""The commands `slowpath chain facts` and `slowpath chain optimize`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from slowpath import engine
from slowpath.cli.errors import OptionError
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.inputs import write_error
from slowpath.cli.printable import json_line
from slowpath.cli.terminal import error, out, out_lines
from slowpath.commands.chain.documents import ChainReport
from slowpath.commands.chain.loading import LoadedChain, load_chain
from slowpath.commands.chain.report import facts_report, optimized_report
from slowpath.programs.kernel_btf import KernelBtf
from slowpath.programs.sources import Clang
from slowpath.work.errand import Errand
from slowpath.work.jobs import Message
from slowpath.work.stopping import Stopping, heeding_signals


class Job(NamedTuple):
    """What the command line asks for."""

    file: str
    mode: Literal["trust", "guard"] | None  # None: only facts
    form: Literal["table", "json"]
    btf: str | None = None
    cflags: tuple[str, ...] = ()
    deadline_seconds: float | None = None
    memory_bytes: int | None = None
    output: Path | None = None  # a folder


def find_facts(job: Job) -> ExitCode:
    """Finds out what holds of packets that arrive at each program of a chain.

    Raises:
        InputError: when the chain cannot be read.
    """
    report, _ = _rewritten(job, _load(job))
    if report is None:
        return ExitCode.UNDECIDED
    if job.form == "json":
        _write_json(report)
    else:
        out_lines(facts_report(report))
    return ExitCode.UNDECIDED if report["stopped"] else ExitCode.FINE


def optimize(job: Job) -> ExitCode:
    """Rewrites the programs of a chain, and writes the objects to load instead.

    Raises:
        OptionError: when the output is no folder.
        InputError: when the chain cannot be read, or an object cannot be written.
    """
    if job.output is not None and job.output.exists() and not job.output.is_dir():
        raise OptionError("--output", f"{job.output} is no folder")
    loaded = _load(job)
    report, objects = _rewritten(job, loaded)
    if report is None:
        return ExitCode.UNDECIDED
    files = _write_objects(job, loaded, objects)
    if job.form == "json":
        _write_json(report)
    else:
        out_lines(optimized_report(report, files))
    return ExitCode.UNDECIDED if report["stopped"] else ExitCode.FINE


def _load(job: Job) -> LoadedChain:
    clang = Clang(job.cflags, job.deadline_seconds, memory_bytes=job.memory_bytes)
    return load_chain(job.file, clang)


def _rewritten(job: Job, loaded: LoadedChain) -> tuple[ChainReport | None, list[bytes | None]]:
    """What is known of a chain, and the objects to load instead.

    Raises:
        InputError: when a program cannot be linked.
    """
    btf = KernelBtf(job.btf).for_program(needed=loaded.needs_kernel)
    rewriting = engine.Rewriting(job.mode, job.deadline_seconds, job.memory_bytes)
    found = list[Message]()

    def work(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        return engine.rewrite_messages(
            loaded.file, loaded.chain, loaded.members, btf, rewriting, stopping
        )

    with heeding_signals() as stopping, Errand(work, job.memory_bytes) as errand:
        stopped = errand.run(job.deadline_seconds, stopping, found.append)
    if not found:
        error(job.file, stopped or "nothing is known")
        return None, []
    (_, text, objects) = found[0]
    report: ChainReport = json.loads(text)
    return report, objects


def _write_objects(
    job: Job, loaded: LoadedChain, objects: list[bytes | None]
) -> list[str | None]:
    """Writes the objects of rewritten programs, each named as its program; their files.

    Raises:
        InputError: when one cannot be written.
    """
    files = list[str | None]()
    for (name, _, _), data in zip(loaded.chain.members, objects, strict=True):
        if data is None:
            files.append(None)
            continue
        if job.output is None:
            files.append("not written")
            continue
        path = job.output / f"{name}.bpf.o"
        try:
            job.output.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as problem:
            raise write_error(str(path), problem) from None
        files.append(str(path))
    return files


def _write_json(report: ChainReport) -> None:
    out(json_line({"slowpath": engine.version(), **report}))
