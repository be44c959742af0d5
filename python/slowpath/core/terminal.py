"""Writes styled lines, progress lines, aligned tables and links to the terminal.

Styles are ECMA-48 (ANSI) sequences. `--color` decides if there are any; by default, environment
variables and the terminal do: NO_COLOR (https://no-color.org) turns colours off, FORCE_COLOR
(https://force-color.org), CLICOLOR and CLICOLOR_FORCE (https://bixense.com/clicolors) turn styles
on or off.

Links around `FILE:LINE` and codes are sequences of OSC 8, which
https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda describes. No terminal reports
that it supports links, so the environment tells, as for other programs. Only files that exist
become links.
"""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from types import TracebackType
from typing import NamedTuple, NoReturn, Self, TextIO

from slowpath.core import codes
from slowpath.core.errors import ExitCode, with_code
from slowpath.core.printable import aligned_line, one_line

_EFFECTS = {"bold": "1", "dim": "2"}
_COLOURS = {"red": "31", "green": "32", "yellow": "33"}


class Styles(StrEnum):
    """Values of the option `--color`, which decides if output has colours."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class _Settings:
    """General options of this process, which all commands have."""

    quiet = False
    styles = Styles.AUTO
    output = "standard output"
    explained = False  # true: the command that explains a code was printed


def be_quiet() -> None:
    """Suppress progress and notes on standard error from now on."""
    _Settings.quiet = True


def name_output(file: str | None) -> None:
    """Set the name of standard output for errors: the user's file, or None for the default name."""
    _Settings.output = "standard output" if file is None else file


def choose_styles(when: Styles) -> None:
    """Select when output has colours and other styles."""
    _Settings.styles = when


_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)
"""Function that gets lines instead of standard error; None: standard error gets them."""


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Within the context, pass errors, warnings and notes to `listener`, and show no progress.

    Python programs use it, because slowpath must not write to their standard error.
    """
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


class Line(NamedTuple):
    """A line of a report; `style`, such as `bold red`, has an effect only on terminals."""

    text: str
    style: str = ""


def prepare_streams() -> None:
    """Prepare the standard streams: they accept any file name, and closed ones raise errors."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _open_missing_streams() -> None:
    """Open standard streams that the shell closed (`>&-`) on /dev/null.

    Otherwise the next opened file would get the descriptor of a closed stream and receive its
    output. Writes to a closed standard output fail; writes to a closed standard error are lost.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest free number
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - stays open
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - stays open


def out(line: Line | str) -> None:
    """Write a line to standard output."""
    out_lines((line,))


def out_lines(lines: Iterable[Line | str]) -> None:
    """Write lines to standard output and flush it; exit if writing fails.

    Line ends within a line become spaces. The exit code distinguishes a closed pipe from other
    failures.
    """
    styled = has_styles(sys.stdout)
    written = list(lines)  # outside of `try`, which catches write errors only
    linked = _linker(sys.stdout) if styled else None
    try:
        for line in written:
            text, style = line if isinstance(line, Line) else (line, "")
            text = aligned_line(text)
            if linked is not None:
                text = linked(text)
            sys.stdout.write(_styled(text, style) if styled and style else text)
            sys.stdout.write("\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _leave(ExitCode.BROKEN_PIPE)
    except OSError as problem:
        reason = f"cannot be written: {(problem.strerror or '').lower()}"
        error(codes.CANNOT_WRITE, _Settings.output, reason)
        _leave(ExitCode.INPUT)


def is_terminal(stream: TextIO) -> bool:
    """Return true if a stream is a terminal that can move the cursor and set styles."""
    return stream.isatty() and os.environ.get("TERM", "dumb") not in {"", "dumb", "unknown"}


def error(code: str | None, subject: str, message: str) -> None:
    """Write `error: SUBJECT: MESSAGE [CODE]` to standard error, as one line.

    The subject is not repeated if the message starts with it (`SUBJECT:LINE: ...`).
    """
    named = message.startswith(f"{subject}:")
    complain(with_code(f"error: {message}" if named else f"error: {subject}: {message}", code))
    if code is not None and not _Settings.explained and shows_progress():
        _Settings.explained = True
        complain(f"for more: slowpath explain {code}")


def complain(text: str) -> None:
    """Write an error, or a line of one, to standard error, even with `--quiet`."""
    listener = _LISTENER.get()
    line = one_line(text)
    if listener is not None:
        listener(line)
        return
    linked = _linker(sys.stderr)
    tell((line if linked is None else linked(line)) + "\n")


def note(text: str) -> None:
    """Write a note to standard error. | With `--quiet`, only warnings about results are written."""
    if not _Settings.quiet or text.startswith("warning:"):
        complain(text)


def note_progress(text: str) -> None:
    """Write a line about progress to standard error, unless a listener receives the messages."""
    if _LISTENER.get() is None:
        note(text)


def tell(text: str) -> None:
    """Write a text to standard error unchanged; ignore failures, which cannot be reported."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def _linker(stream: TextIO) -> Callable[[str], str] | None:
    """Return the function that adds links to a line; None if the terminal has no links."""
    if not is_terminal(stream):
        return None

    return with_links if terminal_has_links() else None


def has_styles(stream: TextIO) -> bool:
    """Return true if output to a stream has styles.

    `--color` decides, else the environment, else the terminal.
    """
    if _Settings.styles is not Styles.AUTO:
        return _Settings.styles is Styles.ALWAYS
    forced = (os.environ.get("FORCE_COLOR", ""), os.environ.get("CLICOLOR_FORCE", ""))
    if any(one not in {"", "0"} for one in forced) and not os.environ.get("NO_COLOR"):
        return True
    if os.environ.get("CLICOLOR") == "0" or "0" in forced[:1]:
        return False
    return is_terminal(stream)


def _styled(text: str, style: str) -> str:
    careful = os.environ.get("NO_COLOR") and _Settings.styles is Styles.AUTO
    known = _EFFECTS if careful else _EFFECTS | _COLOURS
    codes = ";".join(known[word] for word in style.split() if word in known)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def _leave(code: int) -> NoReturn:
    """Exit with `code` after a write to standard output failed, for example in `... | head`."""
    _discard(sys.stdout)
    raise SystemExit(code)


def _discard(stream: TextIO) -> None:
    """Redirect a broken stream to /dev/null, because Python flushes it again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def shows_progress() -> bool:
    """Return true if a progress line can be shown: on a terminal, without `--quiet`."""
    return is_terminal(sys.stderr) and not _Settings.quiet and _LISTENER.get() is None


_CLEAR = "\r\x1b[K"
_MINUTE = 60.0


class LiveLine:
    """A progress line that is shown only on terminals and disappears when the work ends."""

    def __init__(self) -> None:
        self.live = shows_progress()

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
        """Replace the text of the progress line."""
        if self.live:
            tell(f"{_CLEAR}{one_line(text)}")


def about_left(seconds: float) -> str:
    """Format the remaining time of work: `about 5 s left`."""
    if seconds < _MINUTE:
        return f"about {max(seconds, 1):.0f} s left"
    return f"about {seconds / _MINUTE:.0f} min left"


def first_few(names: Sequence[str], most: int) -> str:
    """Join at most `most` names with commas; `...` stands for the others."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def grid(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[str] = (),
    margin: str = "  ",
) -> Iterator[Line]:
    """Yield a header and rows as aligned columns; `right` names the right-aligned ones."""
    cells = [[one_line(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    signs = [">" if name in right else "<" for name in columns]
    for index, row in enumerate(cells):
        padded = (
            f"{cell:{sign}{width}}" for cell, sign, width in zip(row, signs, widths, strict=True)
        )
        yield Line(f"{margin}{'  '.join(padded)}".rstrip(), "" if index else "bold")


DOCS_VARIABLE = "SLOWPATH_DOCS"
"""Environment variable with the address of the repository's files, for links to `_CODES_PAGE`."""
_CODES_PAGE = "docs/reference/codes.md"
"""Page with a section for each code."""
_CODE = r"\[(SP[0-9]{4})\]"
"""Pattern of a code at the end of an error or a warning, such as `[SP0201]`."""

_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby"})
"""Values of TERM_PROGRAM of terminals with links."""
_TERMINALS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm")
"""Beginnings of TERM of terminals with links."""
_VARIABLES = ("KONSOLE_VERSION", "WT_SESSION", "DOMTERM", "KITTY_WINDOW_ID")
"""Variables that only terminals with links set."""
_OLDEST_VTE = 5000
"""First version of VTE (GNOME Terminal and others) with links: 0.50."""
_PLACE = r"(?<![\w/.~+-])([\w/.~+-]*[\w~+-]\.[A-Za-z]{1,4}):([1-9][0-9]{0,8})\b"
"""Pattern of a file with an extension, and a line number in it."""


def terminal_has_links() -> bool:
    """Return true if the terminal supports links, as far as environment variables tell."""
    names = os.environ
    forced = names.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced not in {"", "0"}
    if names.get("TERM", "").startswith(("screen", "tmux")):  # multiplexers may drop links
        return False
    version = names.get("VTE_VERSION", "0")
    return (
        (version.isdigit() and int(version) >= _OLDEST_VTE)
        or names.get("TERM_PROGRAM") in _PROGRAMS
        or names.get("TERM", "").startswith(_TERMINALS)
        or any(name in names for name in _VARIABLES)
    )


def with_links(text: str) -> str:
    """Add terminal links to error codes, and to locations `FILE:LINE`.

    A code leads to its documentation. Only files that exist become links.
    """
    if os.environ.get(DOCS_VARIABLE) and "[SP" in text:
        text = re.sub(_CODE, _code_link, text)
    return re.sub(_PLACE, _link, text) if ":" in text else text


def address_of(code: str, name: str) -> str | None:
    """Return the URL of the documentation of an error code.

    None if the environment does not set the base URL.
    """
    base = os.environ.get(DOCS_VARIABLE, "")
    if "://" not in base:
        return None
    return f"{base.rstrip('/')}/{_CODES_PAGE}#{code.lower()}-{name}"


def documentation_of(code: str) -> str | None:
    """Return the URL of the documentation of an error code; None for unknown codes.

    None also if the environment does not set the base URL.
    """
    from slowpath.core.code_texts import BY_CODE

    one = BY_CODE.get(code)
    return None if one is None else address_of(one.code, one.name)


def _code_link(found: re.Match[str]) -> str:
    address = documentation_of(found[1])
    return found[0] if address is None else f"[\x1b]8;;{address}\x1b\\{found[1]}\x1b]8;;\x1b\\]"


def _link(found: re.Match[str]) -> str:
    path = os.path.abspath(found[1])
    if not os.path.isfile(path):
        return found[0]
    from urllib.parse import quote

    return f"\x1b]8;;file://{os.uname().nodename}{quote(path)}\x1b\\{found[0]}\x1b]8;;\x1b\\"
