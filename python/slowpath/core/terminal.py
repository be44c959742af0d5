"""Output to the terminal: styled lines, progress lines, aligned tables.

Styles are ECMA-48 (ANSI) sequences, on terminals that know them; NO_COLOR: https://no-color.org.
"""

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, NoReturn, Self, TextIO

from slowpath.core.errors import ExitCode
from slowpath.core.printable import aligned_line, one_line

_EFFECTS = {"bold": "1", "dim": "2"}
_COLOURS = {"red": "31", "green": "32", "yellow": "33"}


class Line(NamedTuple):
    """A line of a report; `style`, such as `bold red`, matters on a terminal only."""

    text: str
    style: str = ""


def prepare_streams() -> None:
    """Makes odd file names printable in any locale, and closed streams such that fail."""
    _fill_gaps()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _fill_gaps() -> None:
    """Has the descriptors 0 to 2 used, if the shell closed some (`>&-`).

    Else the next file that is opened would be one of them, and get what is meant for a stream.
    What is written to a closed standard output fails, what is written to errors gets lost.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # the lowest number that is free
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as it would be
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as it would be


def out(line: Line | str) -> None:
    """Writes a line to standard output."""
    out_lines((line,))


def out_lines(lines: Iterable[Line | str]) -> None:
    """Writes lines to standard output; they are there when it returns.

    Whatever is in them, each stays a line. Where they cannot be written, that is what the exit
    code says.
    """
    styled = is_terminal(sys.stdout)
    written = list(lines)  # not below, where failures are those of writing
    try:
        for line in written:
            text, style = line if isinstance(line, Line) else (line, "")
            text = aligned_line(text)
            sys.stdout.write(_styled(text, style) if styled and style else text)
            sys.stdout.write("\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _leave(ExitCode.BROKEN_PIPE)
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
    tell(one_line(text) + "\n")


def tell(text: str) -> None:
    """Writes to standard error, as it is; where that fails nothing happens.

    There is nobody to tell it to then, and what the exit code says is as true as before.
    """
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def _styled(text: str, style: str) -> str:
    known = _EFFECTS if os.environ.get("NO_COLOR") else _EFFECTS | _COLOURS
    codes = ";".join(known[word] for word in style.split() if word in known)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def _leave(code: int) -> NoReturn:
    """The output goes nowhere any more (`| head`, a full disk)."""
    _discard(sys.stdout)
    raise SystemExit(code)


def _discard(stream: TextIO) -> None:
    """Loses what is buffered and what is still to come: Python tries again at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


_CLEAR = "\r\x1b[K"
_MINUTE = 60.0


class LiveLine:
    """Is there while work goes on, and gone when that has ended."""

    def __init__(self) -> None:
        self.live = is_terminal(sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self.live:
            tell(_CLEAR)

    def draw(self, text: str) -> None:
        """Shows a text instead of what was there."""
        if self.live:
            tell(f"{_CLEAR}{one_line(text)}")


def about_left(seconds: float) -> str:
    """How long work may still take, in words."""
    if seconds < _MINUTE:
        return f"about {max(seconds, 1):.0f} s left"
    return f"about {seconds / _MINUTE:.0f} min left"


def first_few(names: Sequence[str], most: int) -> str:
    """The first of them, and whether there are more."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def grid(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[str] = (),
    margin: str = "  ",
) -> Iterator[Line]:
    """A header and the rows; the columns named in `right` are aligned there."""
    cells = [[one_line(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    signs = [">" if name in right else "<" for name in columns]
    for index, row in enumerate(cells):
        padded = (
            f"{cell:{sign}{width}}" for cell, sign, width in zip(row, signs, widths, strict=True)
        )
        yield Line(f"{margin}{'  '.join(padded)}".rstrip(), "" if index else "bold")
