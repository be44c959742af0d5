"""Warnings about a result, in every report and on standard error.

A table ends with them, and a page begins with them. JSON documents have the key `warnings`
(`slowpath.core.schema.document.Warned`). CSV has no place for sentences. Standard error has them
for all formats, except if it leads to the same terminal, pipe or file as the table.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from slowpath.core.codes import Code
from slowpath.core.errors import Coded, with_code
from slowpath.core.printable import one_line
from slowpath.core.terminal import Line, is_terminal, note


def warning_lines(warnings: Sequence[Coded]) -> Iterator[Line]:
    """Yield the warnings as the last lines of a table, after an empty line."""
    if warnings:
        yield Line("")
    for text in warnings:
        yield Line(one_line(with_code(f"warning: {text}", text.code)), "yellow")


def warn(warnings: Sequence[Coded], *, in_table: bool = False) -> None:
    """Write warnings to standard error, unless its reader sees a table with them.

    `in_table` is true if standard output has a table that ends with them.
    """
    if in_table and _read_together():
        return
    for text in warnings:
        note(with_code(f"warning: {text}", text.code))


def codes_of(warnings: Iterable[Coded]) -> list[str]:
    """Return the codes of warnings, for the key `warning_codes` of documents."""
    return [text.code for text in warnings]


def coded(texts: Iterable[str], codes: Iterable[str]) -> list[Coded]:
    """Return the warnings of a document, which keeps texts and codes in two lists."""
    return [Coded(Code(code), text) for text, code in zip(texts, codes, strict=True)]


def _read_together() -> bool:
    """Return true if both output streams lead to a terminal, or to the same pipe or file."""
    if is_terminal(sys.stdout) and is_terminal(sys.stderr):
        return True
    try:
        one, other = (os.fstat(stream.fileno()) for stream in (sys.stdout, sys.stderr))
    except (OSError, ValueError):  # a closed stream, or one without a file (`io.StringIO`)
        return False
    return os.path.samestat(one, other)
