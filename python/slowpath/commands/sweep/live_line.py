"""The line on standard error that shows how far a sweep is, on terminals only."""

import sys
import time
from types import TracebackType

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import is_terminal, tell

_CLEAR = "\r\x1b[K"
_MINUTE = 60.0


class LiveLine:
    """Is there while programs are analysed and measured."""

    def __init__(self, count: int) -> None:
        """So many programs are to be compiled."""
        self._count = count
        self._started = time.monotonic()
        self._live = is_terminal(sys.stderr)

    def __enter__(self) -> "LiveLine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._live:
            tell(_CLEAR)

    def place(self, done: int) -> str:
        """Which of them it is about when so many are done, and how long the others may take."""
        return f"{done + 1} of {self._count}{self._left(done)}"

    def show(self, text: str) -> None:
        """Shows what is being done."""
        if self._live:
            tell(f"{_CLEAR}{one_line(text)}")

    def _left(self, done: int) -> str:
        if not done:
            return ""
        seconds = (time.monotonic() - self._started) / done * (self._count - done)
        if seconds < _MINUTE:
            return f", about {max(seconds, 1):.0f} s left"
        return f", about {seconds / _MINUTE:.0f} min left"
