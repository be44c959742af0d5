"""Options of `slowpath compile`, turned into a job."""

from pathlib import PurePath
from typing import NamedTuple

from slowpath.bounds.default_target import CARD
from slowpath.bounds.options import (
    WrittenOptions,
    check_not_a_program,
    choose_target,
    memory_or_share,
    read_option,
    read_options,
)
from slowpath.compile.run import Job
from slowpath.core.errors import OptionError
from slowpath.core.formats import Reporter


class Output(NamedTuple):
    """Format and destination of the output."""

    file: str | None
    report: Reporter
    source: bool  # true: add source lines to the listing
    verify: bool


def make_job(file: str, written: WrittenOptions, output: Output) -> Job:
    """Turn options into a job.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file that an option names cannot be read.
    """
    if output.file is not None:
        read_option("--output", lambda path: check_not_a_program(path, [file]), output.file)
    if output.source and output.report.form == "json":
        raise OptionError("--source", "--format json has the source lines anyway")
    memory = memory_or_share(written.memory)
    return Job(
        file=file,
        selection=written.selection,
        target=read_option("--target", choose_target, written.target or CARD),
        btf=written.btf,
        output=None if output.file is None else str(PurePath(output.file)),
        report=output.report,
        source=output.source,
        options=read_options(written)._replace(memory_bytes=memory),
        verify=output.verify,
        cflags=written.cflags,
    )
