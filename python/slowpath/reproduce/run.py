"""Runs the command `slowpath reproduce`."""

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from slowpath.bounds.progress import ProgressLines
from slowpath.core import codes, engine
from slowpath.core.codes import Code
from slowpath.core.command import load
from slowpath.core.errors import ExitCode, InputError, OptionError, stopped_code
from slowpath.core.formats import Reporter, codes_of
from slowpath.core.inputs import check_page, write_text
from slowpath.core.jobs import Stopping, heeding_signals
from slowpath.core.jobs.local_pool import LocalPool
from slowpath.core.jobs.pool import PoolObserver, StopRequested, Unfinished
from slowpath.core.spelling import unknown
from slowpath.core.terminal import about_left, error
from slowpath.reproduce.comparison import Plan, summary
from slowpath.reproduce.documents import (
    FigureList,
    PaperFigures,
    PublishedFigure,
    Reproduction,
)
from slowpath.reproduce.registry import PAPERS, Figure, Paper, Source

_SOON = 1.0
"""Time in seconds before the progress line appears."""


def reproduce(args: Namespace, reporter: Reporter) -> ExitCode:
    """Run `slowpath reproduce`: list figures, or recompute one and report the comparison.

    Raises:
        OptionError: if a paper, figure or option is wrong.
        InputError: if the data are missing or damaged, or the figure cannot be reproduced.
    """
    if args.paper is None or args.figure is None or args.list:
        _list(args, reporter)
        return ExitCode.FINE
    check_page(args.html)
    paper = _paper(args.paper)
    figure = _figure(paper, args.figure)
    if figure.compute is None:
        raise InputError(
            codes.FIGURE_UNAVAILABLE,
            f"{paper.name} {figure.name}",
            f"cannot be reproduced here: {figure.unavailable}",
        )
    source = Source(args.path, figure)
    plan: Plan = load(figure.compute)(source)
    plan = plan.repeated(args.repetitions)
    if args.only is not None:
        plan = _selected(plan, args.only)
    with heeding_signals() as stopping:
        results = _computed(plan, args, stopping, f"{paper.name} {figure.name}")
    complete = all(one is not None for one in results)
    rows = plan.rows(list(zip(plan.items, results, strict=True)))
    document: Reproduction = {
        **engine.head("reproduce", "reproduction"),
        "warnings": [*plan.warnings],
        "warning_codes": codes_of(plan.warnings),
        "paper": paper_document(paper, [figure]),
        "paths": [str(path) for path in source.paths],
        "revisions": source.revisions(),
        "complete": complete,
        "conditions": list(plan.conditions),
        "results": rows,
        "summary": summary(rows, args.within),
    }
    if args.html is not None:
        from slowpath.reproduce.page import comparison_page

        write_text(args.html, comparison_page(document, figure.axis))
    reporter.write(document, warnings=plan.warnings)
    if not complete:
        missing = sum(one is None for one in results)
        why = "interrupted" if stopping.asked else "deadline"
        error(
            stopped_code(why),
            f"{paper.name} {figure.name}",
            f"{why}: {missing} of {len(results)} items missing",
        )
        return ExitCode.UNDECIDED
    return ExitCode.FINE


def _paper(name: str) -> Paper:
    for one in PAPERS:
        if one.name == name:
            return one
    raise OptionError(
        codes.UNKNOWN_NAME, "PAPER", unknown("paper", name, [one.name for one in PAPERS])
    )


def _figure(paper: Paper, name: str) -> Figure:
    for one in paper.figures:
        if one.name == name:
            return one
    raise OptionError(
        codes.UNKNOWN_NAME, "FIGURE", unknown(f"figure of {paper.name}", name, paper.figure_names())
    )


def _list(args: Namespace, reporter: Reporter) -> None:
    """Print the list of figures: of all papers, or of the named one.

    Raises:
        OptionError: if the paper is unknown, or an option needs a figure.
    """
    given = {"--html": args.html, "--only": args.only, "--deadline": args.deadline}
    for option, value in given.items():
        if value is not None:
            raise OptionError(
                codes.OPTION_WITHOUT_EFFECT, option, "needs a figure; name PAPER, FIGURE and PATH"
            )
    papers = PAPERS if args.paper is None else (_paper(args.paper),)
    document: FigureList = {
        **engine.head("reproduce", "figures"),
        "papers": [paper_document(one, one.figures) for one in papers],
    }
    reporter.write(document)


def paper_document(paper: Paper, figures: Sequence[Figure]) -> PaperFigures:
    """Return the entry of the JSON document for a paper with these figures."""
    return {
        "name": paper.name,
        "authors": paper.authors,
        "title": paper.title,
        "doi": paper.doi,
        "figures": [_figure_document(one) for one in figures],
    }


def _figure_document(figure: Figure) -> PublishedFigure:
    artefact = figure.artefact
    return {
        "name": figure.name,
        "title": figure.title,
        "needs": figure.needs,
        "page": figure.page,
        "artefact": None
        if artefact is None
        else {
            "title": artefact.title,
            "address": artefact.address,
            "revision": artefact.revision,
            "licence": artefact.licence,
        },
        "unavailable": figure.unavailable,
    }


def _selected(plan: Plan, patterns: Sequence[str]) -> Plan:
    """Return the plan with only the items that `--only` selects by these globs.

    Raises:
        OptionError: if there are none.
    """
    selected = plan.only(patterns)
    if not selected.items:
        raise OptionError(
            codes.UNKNOWN_NAME, "--only", unknown("item", patterns[0], dict.fromkeys(plan.labels))
        )
    return selected


class _Refused(NamedTuple):
    """Copy of an `InputError` that a worker process can send back, because it can be pickled."""

    code: Code
    file: str
    reason: str


class _Guarded:
    """Wrapper of the function that computes an item; it returns input errors as values.

    It is a class, so that it can be pickled and sent to worker processes.
    """

    def __init__(self, work: Callable[[Any, Any, StopRequested], Any]) -> None:
        self._work = work

    def __call__(self, common: object, item: object, stop: StopRequested) -> Any:  # noqa: ANN401
        """Call the wrapped function. If it raises an InputError, return it as a `_Refused`."""
        try:
            return self._work(common, item, stop)
        except InputError as problem:
            return _Refused(problem.code, problem.file, problem.reason)


def _computed(plan: Plan, args: Namespace, stopping: Stopping, subject: str) -> list[Any | None]:
    """Compute the items of a plan in parallel; return the result of each, None if not computed.

    `subject` is the name of the figure for the progress line.

    Raises:
        InputError: if the data of an item are damaged, or a worker died.
    """
    started = time.monotonic()
    until = None if args.deadline is None else started + args.deadline
    count, lines = len(plan.items), ProgressLines(subject)

    def over() -> bool:
        return stopping.asked or (until is not None and time.monotonic() >= until)

    def left(done: int, elapsed: float) -> str:
        return f", {about_left(elapsed / done * (count - done))}" if done else ""

    def look(done: int) -> None:
        lines.show(
            lambda elapsed: f"{done} of {count} computed{left(done, elapsed)}",
            lambda elapsed: (
                f"{elapsed:.0f} s so far, {done} of {count} computed{left(done, elapsed)}; "
                "Ctrl-C stops with the items so far"
            ),
            after=_SOON,
        )

    pool = LocalPool(args.jobs)
    results = list[Any | None]()
    look(0)
    try:
        found = pool.each(_Guarded(plan.work), plan.common, plan.items, PoolObserver(over, look))
        for one in found:
            match one:
                case _Refused(code, file, reason):
                    raise InputError(code, file, reason)
                case Unfinished(died=True):
                    raise InputError(codes.WORKER_LOST, subject, pool.lost)
                case Unfinished():
                    results.append(None)
                case _:
                    results.append(one)
    finally:
        lines.close()
    return results
