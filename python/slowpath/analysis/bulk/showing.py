"""What standard error shows while many programs are analysed: how many of them are done."""

import time
from types import TracebackType
from typing import Self

from slowpath.analysis.progress import Shown
from slowpath.cli.live_line import about_left


class Showing:
    """Is there while programs are analysed, and gone when that has ended."""

    def __init__(self, count: int) -> None:
        """So many are to be analysed."""
        self._count = count
        self._shown = Shown(f"{count} program{'s'[: count != 1]}")
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.clear()

    def look(self, done: int) -> None:
        """Shows that so many are done."""
        self._shown.show(
            lambda elapsed: f"{done} analysed{self._left(done, elapsed)}",
            lambda elapsed: (
                f"{elapsed:.0f} s so far, {done} analysed{self._left(done, elapsed)}; "
                "Ctrl-C ends it now with what is known by then"
            ),
        )

    def clear(self) -> None:
        """Makes room for what is written to standard output."""
        self._shown.close()

    def _left(self, done: int, elapsed: float) -> str:
        return f", {about_left(elapsed / done * (self._count - done))}" if done else ""
