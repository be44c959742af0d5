"""Errors of the compiled engine, as errors of files."""

from slowpath import _core
from slowpath.cli.errors import InputError, StoppedError
from slowpath.schema.wording import refusal_text


def input_error(file: str, problem: _core.Error) -> InputError:
    """The error of a file: the first reason, and all others."""
    if problem.kind == "stopped":
        return StoppedError(file, str(problem))
    return InputError(file, str(problem), [refusal_text(each) for each in problem.refusals[1:]])


def as_text(file: str) -> str:
    """The name of a file, which need not be Unicode."""
    return file.encode(errors="backslashreplace").decode()
