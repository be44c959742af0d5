"""Splits the text of a Click configuration into tokens.

The source of the rules is the manual page click(5), sections LEXICAL ISSUES and CONFIGURATION
STRINGS. FastClick adds `~>` (a connection between contexts), which counts as `->`.
"""

import re
from bisect import bisect_right
from functools import cached_property
from typing import Literal, NamedTuple, NoReturn

from slowpath.core import codes
from slowpath.core.codes import Code
from slowpath.core.errors import InputError

Kind = Literal["name", "keyword", "variable", "mark", "end"]
KEYWORDS = frozenset({"elementclass", "require", "provide", "define"})
END = "the end of the file"
"""Text of the token behind the last one."""
_WORD = r"[A-Za-z0-9_@]+"
_TOKEN = re.compile(
    rf"(?P<name>{_WORD}(?:/{_WORD})*)"
    r"|(?P<variable>\$[A-Za-z0-9_]+)"
    r"|(?P<context>~[A-Za-z0-9/]*>)"
    r"|(?P<mark>->|=>|::|\|\||\.\.\.|[;,()\[\]{}|-])"
)
_BLANK = re.compile(r"\s+|//[^\n\r]*|/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(r"#[ \t]*(?:line[ \t]+)?\d+[^\n\r]*|#![^\n\r]*")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'", re.DOTALL)
_BYTES = re.compile(r"\\<(?:/\*.*?\*/|//[^\n\r]*|[^>])*>", re.DOTALL)


class Token(NamedTuple):
    """A token, and the offset of its first character."""

    kind: Kind
    text: str
    offset: int


class ClickText:
    """The text of a configuration file; translates offsets to lines and columns."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(one.end() for one in re.finditer(r"\r\n|\r|\n", self.text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both counted from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def refuse(self, offset: int, reason: str, code: Code = codes.CLICK_SYNTAX) -> NoReturn:
        """Report an error at an offset.

        Raises:
            InputError: always; its file has the line and the column appended.
        """
        line, column = self.place(offset)
        raise InputError(code, f"{self.file}:{line}:{column}", reason)


class Tokens:
    """A reader of tokens that can look ahead."""

    def __init__(self, source: ClickText) -> None:
        self.source = source
        self._at = 0
        self._ahead = list[Token]()

    def peek(self) -> Token:
        """Return the next token without consuming it.

        Raises:
            InputError: at a character that begins no token, or an unclosed comment.
        """
        if not self._ahead:
            self._ahead.append(self._read())
        return self._ahead[0]

    def next(self) -> Token:
        """Return the next token, and consume it.

        Raises:
            InputError: as `peek`.
        """
        found = self.peek()
        self._ahead.pop()
        return found

    def position(self) -> int:
        """Return the position of the next token, for `go_back`."""
        return self._ahead[0].offset if self._ahead else self._at

    def go_back(self, position: int) -> None:
        """Continue at an earlier position."""
        self._at = position
        self._ahead.clear()

    def accept(self, mark: str) -> Token | None:
        """Consume the next token if it is the mark or keyword; else return None.

        Raises:
            InputError: as `peek`.
        """
        found = self.peek()
        return self.next() if found.text == mark and found.kind in ("mark", "keyword") else None

    def expect(self, mark: str, where: str) -> Token:
        """Consume the mark, which must be next; `where` completes the error message.

        Raises:
            InputError: when another token is next.
        """
        found = self.accept(mark)
        if found is None:
            self.unexpected(f"write {mark!r} {where}")
        return found

    def unexpected(self, remedy: str) -> NoReturn:
        """Report the next token as an error, with the remedy.

        Raises:
            InputError: always.
        """
        found = self.peek()
        shown = found.text if found.kind == "end" else repr(found.text)
        self.source.refuse(found.offset, f"unexpected {shown}; {remedy}")

    def config(self, opening: Token) -> str:
        """Return the text up to the parenthesis that closes `opening`, and consume both.

        No token behind `opening` may have been looked at.

        Raises:
            InputError: when the parenthesis, a quotation or a comment is not closed.
        """
        text, start, depth = self.source.text, opening.offset + 1, 1
        at = start
        while True:
            if at >= len(text):
                self.source.refuse(opening.offset, "the parenthesis is not closed; add ')'")
            one = text[at]
            if one in "\"'" or text.startswith("\\<", at):
                found = (_BYTES if one == "\\" else _QUOTED).match(text, at)
                if found is None:
                    self.source.refuse(
                        at, f"the quotation {text[at : at + 2]} is not closed; add its end"
                    )
                at = found.end()
                continue
            if one == "/" and text[at : at + 2] in ("//", "/*"):
                at = self._comment(at)
                continue
            depth += (one == "(") - (one == ")")
            if not depth:
                self._at = at + 1
                return text[start:at]
            at += 1

    def _comment(self, at: int) -> int:
        """Return the offset behind the comment that starts at an offset."""
        found = _BLANK.match(self.source.text, at)
        if found is None:
            self.source.refuse(at, "the comment is not closed; add '*/'")
        return found.end()

    def _read(self) -> Token:
        text = self.source.text
        while self._at < len(text):
            at = self._at
            if text[at] == "#" and (at == 0 or text[at - 1] in "\n\r"):
                found = _DIRECTIVE.match(text, at)
                if found is None:
                    reason = "'#' begins line directives, such as '# 12'; write // for a comment"
                    self.source.refuse(at, reason)
                self._at = found.end()
                continue
            blank = text[at].isspace() or text[at : at + 2] in ("//", "/*")
            if not blank:
                break
            self._at = self._comment(at)
        if self._at >= len(text):
            return Token("end", END, len(text))
        found = _TOKEN.match(text, self._at)
        if found is None:
            self.source.refuse(self._at, f"unexpected {text[self._at]!r}; remove it")
        self._at = found.end()
        kind = found.lastgroup
        if kind == "name":
            return Token("keyword" if found[0] in KEYWORDS else "name", found[0], found.start())
        if kind == "variable":
            return Token("variable", found[0][1:], found.start())
        return Token("mark", "->" if kind == "context" else found[0], found.start())
