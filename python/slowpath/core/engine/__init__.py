"""Interface to the compiled engine `slowpath._core`, the Rust library that analyses programs.

Only this folder imports the engine. The modules here do not depend on the command line and do not
print.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from slowpath import _core
from slowpath.core.codes import Code
from slowpath.core.errors import InputError, StoppedError, with_code
from slowpath.core.schema import Document, schema_id


def version() -> str:
    """Return the version of slowpath."""
    return _core.version()


def head(command: str, schema: str) -> Document:
    """Return the first keys of a command's JSON document: version, command, and schema."""
    return {"slowpath": version(), "command": command, "schema": schema_id(schema)}


class MapsFile(NamedTuple):
    """The file that the option `--maps` names, with content of BPF maps."""

    name: str
    text: str


@contextmanager
def errors_as_file_errors(file: str) -> Iterator[None]:
    """Convert errors of the compiled engine into Python errors that name `file` and all reasons.

    Raises:
        StoppedError: if the engine was stopped before it had a result.
        InputError: if the engine reports another error.
    """
    try:
        yield
    except _core.Error as problem:
        if problem.kind == "stopped":
            raise StoppedError(Code(problem.code), file, str(problem)) from None
        from slowpath.core.schema.derived import refusal_text  # slow to import

        others = [with_code(refusal_text(each), each["code"]) for each in problem.refusals[1:]]
        raise InputError(Code(problem.code), file, str(problem), others) from None


@contextmanager
def errors_as_maps_errors(file: str, maps: MapsFile | None) -> Iterator[None]:
    """Convert engine errors into errors that name the faulty file.

    This is the file of `--maps` for errors in map content, and `file` for others.

    Raises:
        InputError: if the engine reports an error.
    """
    with errors_as_file_errors(file):
        try:
            yield
        except _core.Error as problem:
            if maps is None or problem.option != "--maps":
                raise
            line = "" if problem.line is None else f"line {problem.line}: "
            raise InputError(Code(problem.code), maps.name, f"{line}{problem.what}") from None


def as_text(file: str) -> str:
    """Convert the name of a file to Unicode text; bytes that are not UTF-8 become escapes."""
    return file.encode(errors="backslashreplace").decode()
