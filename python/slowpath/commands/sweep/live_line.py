"""The line on standard error that shows how far a sweep is, on terminals only."""

import time

from slowpath.cli import live_line


class LiveLine(live_line.LiveLine):
    """Is there while programs are analysed and measured."""

    def __init__(self, count: int) -> None:
        """So many programs are to be compiled."""
        super().__init__()
        self._count = count
        self._started = time.monotonic()

    def place(self, done: int) -> str:
        """Which of them it is about when so many are done, and how long the others may take."""
        return f"{done + 1} of {self._count}{self._left(done)}"

    def show(self, text: str) -> None:
        """Shows what is being done."""
        self.draw(text)

    def _left(self, done: int) -> str:
        if not done:
            return ""
        each = (time.monotonic() - self._started) / done
        return f", {live_line.about_left(each * (self._count - done))}"
