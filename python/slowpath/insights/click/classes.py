"""Finds the sources of element classes in a Click tree, and reads their ports from the text.

Click's build tools find classes in the same way: by the macro EXPORT_ELEMENT. A method that returns
no constant, such as a number of ports that depends on the configuration, stays unknown.
"""

import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError

_EXPORT = re.compile(r"^[ \t]*EXPORT_ELEMENT\(([\w\s-]+)\)", re.MULTILINE)
_REQUIRES = re.compile(r"^[ \t]*ELEMENT_REQUIRES\(([^)]*)\)", re.MULTILINE)
_CLASS = re.compile(
    r"\bclass\s+(?P<name>\w+)\s*(?:final\s*)?:\s*(?:public|protected|private)\s+"
    r"(?P<base>[\w:]+)[^{;]*\{"
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_METHOD = r"\b(?:{name})\s*\(\)\s*const\b[^{{;]*\{{(?P<body>[^}}]*)\}}"
_RETURNED = re.compile(
    r'\s*return\s+(?:Element::)?(?:"(?P<text>[^"]*)"|(?P<name>[A-Z0-9_]+))\s*;\s*'
)
_SKIPPED = frozenset({".git", "linuxmodule", "bsdmodule", "ns", "minios", "exopc"})
"""Folders with elements that only run in a kernel or a simulator, beside those for processes."""
_MAX_FILES = 20_000
_ROOTS = frozenset({"Element", "BatchElement", "SimpleElement", "SimpleBatchElement"})
_CONSTANTS = {
    "PORTS_0_0": "0/0",
    "PORTS_0_1": "0/1",
    "PORTS_1_0": "1/0",
    "PORTS_1_1": "1/1",
    "PORTS_1_1X2": "1/1-2",
    "AGNOSTIC": "a",
    "PUSH": "h",
    "PULL": "l",
    "PUSH_TO_PULL": "h/l",
    "PULL_TO_PUSH": "l/h",
    "PROCESSING_A_AH": "a/ah",
    "COMPLETE_FLOW": "x/x",
}


class ClassSource(NamedTuple):
    """The source of an element class, and its ports; None for what is not a constant."""

    kind: str
    """Name in configurations."""
    symbol: str
    """Name of the C++ class."""
    file: Path
    flags: tuple[str, ...]
    """Flags of clang that select the class, if one macro exports several."""
    ports: str | None
    """Numbers of inputs and outputs, such as `1/1-2`."""
    processing: str | None
    """Push, pull or agnostic by port, such as `a/ah`."""
    flow: str | None
    """Paths of packets from inputs to outputs, such as `x/x`."""


class _Declared(NamedTuple):
    """A class declaration of a header or source."""

    base: str
    body: str


class ClickTree:
    """The sources of a Click or FastClick tree."""

    def __init__(self, folder: str) -> None:
        """Open a folder.

        Raises:
            InputError: when the folder does not exist, or has no element.
        """
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise InputError(codes.NO_SUCH_FILE, folder, "no such folder; name a Click source tree")
        if not self._exported:
            reason = "no source below the folder has EXPORT_ELEMENT; name a Click source tree"
            raise InputError(codes.NOT_INSIGHTS_SOURCE, folder, reason)

    def find(self, kind: str) -> ClassSource | None:
        """Return the source of a class by its name in configurations; None if there is none."""
        found = self._exported.get(kind)
        if found is None:
            return None
        symbol, file = found
        exports = _EXPORT.findall(self._texts[file])
        several = len(exports) == 1 and len(re.findall(r"\w+", exports[0])) > 1
        flags = (f"-DSLOWPATH_ELEMENT={symbol}",) if several else ()
        methods = [self._method(symbol, name) for name in ("port_count", "processing", "flow_code")]
        return ClassSource(kind, symbol, file, flags, *methods)

    def _method(self, symbol: str, name: str) -> str | None:
        """Return the constant that a method of a class returns, its own or an inherited one."""
        pattern = re.compile(_METHOD.format(name=name))
        seen = set[str]()
        while symbol not in seen:
            seen.add(symbol)
            declared = self._declared.get(symbol)
            if declared is None:
                return (
                    {"port_count": "0/0", "processing": "a", "flow_code": "x/x"}[name]
                    if symbol in _ROOTS
                    else None
                )
            found = pattern.search(declared.body)
            if found is not None:
                returned = _RETURNED.fullmatch(found["body"])
                if returned is None:
                    return None
                return (
                    returned["text"]
                    if returned["text"] is not None
                    else _CONSTANTS.get(returned["name"])
                )
            if re.search(rf"\b{name}\s*\(\)\s*const\b", declared.body):
                return None  # defined elsewhere
            symbol = declared.base.rpartition("::")[2]
        return None

    @cached_property
    def _texts(self) -> dict[Path, str]:
        """The texts of all sources and headers that may have elements."""
        return {path: path.read_text(errors="replace") for path in self._files()}

    def _files(self) -> Iterator[Path]:
        elements = self.folder / "elements"
        start, count = elements if elements.is_dir() else self.folder, 0
        for folder, folders, files in os.walk(start):
            folders[:] = sorted(one for one in folders if one not in _SKIPPED)
            for name in sorted(files):
                if name.endswith((".cc", ".hh")):
                    count += 1
                    if count > _MAX_FILES:
                        reason = (
                            f"more than {_MAX_FILES:,} sources; name the folder of the elements"
                        )
                        raise InputError(codes.FILE_TOO_LARGE, str(self.folder), reason)
                    yield Path(folder) / name

    @cached_property
    def _exported(self) -> dict[str, tuple[str, Path]]:
        """C++ class and source of each class, by its name in configurations."""
        found = dict[str, tuple[str, Path]]()
        named = dict[str, tuple[str, Path]]()
        for path, text in self._texts.items():
            if path.suffix != ".cc":
                continue
            for words in _EXPORT.findall(text):
                for word in words.split():
                    symbol, _, kind = word.partition("-")
                    found.setdefault(kind or symbol, (symbol, path))
                    shown = self._class_name(symbol)
                    if shown is not None:
                        named.setdefault(shown, (symbol, path))
        return {**named, **found}

    def _class_name(self, symbol: str) -> str | None:
        """Return the name that the method class_name() of a class returns."""
        declared = self._declared.get(symbol)
        found = re.search(_METHOD.format(name="class_name"), declared.body) if declared else None
        returned = _RETURNED.fullmatch(found["body"]) if found else None
        return returned["text"] if returned else None

    @cached_property
    def _declared(self) -> dict[str, _Declared]:
        found = dict[str, _Declared]()
        headers = [text for path, text in self._texts.items() if path.suffix == ".hh"]
        sources = [text for path, text in self._texts.items() if path.suffix == ".cc"]
        for text in (*headers, *sources):
            code = _COMMENT.sub(" ", text)
            for one in _CLASS.finditer(code):
                found.setdefault(one["name"], _Declared(one["base"], _body(code, one.end())))
        return found


def _body(code: str, start: int) -> str:
    """Return the text up to the brace that closes the one before `start`."""
    depth = 1
    for found in re.finditer(r"[{}]", code[start:]):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return code[start : start + found.start()]
    return code[start:]
