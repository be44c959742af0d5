"""Progress on standard error.

A live line on a terminal; and once, after a while, a line that says what is going on and what can
be done about it.

That is which program, which stage, and how much of it is done: a live line on a terminal; and once,
after a while, a line that says what is going on and how to end it. Both are of the whole command,
whatever it does one after the other.
"""

import os
import sys
import time
from collections.abc import Callable

from slowpath.core.engine.analyses import Progress, Run
from slowpath.core.engine.current_stage import Doing
from slowpath.core.printable import one_line
from slowpath.core.schema.derived import metric_words
from slowpath.core.schema.rates import as_metric, format_rate
from slowpath.core.terminal import is_terminal, note, tell

_CLEAR = "\r\x1b[K"
_LONG = 10.0
"""Seconds after which people want to know what is going on."""


class Watcher:
    """Sees how far the analysis of one program is; this one looks away."""

    def look(self, run: Run) -> None:
        """Is called ten times a second."""

    def close(self) -> None:
        """Is called at the end."""


Watching = Callable[[str, str, float | None], Watcher]
"""Makes a watcher of a program's analysis: its label, the metric, how many seconds it has."""


class Shown:
    """A line on a terminal that is written over again, and once, after a while, one that stays."""

    def __init__(self, subject: str) -> None:
        """`subject` is what both begin with."""
        self._subject = one_line(subject)
        self._start = time.monotonic()
        self._live = is_terminal(sys.stderr)
        self._drawn = False
        self._said = False

    def show(
        self,
        live: Callable[[float], str],
        staying: Callable[[float], str],
        *,
        after: float = 0.0,
    ) -> None:
        """Shows what both lines say now, given how many seconds it has taken so far.

        The first one is there after so many of them.
        """
        elapsed = time.monotonic() - self._start
        if elapsed >= _LONG and not self._said:
            self._said = True
            self.close()
            note(f"note: {self._subject}: {staying(elapsed)}")
        if self._live and elapsed >= after:
            text = one_line(f"{self._subject}: {live(elapsed)}")
            tell(f"{_CLEAR}{cut(text, _columns() - 1)}")
            self._drawn = True

    def close(self) -> None:
        """Clears the live line."""
        if self._drawn:
            tell(_CLEAR)
        self._drawn = False


class Watch(Watcher):
    """What is shown while one program is analysed; `look` is to be called ten times a second."""

    def __init__(self, subject: str, metric: str, seconds: float | None) -> None:
        """The analysis has so many seconds, or any number of them."""
        self._shown = Shown(subject)
        self._metric = metric
        self._seconds = seconds

    def look(self, run: Run) -> None:
        """Shows how far the analysis is."""
        self._shown.show(
            lambda elapsed: describe_run(run, self._metric, elapsed),
            lambda elapsed: explain(run, self._metric, elapsed, self._seconds),
        )

    def close(self) -> None:
        """Clears the live line."""
        self._shown.close()


def explain(run: Run, metric: str, elapsed: float, seconds: float | None) -> str:
    """What goes on in an analysis that takes long, and which options help."""
    bound = _bound(run.news, metric) if run.news.candidates or run.news.value else "no bound yet"
    doing = run.stage or "reading the program"
    ends = "nothing ends it by itself (--deadline SECONDS does)"
    if seconds is not None:
        ends = f"--deadline ends it after {seconds:g} s"
    ways = [ends, "Ctrl-C ends it now with the bound by then"]
    if not run.news.paths:
        ways.append("--unroll N@LOCATION limits a loop")
    return f"{elapsed:.0f} s so far, {doing}, {bound}; {', '.join(ways)}"


def describe_run(run: Run, metric: str, elapsed: float) -> str:
    """The state of an analysis in a few words."""
    if not (run.news.candidates or run.news.value or run.news.paths):
        doing = f"{run.stage}, " if run.stage else ""
        return f"{doing}{elapsed:.1f} s"
    return describe(run.news._replace(seconds=elapsed), metric)


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def cut(text: str, columns: int) -> str:
    """As much of a text as fits into so many columns; some characters take two of them."""
    from unicodedata import east_asian_width

    for at, character in enumerate(text):
        columns -= 2 if east_asian_width(character) in {"W", "F"} else 1
        if columns < 0:
            return text[:at]
    return text


def describe(news: Progress, metric: str) -> str:
    """The state of an analysis in a few words."""
    tried = f"{_paths(news.candidates)} tried, {news.nogoods} nogoods, {news.seconds:.1f} s"
    return f"{_bound(news, metric)}, {tried}"


def _bound(news: Progress, metric: str) -> str:
    rate = as_metric(metric)
    if rate is None:
        bound, loose = f"{int(news.value)} {metric_words(metric)}", "at most"
    else:
        bound, loose = format_rate(news.value, rate), "at least"
    return f"{bound}, {_paths(news.paths)} found" if news.paths else f"{loose} {bound}"


def _paths(count: int) -> str:
    return f"{count} path" if count == 1 else f"{count} paths"


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
            lambda elapsed: f"{describe_work(self._doing)}, {elapsed:.1f} s",
            lambda elapsed: f"{elapsed:.0f} s so far, {describe_work(self._doing)}; {self._ends}",
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


def describe_work(doing: Doing) -> str:
    """What is being done, in a few words."""
    stage = doing.stage or "reading"
    count = f", {doing.done} {doing.unit}" if doing.done and doing.unit else ""
    return f"{doing.subject}: {stage}{count}" if doing.subject else f"{stage}{count}"
