"""Texts that the editor has open, and the views of their programs.

Each text has a revision, which grows with every change of the text or of a file that it depends on.
A view belongs to one revision, and is never shown for another one.
"""

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from slowpath.lsp.places import Places

if TYPE_CHECKING:
    from slowpath.lsp.analysis import View

_SECTION = re.compile(r"\bSEC\s*\(")
"""The macro of libbpf that states the type of a program."""


def path_of(uri: str) -> str | None:
    """Return the absolute path of a `file` URI; None for other URIs, such as unnamed texts."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or not parts.path:
        return None
    return os.path.normpath(unquote(parts.path, errors="surrogateescape"))


class Waiting(NamedTuple):
    """A request of the editor that is answered when the view is known."""

    request: object  # its identifier
    method: str
    first: int  # first and last line that the editor asks for, from 0
    last: int


class Buffer:
    """A text that the editor has open."""

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
        """Return true if the text is to be analysed: C with programs for BPF, or a P4 program."""
        if self.path is None:
            return False
        if self.path.endswith(".p4"):
            return Places(self.text).package() is not None
        if not self.path.endswith(".c"):
            return False
        return self.path.endswith(".bpf.c") or _SECTION.search(self.text) is not None

    def age(self) -> None:
        """Forget the view, because the text or a file that it depends on has changed."""
        self.revision += 1
        self.view = None

    def replace(self, version: int, text: str) -> None:
        """Set the text of a new version."""
        self.version, self.text = version, text
        self.age()


class Buffers:
    """All texts that the editor has open."""

    def __init__(self) -> None:
        self._by_uri = dict[str, Buffer]()

    def __iter__(self) -> Iterator[Buffer]:
        return iter(self._by_uri.values())

    def find(self, uri: object) -> Buffer | None:
        """Return the text with a URI; None if it is not open."""
        return self._by_uri.get(uri) if isinstance(uri, str) else None

    def open(self, uri: str, version: int, text: str) -> Buffer:
        """Add a text."""
        opened = self._by_uri[uri] = Buffer(uri, path_of(uri), version, text)
        return opened

    def close(self, buffer: Buffer) -> None:
        """Remove a text."""
        self._by_uri.pop(buffer.uri, None)

    def texts(self) -> dict[str, str]:
        """Return all texts of files by path, which replace the files on disk."""
        return {one.path: one.text for one in self if one.path is not None}

    def dependent(self, paths: Iterable[str]) -> list[Buffer]:
        """Return the texts with programs that include one of these headers."""
        changed = set(paths)
        return [one for one in self if one.has_programs and changed.intersection(one.headers)]
