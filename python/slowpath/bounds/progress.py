"""Shows the progress of long work on standard error.

A terminal shows a live line (which is overwritten) with the current program, the stage and the
finished amount of work. In addition, long work prints one permanent line with its state and the
ways to end it. A command has only one of each line, even if it does several kinds of work.
"""

import os
import sys
import time
from collections.abc import Callable

from slowpath.core.engine.analyses import Progress, Run, StageProgress
from slowpath.core.printable import one_line
from slowpath.core.schema.derived import metric_words
from slowpath.core.schema.rates import as_metric, format_rate
from slowpath.core.terminal import note_progress, shows_progress, tell

_CLEAR = "\r\x1b[K"
_LONG = 10.0
"""Seconds after which the permanent line is printed."""


class Watcher:
    """Observes the analysis of one program. This base class does nothing."""

    def look(self, run: Run) -> None:
        """Observe the state of the analysis; called ten times a second while it runs."""

    def close(self) -> None:
        """End the observation; called once after the analysis."""


Watching = Callable[[str, str, float | None], Watcher]
"""Function that creates a watcher from a program's label, the metric, and the deadline."""


class ProgressLines:
    """Progress on a terminal: a line that is overwritten, and a permanent line for long work."""

    def __init__(self, subject: str) -> None:
        """Start the clock; both lines begin with `subject`."""
        self._subject = one_line(subject)
        self._start = time.monotonic()
        self._live = shows_progress()
        self._drawn = False
        self._noted = False

    def show(
        self,
        live: Callable[[float], str],
        permanent: Callable[[float], str],
        *,
        after: float = 0.0,
    ) -> None:
        """Update the live line, and print the permanent line once after a certain time.

        Args:
            live: Returns the text of the live line for the elapsed seconds.
            permanent: Returns the text of the permanent line for the elapsed seconds.
            after: Seconds before the live line appears.
        """
        elapsed = time.monotonic() - self._start
        if elapsed >= _LONG and not self._noted:
            self._noted = True
            self.close()
            note_progress(f"note: {self._subject}: {permanent(elapsed)}")
        if self._live and elapsed >= after:
            text = one_line(f"{self._subject}: {live(elapsed)}")
            tell(f"{_CLEAR}{cut(text, _columns() - 1)}")
            self._drawn = True

    def close(self) -> None:
        """Clear the live line from the terminal."""
        if self._drawn:
            tell(_CLEAR)
        self._drawn = False


class Watch(Watcher):
    """Displays the progress of the analysis of one program; call `look` ten times a second."""

    def __init__(self, subject: str, metric: str, seconds: float | None) -> None:
        """Start the clock; `seconds` is the deadline of the analysis, None without one."""
        self._shown = ProgressLines(subject)
        self._metric = metric
        self._seconds = seconds

    def look(self, run: Run) -> None:
        """Show the current progress of the analysis."""
        self._shown.show(
            lambda elapsed: describe_run(run, self._metric, elapsed),
            lambda elapsed: explain(run, self._metric, elapsed, self._seconds),
        )

    def close(self) -> None:
        """Clear the live line from the terminal."""
        self._shown.close()


def explain(run: Run, metric: str, elapsed: float, seconds: float | None) -> str:
    """Describe the state of a long analysis, and the options that shorten it.

    `elapsed` is the time so far in seconds; `seconds` is the deadline, None without one.
    """
    progress, stage = run.progress, run.stage or "reading the program"
    known = progress.candidates or progress.value
    bound = _bound(progress, metric) if known else "no bound yet"
    ways = [_time_limit(seconds, "--deadline"), "Ctrl-C stops with the bound so far"]
    if not progress.paths:
        ways.append("--unroll N@LOCATION limits a loop")
    return f"{elapsed:.0f} s so far, {stage}, {bound}; {', '.join(ways)}"


def describe_run(run: Run, metric: str, elapsed: float) -> str:
    """Describe the state of an analysis in a few words; `elapsed` is in seconds."""
    if not (run.progress.candidates or run.progress.value or run.progress.paths):
        doing = f"{run.stage}, " if run.stage else ""
        return f"{doing}{elapsed:.1f} s"
    return describe(run.progress._replace(seconds=elapsed), metric)


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def cut(text: str, columns: int) -> str:
    """Cut a text to a number of terminal columns. East Asian wide characters take two columns."""
    from unicodedata import east_asian_width

    for at, character in enumerate(text):
        columns -= 2 if east_asian_width(character) in {"W", "F"} else 1
        if columns < 0:
            return text[:at]
    return text


def describe(progress: Progress, metric: str) -> str:
    """Describe the progress of an analysis: its bound, tried paths, conflicts, and time."""
    tried = f"{_paths(progress.candidates)} tried, {progress.nogoods} conflicts"
    return f"{_bound(progress, metric)}, {tried}, {progress.seconds:.1f} s"


def _bound(progress: Progress, metric: str) -> str:
    rate = as_metric(metric)
    if rate is None:
        bound, limit = f"{int(progress.value)} {metric_words(metric)}", "at most"
    else:
        bound, limit = format_rate(progress.value, rate), "at least"
    paths = progress.paths
    return f"{bound}, {_paths(paths)} found" if paths else f"{limit} {bound}"


def _paths(count: int) -> str:
    return f"{count} path" if count == 1 else f"{count} paths"


_SOON = 1.0
"""Seconds until the live line appears."""
_QUIET = StageProgress("", "", 0, "")


class WorkWatch:
    """Displays the progress of a command that runs several kinds of work.

    Call `look` ten times a second.
    """

    def __init__(self, file: str, ends: str) -> None:
        """Start the clock.

        `file` starts the line. `ends` tells the user when the work ends: `--deadline ends it after
        60 s`.
        """
        self._shown = ProgressLines(file)
        self._ends = ends
        self._stage = _QUIET

    def take(self, stage: StageProgress) -> None:
        """Store the progress of the work; the next call of `look` shows it."""
        self._stage = stage

    def look(self) -> None:
        """Show the progress that was last passed to `take`."""
        self._shown.show(
            lambda elapsed: f"{describe_work(self._stage)}, {elapsed:.1f} s",
            lambda elapsed: f"{elapsed:.0f} s so far, {describe_work(self._stage)}; {self._ends}",
            after=_SOON,
        )

    def see(self, stage: StageProgress) -> None:
        """Store and show the progress of the work."""
        self.take(stage)
        self.look()

    def close(self) -> None:
        """Clear the live line."""
        self._shown.close()


class PartWatcher(Watcher):
    """Shows the progress of one analysis within a command that does further work."""

    def __init__(self, watch: WorkWatch, subject: str) -> None:
        """Store the progress display of the command, and the program's name to show in it."""
        self._watch = watch
        self._subject = subject

    def look(self, run: Run) -> None:
        """Show the progress of the analysis in the display of the command."""
        self._watch.see(StageProgress(self._subject, run.stage, run.progress.candidates, "paths"))


def ending(seconds: float | None, option: str) -> str:
    """Describe the ways to end the work; `option` limits its time to `seconds` (None: no limit)."""
    return f"{_time_limit(seconds, option)}, Ctrl-C stops with the results so far"


def _time_limit(seconds: float | None, option: str) -> str:
    if seconds is None:
        return f"no time limit (set one with {option})"
    return f"time limit {seconds:g} s ({option})"


def describe_work(progress: StageProgress) -> str:
    """Describe the progress of work in a few words: its subject, stage, and finished amount."""
    stage = progress.stage or "reading"
    count = f", {progress.done} {progress.unit}" if progress.done and progress.unit else ""
    return f"{progress.subject}: {stage}{count}" if progress.subject else f"{stage}{count}"
