"""The live line on standard error while an analysis runs."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from slowpath.engine import Progress
from slowpath.printable import one_line
from slowpath.rates import as_metric, format_rate
from slowpath.results import metric_words
from slowpath.terminal import is_terminal, tell

_PERIOD = 0.1
"""Seconds between two looks of the line; analyses that take less time never show one."""
_CLEAR = "\r\x1b[K"


@contextmanager
def live_line(subject: str, metric: str) -> Iterator[Callable[[Progress], None]]:
    """Shows how the bound improves, if standard error is a terminal; clears the line at the end.

    Yields the function that takes the news.
    """
    if not is_terminal(sys.stderr):
        yield lambda _: None
        return
    line = _Live(one_line(subject), metric)
    thread = threading.Thread(target=line.draw_until_over, daemon=True)
    thread.start()
    try:
        yield line.update
    finally:
        line.over.set()
        thread.join()


class _Live:
    """The line, drawn by a thread of its own: time goes on where there is no news."""

    def __init__(self, name: str, metric: str) -> None:
        self.over = threading.Event()
        self._name = name
        self._metric = metric
        self._news: Progress | None = None
        self._start = time.monotonic()

    def update(self, news: Progress) -> None:
        self._news = news

    def draw_until_over(self) -> None:
        drawn = False
        while not self.over.wait(_PERIOD):
            tell(f"{_CLEAR}{cut(self._text(), _columns() - 1)}")
            drawn = True
        if drawn:
            tell(_CLEAR)

    def _text(self) -> str:
        seconds = time.monotonic() - self._start
        if self._news is None:
            return f"{self._name}: {seconds:.1f} s"
        return f"{self._name}: {describe(self._news._replace(seconds=seconds), self._metric)}"


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
    rate = as_metric(metric)
    if rate is None:
        bound, loose = f"{int(news.value)} {metric_words(metric)}", "at most"
    else:
        bound, loose = format_rate(news.value, rate), "at least"
    state = f"{bound}, {_paths(news.paths)} found" if news.paths else f"{loose} {bound}"
    return f"{state}, {_paths(news.candidates)} tried, {news.nogoods} nogoods, {news.seconds:.1f} s"


def _paths(count: int) -> str:
    return f"{count} path" if count == 1 else f"{count} paths"
