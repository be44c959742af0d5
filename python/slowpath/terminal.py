"""Writes to the terminal or wherever the output goes: lines with an optional style, errors.

Styles are ECMA-48 (ANSI) sequences, on terminals that know them; NO_COLOR: https://no-color.org.
"""

import os
import sys
from collections.abc import Iterable
from typing import NamedTuple, NoReturn, TextIO

from slowpath.exit_codes import ExitCode

_BROKEN_PIPE = 128 + 13  # what a shell reports for a process that SIGPIPE ended
_EFFECTS = {"bold": "1", "dim": "2"}
_COLOURS = {"red": "31", "green": "32", "yellow": "33"}


class Line(NamedTuple):
    """A line of a report; `style`, such as `bold red`, matters on a terminal only."""

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
    out_lines((line,))


def out_lines(lines: Iterable[Line | str]) -> None:
    """Writes lines to standard output; they are there when it returns."""
    styled = is_terminal(sys.stdout)
    written = list(lines)  # not below, where failures are those of writing
    try:
        for line in written:
            text, style = line if isinstance(line, Line) else (line, "")
            sys.stdout.write(_styled(text, style) if styled and style else text)
            sys.stdout.write("\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _leave(_BROKEN_PIPE)
    except OSError as problem:
        error("standard output", f"cannot be written: {(problem.strerror or '').lower()}")
        _leave(ExitCode.INPUT)


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can do more than write one line below the other."""
    return stream.isatty() and os.environ.get("TERM", "dumb") not in {"", "dumb", "unknown"}


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


def _styled(text: str, style: str) -> str:
    known = _EFFECTS if os.environ.get("NO_COLOR") else _EFFECTS | _COLOURS
    codes = ";".join(known[word] for word in style.split() if word in known)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def _leave(code: int) -> NoReturn:
    """The output goes nowhere any more (`| head`, a full disk), nor does what is buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(code)
