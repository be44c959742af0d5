"""Errors of the compiled engine as errors of files."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from slowpath import _core
from slowpath.core.errors import InputError, StoppedError
from slowpath.core.schema.derived import refusal_text


class MapsFile(NamedTuple):
    """A file with content of maps, `--maps`."""

    name: str
    text: str


@contextmanager
def of_file(file: str) -> Iterator[None]:
    """What the engine cannot do is an error of a file: the first reason, and all others.

    Raises:
        InputError: when the engine says no.
    """
    try:
        yield
    except _core.Error as problem:
        if problem.kind == "stopped":
            raise StoppedError(file, str(problem)) from None
        others = [refusal_text(each) for each in problem.refusals[1:]]
        raise InputError(file, str(problem), others) from None


@contextmanager
def of_files(file: str, maps: MapsFile | None) -> Iterator[None]:
    """The same; what is wrong with content of maps is an error of that file, with the line.

    Raises:
        InputError: when the engine says no.
    """
    with of_file(file):
        try:
            yield
        except _core.Error as problem:
            if maps is None or problem.option != "--maps":
                raise
            line = "" if problem.line is None else f"line {problem.line}: "
            raise InputError(maps.name, f"{line}{problem.what}") from None


def as_text(file: str) -> str:
    """The name of a file, which need not be Unicode."""
    return file.encode(errors="backslashreplace").decode()
