"""Writes to the terminal or wherever the output goes: lines with an optional style, errors.

Styles and the progress line need `rich`, which is imported only when there is a terminal.
"""

import os
import sys
from typing import NamedTuple, NoReturn

from slowpath.exit_codes import ExitCode

_BROKEN_PIPE = 128 + 13  # what a shell reports for a process that SIGPIPE ended


class Line(NamedTuple):
    """A line of a report; `style` matters on a terminal only."""

    text: str
    style: str = ""


def prepare_streams() -> None:
    """Makes odd file names printable in any locale."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def out(line: Line | str) -> None:
    """Writes a line to standard output."""
    text, style = line if isinstance(line, Line) else (line, "")
    try:
        if style and sys.stdout.isatty():
            _styled(text, style)
        else:
            sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _leave(_BROKEN_PIPE)
    except OSError as problem:
        error("standard output", f"cannot be written: {(problem.strerror or '').lower()}")
        _leave(ExitCode.INPUT)


def error(subject: str, message: str) -> None:
    """Writes `error: SUBJECT: MESSAGE` to standard error, as one line.

    A message that names the subject itself (`SUBJECT:LINE: ...`) is not given it twice.
    """
    named = message.startswith(f"{subject}:")
    note(f"error: {message}" if named else f"error: {subject}: {message}")


def note(text: str) -> None:
    """Writes one line to standard error."""
    sys.stderr.write(one_line(text) + "\n")
    sys.stderr.flush()


def one_line(text: str) -> str:
    """The text without anything that could start a new line or steer the terminal."""
    spaced = text.replace("\n", " ").replace("\t", " ")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in spaced)


def _styled(text: str, style: str) -> None:
    from rich.console import Console
    from rich.text import Text

    Console(highlight=False).print(Text(text, style), soft_wrap=True)


def _leave(code: int) -> NoReturn:
    """The output goes nowhere any more (`| head`, a full disk), nor does what is buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(code)
