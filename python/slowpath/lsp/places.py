"""Finds positions in a C or P4 source: functions of programs, and columns as editors count them."""

import re
from pathlib import Path
from typing import TypedDict

_IGNORED = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
"""Comments, strings and characters of C."""

_INCLUSION = re.compile(r"""\s*#\s*include\s*[<"]([^>"]+)[>"]""")


class Position(TypedDict):
    """A position in a text: line and UTF-16 code unit in it, both from 0."""

    line: int
    character: int


class Range(TypedDict):
    """A range of a text: `end` is the position after its last character."""

    start: Position
    end: Position


def units(text: str) -> int:
    """Return the length of a text in UTF-16 code units, in which editors count columns."""
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2


class Places:
    """Finds positions of lines, functions and `#include` lines in the text of a C or P4 source."""

    def __init__(self, text: str) -> None:
        self._code = _IGNORED.sub(_blank, text)
        self._lines = re.split(r"\r\n|\r|\n", text)

    def end(self, line: int) -> Position | None:
        """Return the end of a line, which is counted from 1; None if there is no such line."""
        if not 0 < line <= len(self._lines):
            return None
        return {"line": line - 1, "character": units(self._lines[line - 1].rstrip())}

    def whole(self, line: int, column: int | None = None) -> Range:
        """Return the range of a line's text, starting at `column` if given.

        Lines count from 1, columns from 1 in bytes of UTF-8, as clang prints them. Lines that do
        not exist have the range of the nearest line.
        """
        line = min(max(line, 1), len(self._lines))
        text = self._lines[line - 1].rstrip()
        first = len(text) - len(text.lstrip())
        if column is not None:
            before = text.encode(errors="surrogatepass")[: column - 1]
            first = min(len(before.decode(errors="ignore")), len(text))
        start: Position = {"line": line - 1, "character": units(text[:first])}
        return {"start": start, "end": {"line": line - 1, "character": units(text)}}

    def range_of(
        self, line: int, column: int | None = None, end: tuple[int, int] | None = None
    ) -> Range:
        """Return the range of a problem that starts at `line` and `column`.

        With `end`, columns count characters, as in the engine's errors about P4 programs. Otherwise
        they count bytes, and the range is the rest of the line.
        """
        if column is None or end is None or not 0 < line <= len(self._lines):
            return self.whole(line, column)
        start = self._position(line, column)
        last = self._position(*end) if 0 < end[0] <= len(self._lines) else start
        if (last["line"], last["character"]) <= (start["line"], start["character"]):
            return self.whole(line)
        return {"start": start, "end": last}

    def _position(self, line: int, column: int) -> Position:
        """Return the editor's position of a character; line and column count from 1."""
        return {"line": line - 1, "character": units(self._lines[line - 1][: column - 1])}

    def inclusion(self, file: str) -> int | None:
        """Return the first line that includes the header `file`; None if no line does.

        Lines count from 1. Folders are ignored: only the last part of the name must agree.
        """
        for number, line in enumerate(self._lines, 1):
            found = _INCLUSION.match(line)
            if found is not None and Path(found[1]).name == Path(file).name:
                return number
        return None

    def function(self, name: str) -> int | None:
        """Return the line of a function's definition, from 1; None if the name does not occur.

        If a macro defines the function, return the first line with its name.
        """
        first: int | None = None
        for found in re.finditer(rf"\b{re.escape(name)}\b", self._code):
            if first is None:
                first = found.start()
            if self._is_definition(found.end()):
                return self._line(found.start())
        return None if first is None else self._line(first)

    def package(self) -> int | None:
        """Return the line of the name `main` of a P4 program's package; None if it has none.

        Included files have no package (P4_16 specification, section 17). The semicolon may be
        missing, or follow in a macro.
        """
        found = re.search(r"\)\s*(main)\b", self._code)
        return None if found is None else self._line(found.start(1))

    def _is_definition(self, at: int) -> bool:
        """Return true if the code at offset `at` continues with parameters and a function body."""
        opening = re.compile(r"\s*\(").match(self._code, at)
        if opening is None:
            return False
        depth, at = 1, opening.end()
        for sign in re.compile(r"[()]").finditer(self._code, at):
            depth += 1 if sign[0] == "(" else -1
            if not depth:
                return re.compile(r"\s*\{").match(self._code, sign.end()) is not None
        return False

    def _line(self, offset: int) -> int:
        return len(re.findall(r"\r\n|\r|\n", self._code[:offset])) + 1


def _blank(found: re.Match[str]) -> str:
    """Replace a comment or string by spaces of the same length, so that offsets stay valid."""
    return re.sub(r"[^\r\n]", " ", found[0])
