"""The language server: handles messages of the editor, keeps its texts, and starts analyses.

One thread waits for the editor, the worker process and the next analysis. The worker has one
analysis at a time; a newer text stops it. Results for older texts are dropped.

Each text has a revision, a number that grows with every change of the text or of a file that it
depends on. Results belong to one revision, and are never shown for another one.
"""

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from slowpath.core import engine
from slowpath.core.codes import INTERNAL_ERROR
from slowpath.core.jobs import WorkerLostError
from slowpath.core.jobs.supervision import ProcessWorker
from slowpath.core.settings import OWN, SHARED
from slowpath.lsp.analysis import View, view_of
from slowpath.lsp.messages import Connection, ErrorCode, Json
from slowpath.lsp.places import Places

_SECTION = re.compile(r"\bSEC\s*\(")
"""The macro of libbpf that states the type of a program."""


def path_of(uri: str) -> str | None:
    """Return the absolute path of a `file` URI; None for other URIs, such as unnamed texts."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or not parts.path:
        return None
    return os.path.normpath(unquote(parts.path, errors="surrogateescape"))


class Waiting(NamedTuple):
    """A request of the editor that is answered once the analysis of its file has ended."""

    request: object  # its identifier
    method: str
    first: int  # first and last line that the editor asks for, from 0
    last: int


class Buffer:
    """A source file that is open in the editor, with its present text."""

    def __init__(self, uri: str, path: str | None, version: int, text: str) -> None:
        self.uri, self.path = uri, path
        self.version, self.text = version, text
        self.revision = 0
        self.due: float | None = None  # time of the next analysis, by the monotonic clock
        self.view: View | None = None  # of the present revision
        self.headers = list[str]()  # of the last view
        self.waiting = list[Waiting]()
        self.has_problems = False  # true if the editor shows problems of this text

    @property
    def has_programs(self) -> bool:
        """True if the text is to be analysed: C with programs for BPF, or a P4 program."""
        if self.path is None:
            return False
        if self.path.endswith(".p4"):
            return Places(self.text).package() is not None
        if not self.path.endswith(".c"):
            return False
        return self.path.endswith(".bpf.c") or _SECTION.search(self.text) is not None

    def age(self) -> None:
        """Drop the analysis results, because the text or a header has changed.

        The revision grows, so that results of a running analysis are dropped, too.
        """
        self.revision += 1
        self.view = None

    def replace(self, version: int, text: str) -> None:
        """Replace the text by a new version that the editor sent."""
        self.version, self.text = version, text
        self.age()


class Buffers:
    """All source files that are open in the editor."""

    def __init__(self) -> None:
        self._by_uri = dict[str, Buffer]()

    def __iter__(self) -> Iterator[Buffer]:
        return iter(self._by_uri.values())

    def find(self, uri: object) -> Buffer | None:
        """Return the open file with a URI; None if it is not open in the editor."""
        return self._by_uri.get(uri) if isinstance(uri, str) else None

    def open(self, uri: str, version: int, text: str) -> Buffer:
        """Add a file that the editor has opened."""
        opened = self._by_uri[uri] = Buffer(uri, path_of(uri), version, text)
        return opened

    def close(self, buffer: Buffer) -> None:
        """Remove a file that the editor has closed."""
        self._by_uri.pop(buffer.uri, None)

    def texts(self) -> dict[str, str]:
        """Return the texts of all open files by path.

        Analyses use them in place of files on disk.
        """
        return {one.path: one.text for one in self if one.path is not None}

    def dependent(self, paths: Iterable[str]) -> list[Buffer]:
        """Return the open files with programs that include one of the headers `paths`."""
        changed = set(paths)
        return [one for one in self if one.has_programs and changed.intersection(one.headers)]


_GRACE_SECONDS = 0.5
"""Seconds from the request to stop an analysis until its process is killed."""
_FULL = 1
"""Kind of changes that the editor sends: the whole text (`TextDocumentSyncKind.Full`)."""
_LENSES, _HINTS = "textDocument/codeLens", "textDocument/inlayHint"
_REFRESHES = (
    (_LENSES, "codeLens", "workspace/codeLens/refresh"),
    (_HINTS, "inlayHint", "workspace/inlayHint/refresh"),
)
_LAST_LINE = 1 << 31


class _Work(NamedTuple):
    """The running analysis: its file, and the revision of the text that it analyses."""

    buffer: Buffer
    revision: int  # of the analysed text


class Timing(NamedTuple):
    """The user's choice of when analyses start: after a delay, or when a text is saved."""

    delay: float  # seconds between an edit and the analysis
    on_save: bool  # true: analyse saved text only


class Server:
    """The state of the server: open texts, worker process, and running analysis."""

    def __init__(self, connection: Connection, worker: ProcessWorker, timing: Timing) -> None:
        self.exit_code: int | None = None  # not None: the editor ended the server
        self._connection = connection
        self._worker = worker
        self._timing = timing
        self._buffers = Buffers()
        self._work: _Work | None = None
        self._kill_at: float | None = None  # time at which the stopped worker is killed
        self._initialized = self._shut_down = False
        self._refreshes = dict[str, str]()  # by method, the request that lets editors ask again
        self._requests: dict[str, Callable[[object, Json], None]] = {
            "initialize": self._initialize,
            "shutdown": self._shutdown,
            _LENSES: lambda request, params: self._show(request, _LENSES, params),
            _HINTS: lambda request, params: self._show(request, _HINTS, params),
        }
        self._notifications: dict[str, Callable[[Json], None]] = {
            "textDocument/didOpen": self._opened,
            "textDocument/didChange": self._changed,
            "textDocument/didSave": self._saved,
            "textDocument/didClose": self._closed,
            "workspace/didChangeWatchedFiles": self._files_changed,
            "$/cancelRequest": self._cancelled,
        }

    # --- the loop calls these ------------------------------------------------------------------

    def wait_seconds(self) -> float | None:
        """Return the seconds until `tick` must be called; None if it can wait for a message."""
        times = [] if self._work else [one.due for one in self._buffers if one.due is not None]
        if self._kill_at is not None:
            times.append(self._kill_at)
        return max(min(times) - time.monotonic(), 0) if times else None

    def tick(self) -> None:
        """Do what is due: take results, kill a worker that does not stop, start an analysis."""
        if self._worker.descriptor() is not None:
            self._receive(self._work)
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._worker.kill()
            self._work = self._kill_at = None
        if self._work is None:
            self._start()

    def handle(self, message: Json) -> None:
        """Handle a message of the editor: a request, a notification, or a reply."""
        method, request = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if not isinstance(method, str):
            return  # an answer to a request of ours
        if method == "exit":
            self.exit_code = 0 if self._shut_down else 1
        elif "id" not in message:
            notified = self._notifications.get(method)
            if notified is not None and self._initialized and not self._shut_down:
                try:
                    notified(params)
                except (KeyError, TypeError, AttributeError):
                    return  # notifications have no answer that could contain an error
        elif not self._initialized and method != "initialize":
            self._connection.fail(request, ErrorCode.NOT_INITIALIZED, "initialize comes first")
        elif self._shut_down:
            self._connection.fail(request, ErrorCode.INVALID_REQUEST, "the server is shut down")
        elif method not in self._requests:
            self._connection.fail(request, ErrorCode.METHOD_NOT_FOUND, f"no method {method}")
        else:
            try:
                self._requests[method](request, params)
            except (KeyError, TypeError, AttributeError) as problem:
                reason = f"invalid parameters: {type(problem).__name__}: {problem}"
                self._connection.fail(request, ErrorCode.INVALID_PARAMS, reason)

    def end(self) -> None:
        """End the worker process. A running analysis gets some time to end its compiler."""
        if self._work is not None:
            self._worker.stop()
            with suppress(WorkerLostError):
                self._worker.receive(_GRACE_SECONDS)
        self._worker.kill()

    # --- requests ------------------------------------------------------------------------------

    def _initialize(self, request: object, params: Json) -> None:
        self._initialized = True
        workspace = (params.get("capabilities") or {}).get("workspace") or {}
        self._refreshes = {
            method: refresh
            for method, name, refresh in _REFRESHES
            if (workspace.get(name) or {}).get("refreshSupport")
        }
        capabilities = {
            "positionEncoding": "utf-16",
            "textDocumentSync": {"openClose": True, "change": _FULL, "save": True},
            "codeLensProvider": {"resolveProvider": False},
            "inlayHintProvider": True,
        }
        about = {"name": "slowpath", "version": engine.version()}
        self._connection.answer(request, {"capabilities": capabilities, "serverInfo": about})

    def _shutdown(self, request: object, _params: Json) -> None:
        self._shut_down = True
        for buffer in self._buffers:
            self._refuse_waiting(buffer)
            buffer.due = None
        self._stop()
        self._connection.answer(request, None)

    def _show(self, request: object, method: str, params: Json) -> None:
        """Answer a request for texts that the editor shows above functions or after lines.

        If an analysis will provide them, the answer waits for it. An editor that supports refresh
        requests gets an empty answer at once, and asks again later.
        """
        buffer = self._buffers.find(params["textDocument"]["uri"])
        asked = params.get("range") or {"start": {"line": 0}, "end": {"line": _LAST_LINE}}
        waiting = Waiting(request, method, asked["start"]["line"], asked["end"]["line"])
        if buffer is None:
            self._connection.answer(request, [])
        elif buffer.view is not None:
            self._answer(waiting, buffer.view)
        elif self._is_coming(buffer) and method not in self._refreshes:
            buffer.waiting.append(waiting)
        else:
            self._connection.answer(request, [])

    def _is_coming(self, buffer: Buffer) -> bool:
        """Return true if an analysis of the file's present text runs or is planned."""
        running = self._work is not None and self._work.buffer is buffer
        return buffer.due is not None or (running and self._is_current())

    def _answer(self, waiting: Waiting, view: View) -> None:
        found: list[Any]
        if waiting.method == _LENSES:
            found = list(view["lenses"])
        else:
            lines = range(waiting.first, waiting.last + 1)
            found = [hint for hint in view["hints"] if hint["position"]["line"] in lines]
        self._connection.answer(waiting.request, found)

    def _refuse_waiting(self, buffer: Buffer) -> None:
        """Answer all waiting requests about a text with an error, because the text has changed."""
        for waiting in buffer.waiting:
            self._connection.fail(waiting.request, ErrorCode.CONTENT_MODIFIED, "the text changed")
        buffer.waiting.clear()

    # --- notifications -------------------------------------------------------------------------

    def _opened(self, params: Json) -> None:
        about = params["textDocument"]
        buffer = self._buffers.open(about["uri"], about["version"], about["text"])
        self._plan(buffer, 0)
        self._age_dependent(buffer, 0)

    def _changed(self, params: Json) -> None:
        about, changes = params["textDocument"], params["contentChanges"]
        buffer = self._buffers.find(about["uri"])
        if buffer is None or not changes:
            return
        delay = None if self._timing.on_save else self._timing.delay
        buffer.replace(about["version"], changes[-1]["text"])
        self._outdated(buffer)
        self._plan(buffer, delay)
        self._age_dependent(buffer, delay)

    def _saved(self, params: Json) -> None:
        buffer = self._buffers.find(params["textDocument"]["uri"])
        if buffer is None:
            return
        for one in (buffer, *self._including(buffer)):
            running = self._work is not None and self._work.buffer is one and self._is_current()
            if one.view is None and not running:
                self._plan(one, 0)

    def _closed(self, params: Json) -> None:
        buffer = self._buffers.find(params["textDocument"]["uri"])
        if buffer is None:
            return
        buffer.age()
        self._outdated(buffer)
        self._buffers.close(buffer)
        self._age_dependent(buffer, 0)

    def _files_changed(self, params: Json) -> None:
        """Plan a new analysis of texts whose headers or settings changed outside the editor."""
        paths = {path_of(change["uri"]) for change in params["changes"]}
        names = {Path(path).name for path in paths if path is not None}
        opened = self._buffers.texts()
        outside = [path for path in paths if path is not None and path not in opened]
        affected = self._buffers.dependent(outside)
        if names & {OWN, SHARED}:
            affected = [one for one in self._buffers if one.has_programs]
        for buffer in affected:
            self._age(buffer, 0)

    def _cancelled(self, params: Json) -> None:
        for buffer in self._buffers:
            for waiting in [one for one in buffer.waiting if one.request == params["id"]]:
                buffer.waiting.remove(waiting)
                self._connection.fail(waiting.request, ErrorCode.CANCELLED, "cancelled")

    # --- analyses ------------------------------------------------------------------------------

    def _plan(self, buffer: Buffer, delay: float | None) -> None:
        """Plan an analysis of a text after `delay` seconds; None: when the text is saved."""
        planned = delay is not None and buffer.has_programs
        buffer.due = time.monotonic() + delay if planned and delay is not None else None

    def _including(self, buffer: Buffer) -> list[Buffer]:
        return [] if buffer.path is None else self._buffers.dependent([buffer.path])

    def _age_dependent(self, buffer: Buffer, delay: float | None) -> None:
        """Plan a new analysis of the texts that include the header `buffer`, which has changed."""
        for one in self._including(buffer):
            self._age(one, delay)

    def _age(self, buffer: Buffer, delay: float | None) -> None:
        buffer.age()
        self._outdated(buffer)
        self._plan(buffer, delay)

    def _outdated(self, buffer: Buffer) -> None:
        """Discard requests and problems about older versions of a text, and stop its analysis."""
        self._refuse_waiting(buffer)
        if buffer.has_problems:
            self._publish(buffer, [])
        if self._work is not None and self._work.buffer is buffer:
            self._stop()

    def _is_current(self) -> bool:
        """Return true if the running analysis uses the present version of its text."""
        return self._work is not None and self._work.revision == self._work.buffer.revision

    def _stop(self) -> None:
        """Ask the running analysis to stop, and set the time at which its worker is killed."""
        if self._work is not None and self._kill_at is None:
            self._kill_at = time.monotonic() + _GRACE_SECONDS
            self._worker.stop()

    def _start(self) -> None:
        """Start the planned analysis that was due first; do nothing if none is due yet."""
        now = time.monotonic()
        due = [(one.due, one) for one in self._buffers if one.due is not None and one.due <= now]
        if not due:
            return
        _, buffer = min(due, key=lambda pair: pair[0])
        buffer.due = None
        self._work = _Work(buffer, buffer.revision)
        self._worker.start(0, None, (buffer.path, self._buffers.texts()))

    def _receive(self, work: _Work | None) -> None:
        """Receive the result of the running analysis `work`, if it has ended or failed."""
        try:
            message = self._worker.receive(0)
        except WorkerLostError as lost:
            reason = lost.text.splitlines()[-1] if lost.text else f"exit status {lost.status}"
            stopped, self._work, self._kill_at = self._kill_at is not None, None, None
            if work is not None and not stopped:
                reason = "out of memory" if lost.is_memory else f"internal error: {reason}"
                self._take(work, _failed(f"the analysis ended: {reason}"))
            return
        if message is None or work is None:
            return
        view, stuck = view_of(message)
        self._work = self._kill_at = None
        if stuck:
            self._worker.kill()  # the next analysis gets a new process
        if view is not None:
            self._take(work, view)

    def _take(self, work: _Work, view: View) -> None:
        """Show the results of an analysis in the editor, unless its text is outdated."""
        buffer = work.buffer
        if self._buffers.find(buffer.uri) is not buffer or work.revision != buffer.revision:
            return
        buffer.view, buffer.headers = view, view["headers"] or buffer.headers
        if view["diagnostics"] or buffer.has_problems:
            self._publish(buffer, view["diagnostics"])
        for waiting in buffer.waiting:
            self._answer(waiting, view)
        buffer.waiting.clear()
        for refresh in self._refreshes.values():
            self._connection.request(refresh)

    def _publish(self, buffer: Buffer, problems: list[Any]) -> None:
        buffer.has_problems = bool(problems)
        about: Mapping[str, object] = {
            "uri": buffer.uri,
            "version": buffer.version,
            "diagnostics": problems,
        }
        self._connection.notify("textDocument/publishDiagnostics", about)


def _failed(reason: str) -> View:
    """Return a view (everything that the editor shows) with the reason why the analysis failed."""
    start = {"line": 0, "character": 0}
    return {
        "lenses": [],
        "hints": [],
        "diagnostics": [
            {
                "range": {"start": start, "end": start},  # type: ignore[typeddict-item]
                "severity": 1,
                "source": "slowpath",
                "code": INTERNAL_ERROR,
                "message": f"{reason}; please report it",
            }
        ],
        "headers": [],
    }
