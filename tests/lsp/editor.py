"""A scripted editor for tests: starts `slowpath lsp`, sends messages, and records all replies."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from support import heed_interrupts

Json = dict[str, Any]
SECONDS = 120.0
"""Time limit in seconds for an answer, far longer than answers take."""
REFRESHES = {"workspace": {name: {"refreshSupport": True} for name in ("codeLens", "inlayHint")}}


class Editor:
    """A scripted editor with a running language server."""

    def __init__(self, folder: Path, *words: str, refreshes: bool = False) -> None:
        """Start the server in a folder.

        With `refreshes`, the editor claims that the server may ask it to request hints again.
        """
        self.folder = folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "slowpath", "lsp", *words],
            cwd=folder,
            env=os.environ | {"TMPDIR": str(self.temporary)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=heed_interrupts,  # noqa: PLW1509 - no threads here
        )
        self.received = list[Json]()
        """All messages of the server, in order."""
        self._data = bytearray()
        self._number = 0
        self._versions = dict[Path, int]()
        self._capabilities = REFRESHES if refreshes else {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()

    # --- messages ------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Json) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))

    def notify(self, method: str, params: Json) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Json | None = None) -> int:
        """Send a request to the server, and return the request's number."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    def wait(self, found: Callable[[Json], bool], start: int = 0) -> Json:
        """Return the first message for which `found` is true; wait for it if necessary.

        The search starts at index `start` of all received messages.
        """
        deadline = time.monotonic() + SECONDS
        at = start
        while True:
            for message in self.received[at:]:
                if found(message):
                    return message
            at = len(self.received)
            self._receive(deadline - time.monotonic())

    def _receive(self, seconds: float) -> None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], max(seconds, 0))
        assert ready, "the server does not answer"
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        assert data, f"the server has ended: {self.process.wait()}"
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            length = int(self._data[:end].split(b":")[1])
            stop = end + 4 + length
            if len(self._data) < stop:
                break
            self.received.append(json.loads(self._data[end + 4 : stop]))
            del self._data[:stop]

    def answer(self, number: int) -> Json:
        """Wait for the server's reply to the request `number`, and return it."""
        return self.wait(lambda one: one.get("id") == number)

    # --- the protocol --------------------------------------------------------------------------

    def initialize(self) -> Json:
        params = {"processId": os.getpid(), "capabilities": self._capabilities}
        answer = self.answer(self.ask("initialize", params))
        self.notify("initialized", {})
        result: Json = answer["result"]
        return result

    def open(self, file: Path, text: str | None = None) -> None:
        self._versions[file] = 1
        text = file.read_text() if text is None else text
        about = {"uri": file.as_uri(), "languageId": "c", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": about})

    def change(self, file: Path, text: str) -> int:
        """Change the text of an open file without saving it; return the new version number."""
        self._versions[file] += 1
        about = {"uri": file.as_uri(), "version": self._versions[file]}
        changes = {"textDocument": about, "contentChanges": [{"text": text}]}
        self.notify("textDocument/didChange", changes)
        return self._versions[file]

    def save(self, file: Path, text: str) -> None:
        """Write a file, and tell the server that the editor has saved it."""
        file.write_text(text)
        self.notify("textDocument/didSave", about(file))

    def close(self, file: Path) -> None:
        self.notify("textDocument/didClose", about(file))

    def ask_hints(self, file: Path) -> int:
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99_999, "character": 0}}
        return self.ask("textDocument/inlayHint", about(file) | {"range": whole})

    def hints(self, file: Path) -> dict[int, str]:
        """Return the hints of a file by line, from 1.

        Hints are texts after a line; they must be about the text that the editor sent last.
        """
        found = self.answer(self.ask_hints(file))["result"]
        return {hint["position"]["line"] + 1: hint["label"] for hint in found}

    def lenses(self, file: Path) -> dict[int, str]:
        """Return the code lenses of a file, texts above functions, by line from 1."""
        found = self.answer(self.ask("textDocument/codeLens", about(file)))["result"]
        return {lens["range"]["start"]["line"] + 1: lens["command"]["title"] for lens in found}

    def end(self) -> None:
        """End the server as editors do; check that it leaves neither processes nor files."""
        assert self.answer(self.ask("shutdown"))["result"] is None
        self.notify("exit", {})
        assert self.process.wait(SECONDS) == 0
        assert not list(self.temporary.iterdir())

    # --- the process ---------------------------------------------------------------------------

    def children(self) -> list[int]:
        """Return the processes that the server has started, directly or not, and that still run."""
        found = list[int]()
        todo = [self.process.pid]
        while todo:
            tasks = Path(f"/proc/{todo.pop()}/task").glob("*/children")
            for task in tasks:
                with suppress(OSError):  # it has ended by now
                    own = [int(number) for number in task.read_text().split()]
                    found += own
                    todo += own
        return found

    def memory(self) -> int:
        """Return the private memory in bytes of the server and its child processes."""
        total = 0
        for process in (self.process.pid, *self.children()):
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            private = [line.split() for line in lines if line.startswith("Private_")]
            total += sum(int(words[1]) << 10 for words in private)
        return total

    def interrupt(self) -> int:
        """Send SIGTERM to the server, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)


def about(file: Path) -> Json:
    return {"textDocument": {"uri": file.as_uri()}}
