"""The line on standard error that shows how far a run is, and how long it may still take."""

import time

from slowpath.cli import live_line
from slowpath.cli.terminal import note


class LiveLine(live_line.LiveLine):
    """Is there while experiments run: on terminals a line that changes, else one for each."""

    def __init__(self, count: int) -> None:
        """So many experiments are to run."""
        super().__init__()
        self._count = count
        self._done = 0
        self._started = time.monotonic()

    def show(self, name: str, text: str) -> None:
        """Shows what is being done for an experiment."""
        self.draw(f"{self._done + 1} of {self._count}, {name}: {text}{self._left()}")

    def done(self, name: str) -> None:
        """An experiment has ended."""
        self._done += 1
        if not self.live:
            note(f"{self._done} of {self._count}: {name}{self._left()}")

    def _left(self) -> str:
        """How long the others may take, if they take as long as those before."""
        if not self._done or self._done == self._count:
            return ""
        each = (time.monotonic() - self._started) / self._done
        return f"; {live_line.about_left(each * (self._count - self._done))}"
