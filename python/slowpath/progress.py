"""The live line on standard error while an analysis runs."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from slowpath.engine import Progress
from slowpath.rates import as_metric, format_rate
from slowpath.results import metric_words
from slowpath.terminal import one_line


@contextmanager
def live_line(subject: str, metric: str) -> Iterator[Callable[[Progress], None]]:
    """Shows how the bound improves, if standard error is a terminal; clears the line at the end.

    Yields the function that takes the news.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.text import Text

    name = one_line(subject)
    console = Console(stderr=True, highlight=False)
    with console.status(Text(name)) as status:
        yield lambda news: status.update(
            Text(f"{name}: {describe(news, metric)}", no_wrap=True, overflow="ellipsis")
        )


def describe(news: Progress, metric: str) -> str:
    """The state of an analysis in a few words."""
    rate = as_metric(metric)
    if rate is None:
        bound, loose = f"{int(news.value)} {metric_words(metric)}", "at most"
    else:
        bound, loose = format_rate(news.value, rate), "at least"
    state = f"{bound} exact, {_paths(news.paths)} found" if news.paths else f"{loose} {bound}"
    return f"{state}, {_paths(news.candidates)} tried, {news.nogoods} nogoods, {news.seconds:.1f} s"


def _paths(count: int) -> str:
    return f"{count} path" if count == 1 else f"{count} paths"
