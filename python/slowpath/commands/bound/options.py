"""Turns the options of `slowpath bound`, as typed, into its job; says which one is wrong."""

from collections.abc import Sequence

from slowpath.analysis.options import (
    Typed,
    check_not_a_program,
    make_work,
    read_accept,
    read_option,
    read_requirement,
)
from slowpath.commands.bound.run import Job
from slowpath.report.reporters import Format


def make_job(
    files: Sequence[str], typed: Typed, form: Format, pcap: str | None, *, verbose: bool
) -> Job:
    """The job that the options describe.

    Raises:
        OptionError: when an option makes no sense.
        InputError: when a file that an option names cannot be read.
    """
    requirement = read_requirement(typed)
    if pcap is not None:
        read_option("--pcap", lambda path: check_not_a_program(path, files), pcap)
    accept = read_accept(typed)
    return Job(make_work(files, typed), requirement, accept, form, pcap, verbose)
