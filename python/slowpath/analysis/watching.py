"""What standard error shows while work goes on that is no single analysis, such as of a chain.

That is which program, which stage, and how much of it is done: a live line on a terminal; and once,
after a while, a line that says what is going on and how to end it. Both are of the whole command,
whatever it does one after the other.
"""

from slowpath.analysis.progress import Shown, Watcher
from slowpath.engine.analyses import Run
from slowpath.engine.meanwhile import Doing

_SOON = 1.0
"""Seconds within which nothing is shown on a terminal."""
_QUIET = Doing("", "", 0, "")


class WorkWatch:
    """What is shown of one command; `look` is to be called ten times a second."""

    def __init__(self, file: str, ends: str) -> None:
        """`ends` says what ends the work, such as `--deadline ends it after 60 s`."""
        self._shown = Shown(file)
        self._ends = ends
        self._doing = _QUIET

    def take(self, doing: Doing) -> None:
        """Notes what is being done."""
        self._doing = doing

    def look(self) -> None:
        """Shows it."""
        self._shown.show(
            lambda elapsed: f"{describe(self._doing)}, {elapsed:.1f} s",
            lambda elapsed: f"{elapsed:.0f} s so far, {describe(self._doing)}; {self._ends}",
            after=_SOON,
        )

    def see(self, doing: Doing) -> None:
        """Notes what is being done, and shows it."""
        self.take(doing)
        self.look()

    def close(self) -> None:
        """Clears the live line."""
        self._shown.close()


class Looking(Watcher):
    """An analysis that is part of the work."""

    def __init__(self, watch: WorkWatch, subject: str) -> None:
        """`subject` is what it is done for, such as the name of a program."""
        self._watch = watch
        self._subject = subject

    def look(self, run: Run) -> None:
        """Shows how far it is."""
        self._watch.see(Doing(self._subject, run.stage, run.news.candidates, "paths"))


def ending(seconds: float | None, option: str) -> str:
    """What ends the work, by the option that limits its time."""
    ends = f"nothing ends it by itself ({option} SECONDS does)"
    if seconds is not None:
        ends = f"{option} ends it after {seconds:g} s"
    return f"{ends}, Ctrl-C ends it now with what is known by then"


def describe(doing: Doing) -> str:
    """What is being done, in a few words."""
    stage = doing.stage or "reading"
    count = f", {doing.done} {doing.unit}" if doing.done and doing.unit else ""
    return f"{doing.subject}: {stage}{count}" if doing.subject else f"{stage}{count}"
