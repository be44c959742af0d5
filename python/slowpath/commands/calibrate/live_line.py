"""The line on standard error that shows how far a run is, and how long it may still take."""

import time

from slowpath.cli import live_line
from slowpath.cli.terminal import note

_PAUSE = 30.0
"""Seconds between two lines of a stage where there is no terminal."""


class LiveLine(live_line.LiveLine):
    """Is there while experiments run: on terminals a line that changes, else one for each."""

    def __init__(self, count: int, then: str = "") -> None:
        """Begin the line.

        Args:
            count: experiments to run.
            then: work behind them, whose time is not known yet.
        """
        super().__init__()
        self._count = count
        self._then = f", then {then}" if then else ""
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
        """Return the time left, if experiments take as long as those before."""
        if not self._done or self._done == self._count:
            return ""
        each = (time.monotonic() - self._started) / self._done
        return f"; {live_line.about_left(each * (self._count - self._done))}{self._then}"


class StageLine(live_line.LiveLine):
    """Progress of a stage: on terminals a line that changes, else a line every 30 s."""

    def __init__(self, stage: str) -> None:
        super().__init__()
        self._stage = stage
        self._started = time.monotonic()
        self._said = self._started
        self._share = 0.0
        self.draw(stage)
        if not self.live:
            note(stage)

    def show(self, share: float, text: str = "") -> None:
        """Shows which share of the stage is done, and how long the rest may take.

        A search that turns back for a while is as far as it was.
        """
        share = self._share = min(max(share, self._share), 1.0)
        now = time.monotonic()
        took = now - self._started
        left = f"; {live_line.about_left(took * (1 - share) / share)}" if 0 < share < 1 else ""
        words = f"{self._stage}: {share:.0%}{f', {text}' if text else ''}{left}"
        self.draw(words)
        if not self.live and now - self._said >= _PAUSE:
            self._said = now
            note(words)
