"""Turns the options of `slowpath compile`, as typed, into a job; says which one is wrong."""

from pathlib import Path
from typing import Literal, NamedTuple

from slowpath import engine
from slowpath.analysis.options import (
    check_not_a_program,
    choose_target,
    memory_or_share,
    parse_deadline,
    read_option,
)
from slowpath.analysis.plan import OptionError
from slowpath.analysis.selection import Selection
from slowpath.commands.compile.run import Job


class Typed(NamedTuple):
    """The options as the user typed them."""

    selection: Selection
    target: str | None
    map_abi: str | None
    btf: str | None
    output: str | None
    form: Literal["listing", "json"]
    source: bool
    verify: bool
    mtu: int
    deadline: float | None
    memory: str | None = None
    cflags: tuple[str, ...] = ()


def make_job(file: str, typed: Typed) -> Job:
    """The job that the options describe.

    Raises:
        OptionError: when an option makes no sense.
        InputError: when a file that an option names cannot be read.
    """
    output = typed.output
    if output is not None:
        read_option("--output", lambda path: check_not_a_program(path, [file]), output)
    if typed.source and typed.form == "json":
        raise OptionError("--source", "--format json has the source lines anyway")
    deadline = read_option("--deadline", parse_deadline, typed.deadline)
    memory = memory_or_share(typed.memory)
    return Job(
        file=file,
        selection=typed.selection,
        target=read_option("--target", choose_target, typed.target),
        btf=typed.btf,
        output=None if output is None else Path(output),
        form=typed.form,
        source=typed.source,
        options=engine.Options(
            mtu=typed.mtu, deadline_seconds=deadline, memory_bytes=memory, map_abi=typed.map_abi
        ),
        verify=typed.verify,
        cflags=typed.cflags,
    )
