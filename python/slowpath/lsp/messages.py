"""Reads and writes the messages of an editor: JSON-RPC 2.0 with the header of LSP."""

import json
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any

Json = dict[str, Any]
_END = b"\r\n\r\n"
_LENGTH = "content-length"
_LONGEST_HEADER = 1 << 12


class ErrorCode(IntEnum):
    """Errors of JSON-RPC and LSP (LSP 3.17, "Response Message")."""

    PARSE = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    NOT_INITIALIZED = -32002
    CANCELLED = -32800
    CONTENT_MODIFIED = -32801


class ProtocolError(Exception):
    """The editor violates the protocol, so that the start of its next message is unknown."""


class NoInputError(ProtocolError):
    """The input ends before the first message."""


class Connection:
    """A connection to an editor: splits received bytes into messages, and sends messages."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        """Store the function that writes bytes to the editor."""
        self._write = write
        self._received = bytearray()
        self._begun = False  # true: there was input
        self._number = 0

    def feed(self, data: bytes) -> Iterator[Json]:
        """Add received bytes, and yield the messages that are complete now.

        A message that is not JSON is answered with an error and left out.

        Raises:
            ProtocolError: if a header has no length.
        """
        self._begun = self._begun or bool(data)
        self._received += data
        while (end := self._received.find(_END)) >= 0:
            start = end + len(_END)
            stop = start + _length(bytes(self._received[:end]))
            if len(self._received) < stop:
                return
            content = bytes(self._received[start:stop])
            del self._received[:stop]
            try:
                message = json.loads(content)
            except (ValueError, RecursionError) as problem:
                self.fail(None, ErrorCode.PARSE, f"not JSON: {problem}")
                continue
            if isinstance(message, dict):
                yield message
            else:
                self.fail(None, ErrorCode.INVALID_REQUEST, "a message is not an object")
        if len(self._received) > _LONGEST_HEADER and _END not in self._received[:_LONGEST_HEADER]:
            raise ProtocolError("a header is too long")

    def end(self) -> None:
        """Check, at the end of the input, that no message is incomplete.

        Raises:
            ProtocolError: if a message is incomplete.
            NoInputError: if the input had no message at all.
        """
        if self._received:
            raise ProtocolError("it ends within a message")
        if not self._begun:
            raise NoInputError("is empty; editors start this command")

    def answer(self, request: object, result: object) -> None:
        """Send the result of a request; `request` is the identifier that the editor gave it."""
        self._send({"id": request, "result": result})

    def fail(self, request: object, code: ErrorCode, message: str) -> None:
        """Answer a request with an error; `request` is the identifier that the editor gave it."""
        self._send({"id": request, "error": {"code": int(code), "message": message}})

    def notify(self, method: str, parameters: object) -> None:
        """Send a notification: a message to which the editor does not reply."""
        self._send({"method": method, "params": parameters})

    def request(self, method: str) -> None:
        """Send a request without parameters; the reply of the editor is ignored."""
        self._number += 1
        self._send({"id": f"slowpath-{self._number}", "method": method})

    def _send(self, message: Json) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
        self._write(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))


def _length(header: bytes) -> int:
    """Return the length of a message in bytes, from its header.

    Raises:
        ProtocolError: if the header has no valid length.
    """
    for line in header.decode("ascii", errors="replace").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == _LENGTH and value.strip().isdecimal():
            return int(value)
    raise ProtocolError("a header lacks Content-Length")
