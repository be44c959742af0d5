"""Shows the progress of trainings on standard error, and ends them on signals."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from slowpath.core.jobs.stopping import handling_signals
from slowpath.core.terminal import LiveLine, about_left, note_progress

_SILENT = 1.0
"""Seconds before the progress is shown: most trainings of small tables are over by then."""
_PAUSE = 30.0
"""Seconds between two lines if standard error is not a terminal."""


class ProgressLine(LiveLine):
    """Progress line of a training; without a terminal, a line every 30 s."""

    def __init__(self, work: str) -> None:
        """Create the line; `work` is its first part, such as `training`."""
        super().__init__()
        self._work = work
        self._started = time.monotonic()
        self._noted = self._started  # time of the last line without a terminal

    def show(self, share: float) -> None:
        """Show the finished share of the work and the estimated time left."""
        now = time.monotonic()
        took = now - self._started
        left = f", {about_left(took * (1 - share) / share)}" if 0 < share < 1 else ""
        text = f"{self._work}: {share:.0%}{left}"
        if took >= _SILENT:
            self.draw(text)
        if not self.live and now - self._noted >= _PAUSE:
            self._noted = now
            note_progress(text)


@contextmanager
def interruptible(work: str) -> Iterator[ProgressLine]:
    """Show a progress line within the context; the first signal raises `KeyboardInterrupt`.

    A training has no results before its end. Later signals do not disturb the cleanup.
    """
    unwinding = False

    def handle() -> None:
        nonlocal unwinding
        if not unwinding:
            unwinding = True
            raise KeyboardInterrupt

    with handling_signals(handle), ProgressLine(work) as line:
        yield line
