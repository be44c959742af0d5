"""The line on standard error that shows how far a run is, and how long it may still take."""

import sys
import time
from types import TracebackType

from slowpath.cli.terminal import is_terminal, note, tell

_CLEAR = "\r\x1b[K"
_MINUTE = 60.0


class LiveLine:
    """Is there while experiments run: on terminals a line that changes, else one for each."""

    def __init__(self, count: int) -> None:
        """So many experiments are to run."""
        self._count = count
        self._done = 0
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

    def show(self, name: str, text: str) -> None:
        """Shows what is being done for an experiment."""
        if self._live:
            place = f"{self._done + 1} of {self._count}"
            tell(f"{_CLEAR}{place}, {name}: {text}{self._left()}")

    def done(self, name: str) -> None:
        """An experiment has ended."""
        self._done += 1
        if not self._live:
            note(f"{self._done} of {self._count}: {name}{self._left()}")

    def _left(self) -> str:
        """How long the others may take, if they take as long as those before."""
        if not self._done or self._done == self._count:
            return ""
        each = (time.monotonic() - self._started) / self._done
        seconds = each * (self._count - self._done)
        if seconds < _MINUTE:
            return f"; about {max(seconds, 1):.0f} s left"
        return f"; about {seconds / _MINUTE:.0f} min left"
