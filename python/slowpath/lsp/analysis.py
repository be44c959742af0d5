"""Analyses the text in an editor, and describes the bounds and costs that the editor shows.

The worker process of the language server runs this module.
"""

import gc
import json
import os
import re
import tempfile
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict

from slowpath.annotate.documents import AnnotatedLine, Annotation
from slowpath.annotate.report import annotation
from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.configured import with_settings
from slowpath.bounds.outcomes import Analysed
from slowpath.bounds.plan import Plan, Request, make_plan
from slowpath.bounds.progress import Watcher
from slowpath.bounds.report_path import exactness
from slowpath.bounds.report_rates import brief, format_cycles
from slowpath.bounds.requirement import Decision, judge
from slowpath.bounds.run import requests_of, required_of
from slowpath.core import codes
from slowpath.core.command import Option
from slowpath.core.errors import InputError, OptionError
from slowpath.core.jobs import Message, Send, Stopping
from slowpath.core.printable import one_line
from slowpath.core.programs.clang import SourceError
from slowpath.core.programs.headers import RecordingLoader
from slowpath.core.quantities import about_percent
from slowpath.core.schema.derived import TIMES, cost_words, refusal_text, verdict_of
from slowpath.core.terminal import documentation_of
from slowpath.lsp.places import Places, Position, Range

_ERROR, _WARNING, _INFORMATION = 1, 2, 3
"""Values of `DiagnosticSeverity`."""
_LEAST_SHARE = 0.005
"""Minimum share of the cost for a hint at a line; `annotate` colours the same lines."""
_PLACE = re.compile(r"\(([^()]+):(\d+)\)")
"""A source line in the text of an error of the engine: `(FILE:LINE)`."""
_JOIN_SECONDS = 0.2


class CodeLens(TypedDict):
    """A text above a function (LSP: `CodeLens`)."""

    range: Range
    command: dict[str, str]


class InlayHint(TypedDict):
    """A text at the end of a line (LSP: `InlayHint`)."""

    position: Position
    label: str
    tooltip: str
    paddingLeft: bool


class Diagnostic(TypedDict):
    """A problem in the text (LSP: `Diagnostic`)."""

    range: Range
    severity: int
    source: str
    code: NotRequired[str]
    codeDescription: NotRequired[dict[str, str]]
    message: str
    relatedInformation: NotRequired[list[dict[str, Any]]]


class View(TypedDict):
    """Everything that an editor shows about a text, with the headers that the text depends on."""

    lenses: list[CodeLens]
    hints: list[InlayHint]
    diagnostics: list[Diagnostic]
    headers: list[str]
    """Absolute paths of the included headers, without those of the system."""


class _Stopped(Exception):  # noqa: N818 - not an error
    """The analysis was stopped, because the editor has a newer version of the text."""


def buffer_job(
    args: Namespace, options: Sequence[Option], folder: str
) -> Callable[[float | None, Send, Stopping, str, dict[str, str]], None]:
    """Return the function that the worker process runs for each changed text.

    It gets the absolute path of a C source, and the texts of all open files by path. It sends
    everything that the editor shows (`View`), as JSON, or None if it was stopped. Temporary files
    are in `folder`.
    """

    def job(
        seconds: float | None,  # noqa: ARG001 - programs have their own limits
        send: Send,
        stopping: Stopping,
        path: str,
        texts: dict[str, str],
    ) -> None:
        tempfile.tempdir = folder  # the server removes what a killed worker leaves
        stopping.asked = False  # a request that came after the last job does not concern this one
        try:
            view = json.dumps(_View(path, texts).of(args, options, folder, stopping))
        except (_Stopped, KeyboardInterrupt):
            view = None
        send(("done", view, _is_stuck()))
        gc.collect()  # the command line turns automatic collections off

    return job


def _is_stuck() -> bool:
    """Return true if a stopped analysis still runs on another thread of this process."""
    others = [one for one in threading.enumerate() if one is not threading.current_thread()]
    for one in others:
        one.join(_JOIN_SECONDS)
    return any(one.is_alive() for one in others)


class _Cost(NamedTuple):
    """Cost of a source line in one of the programs that contain it."""

    annotated: Annotation
    line: AnnotatedLine


class _View:
    """Collects everything that an editor shows about one text."""

    def __init__(self, path: str, texts: Mapping[str, str]) -> None:
        self._path, self._texts = path, texts
        self._places = Places(texts[path])
        self._own = dict[str, bool]()  # by file name in debug information
        self._view: View = {"lenses": [], "hints": [], "diagnostics": [], "headers": []}

    def of(
        self, args: Namespace, options: Sequence[Option], folder: str, stopping: Stopping
    ) -> View:
        """Analyse the text, and return everything that the editor shows.

        Raises:
            _Stopped: if the analysis was stopped.
        """
        try:
            with tempfile.TemporaryDirectory(dir=folder) as own:
                loader = RecordingLoader(own, self._texts)
                requests = requests_of(with_settings(args, options, [self._path]), [self._path])
                self._analyse(requests, loader, stopping)
        except OptionError as problem:
            self._problem(1, f"{problem.option}: {problem.reason}", code=problem.code)
        except InputError as problem:
            self._problem(1, f"{problem.file}: {problem.reason}", code=problem.code)
        return self._view

    def _analyse(
        self, requests: Sequence[Request], loader: RecordingLoader, stopping: Stopping
    ) -> None:
        _check(stopping)
        plan = make_plan(requests[0], loader)
        headers = loader.headers.get(self._path, [])
        self._view["headers"] = [_absolute(name) for name in headers]
        errors = loader.errors.get(self._path)
        if errors:
            self._source_errors(errors)
            return
        self._warnings(plan)
        costs = dict[int, list[_Cost]]()
        for number, request in enumerate(requests):
            session = Session(request, plan)
            asked = request.options._replace(code=True)
            for each in session.analyse(RunContext(stopping, _quiet), asked):
                _check(stopping)
                self._add(request, each, several=len(requests) > 1)
                if not number:  # lines have the costs of one target
                    self._collect(annotation(each.result, each.detail), costs)
        self._view["hints"] += (
            hint for line in sorted(costs) for hint in self._hints(line, costs[line])
        )

    def _warnings(self, plan: Plan) -> None:
        """Add the warnings of the P4 compiler as problems."""
        sources = {task.file: task.p4 for task in plan.tasks if task.p4 is not None}
        for source in sources.values():
            for one in source.warnings:
                if self._is_own(one.file):
                    self._problem(
                        one.line,
                        one.text,
                        code=one.code,
                        column=one.column,
                        end=one.end,
                        severity=_WARNING,
                    )

    def _source_errors(self, errors: Sequence[SourceError]) -> None:
        for error in errors:
            if self._is_own(error.file):
                self._problem(
                    error.line, error.text, code=error.code, column=error.column, end=error.end
                )
                continue
            # The error is in a header: show it at the `#include` line of this text, with a link to
            # the header.
            name = _absolute(error.file)
            place = Places(self._text_of(name)).range_of(error.line, error.column, error.end)
            self._problem(
                self._places.inclusion(name) or 1,
                f"{error.file}:{error.line}:{error.column}: {error.text}",
                code=error.code,
                related=[
                    {"location": {"uri": uri_of(name), "range": place}, "message": error.text}
                ],
            )

    def _text_of(self, file: str) -> str:
        """Return the text of an open file, else the content of the file, else an empty text."""
        text = self._texts.get(file)
        if text is None:
            with suppress(OSError):
                return Path(file).read_text(encoding="utf-8", errors="replace")
        return text or ""

    def _program_line(self, name: str) -> int | None:
        """Return the line of a program's function; for a P4 program, that of its package."""
        if self._path.endswith(".p4"):
            return self._places.package()
        return self._places.function(name)

    def _add(self, request: Request, analysed: Analysed, *, several: bool) -> None:
        """Add the text above a program's function (lens), and problems with its guarantee.

        `several` is true if programs are analysed for several targets, which the texts then name.
        """
        result = analysed.result
        name = result["program"]
        line = (self._program_line(name) if name else None) or 1
        on = f" on {result['target']}" if several else ""
        if result["guarantee"] is None:
            self._refused(analysed, line, on)
            return
        title = f"{brief(result)}{on}"
        if verdict_of(result) == "conditional":
            title = title.replace("exact under assumptions", exactness(result), 1)
        self._view["lenses"].append(
            {
                "range": self._places.whole(line),
                "command": {"title": one_line(title), "command": ""},
            }
        )
        found = required_of(request, analysed)
        if isinstance(found, str):
            self._problem(line, f"{name}{on}: {found}", severity=_INFORMATION)
        elif found is not None:
            accept = request.accept_assumptions
            judgement = judge(result, found.requirement, accept=accept)
            if judgement.decision is not Decision.MET:
                failed = judgement.decision is Decision.FAILED
                self._problem(
                    line,
                    f"{name}{on}: {judgement.reason} ({found.named})",
                    code=codes.MISSED_REQUIREMENT if failed else codes.UNDECIDED_REQUIREMENT,
                    severity=_ERROR if failed else _WARNING,
                )

    def _refused(self, analysed: Analysed, function: int, on: str) -> None:
        """Add the reasons why a program has no guarantee as problems, at the lines that they name.

        Reasons without a line are shown at the line `function`. `on` names the target.
        """
        result, failure = analysed.result, analysed.detail["failure"]
        texts = [(refusal_text(one), one["code"]) for one in result["refusals"] or []]
        first = result["error"] or ("no guarantee" if failure is None else failure["what"])
        if analysed.task.program is None and not texts:  # not a program for slowpath
            stopped = failure is not None and failure["kind"] == "stopped"
            level = _WARNING if stopped else _INFORMATION
            self._problem(1, first, code=result["code"], severity=level)
            return
        for text, code in texts or [(first, result["code"])]:
            line = self._line_of(text) or function
            self._problem(line, f"{result['program']}{on}: {text}", code=code)

    def _line_of(self, text: str) -> int | None:
        """Return the line that an error text names, if it is in the analysed file; else None."""
        places = ((found[1], int(found[2])) for found in _PLACE.finditer(text))
        return next((line for file, line in places if self._is_own(file)), None)

    def _problem(  # noqa: PLR0913 - the parts of a diagnostic
        self,
        line: int,
        message: str,
        *,
        code: str | None = None,
        column: int | None = None,
        end: tuple[int, int] | None = None,
        severity: int = _ERROR,
        related: list[dict[str, Any]] | None = None,
    ) -> None:
        problem: Diagnostic = {
            "range": self._places.range_of(line, column, end),
            "severity": severity,
            "source": "slowpath",
            "message": one_line(message),
        }
        if code is not None:
            problem["code"] = code
            if (address := documentation_of(code)) is not None:
                problem["codeDescription"] = {"href": address}
        if related is not None:
            problem["relatedInformation"] = related
        self._view["diagnostics"].append(problem)

    def _collect(self, annotated: Annotation, costs: dict[int, list[_Cost]]) -> None:
        for line in annotated["lines"]:
            if line["runs"] and line["share"] >= _LEAST_SHARE and self._is_own(line["file"]):
                costs.setdefault(line["line"], []).append(_Cost(annotated, line))

    def _hints(self, line: int, costs: Sequence[_Cost]) -> Iterator[InlayHint]:
        """Yield the text at the end of a line: its cost in the program with the largest share."""
        end = self._places.end(line)
        if end is None:
            return
        largest = max(costs, key=lambda cost: cost.line["share"])
        share = about_percent(largest.line["share"])
        component = largest.annotated["component"] or ""
        amount = _amount(component, largest.line["cost"][component], largest.annotated["metric"])
        yield {
            "position": end,
            "label": f"{amount} · {share}",
            "tooltip": "\n".join(map(_tooltip, costs)),
            "paddingLeft": True,
        }

    def _is_own(self, file: str) -> bool:
        """Return true if a file name in debug information or errors refers to the analysed file."""
        if file not in self._own:
            self._own[file] = os.path.realpath(file) == os.path.realpath(self._path)
        return self._own[file]


def _absolute(file: str) -> str:
    """Return the absolute path of a file without `..`.

    Symbolic links are kept, because editors use them in names, too.
    """
    return os.path.normpath(Path.cwd() / file)


def _check(stopping: Stopping) -> None:
    if stopping.asked:
        raise _Stopped


def _quiet(*_: object) -> Watcher:
    return Watcher()


def _amount(component: str, cost: float, metric: str) -> str:
    unit = "ns" if component in TIMES else cost_words(component, metric)
    return f"{format_cycles(cost)} {unit.removesuffix('s') if cost == 1 and unit != 'ns' else unit}"


def _tooltip(cost: _Cost) -> str:
    """Describe the cost of a line in a program, on all components of the device."""
    annotated, line = cost.annotated, cost.line
    runs = "once" if line["runs"] == 1 else f"{line['runs']} times"
    parts = []
    for name, total in annotated["cost"].items():
        own = line["cost"].get(name, 0)
        if total:
            amount = format_cycles(own)
            words = cost_words(name, annotated["metric"])
            parts.append(f"{amount} {words} of {format_cycles(total)}")
    return f"{annotated['program']} runs it {runs} on its slowest path: {', '.join(parts)}"


def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    from urllib.parse import quote

    return f"file://{quote(path)}"


def view_of(message: Message) -> tuple[View | None, bool]:
    """Decode a worker's message into the view that the editor shows; None if it was stopped.

    The second value is true if the worker process must be replaced, because it is stuck.
    """
    _, text, stuck = message
    return (None if text is None else json.loads(text)), stuck
