"""Warnings about a result, in every report and on standard error.

A table ends with them, and a page begins with them. JSON documents have the key `warnings`
(`slowpath.core.schema.document.Warned`). CSV has no place for sentences. Standard error has them
for all formats, except if the same terminal shows the table.
"""

import sys
from collections.abc import Iterator, Sequence

from slowpath.core.printable import one_line
from slowpath.core.terminal import Line, is_terminal, note


def warning_lines(warnings: Sequence[str]) -> Iterator[Line]:
    """Yield the warnings as the last lines of a table, after an empty line."""
    if warnings:
        yield Line("")
    for text in warnings:
        yield Line(one_line(f"warning: {text}"), "yellow")


def warn(warnings: Sequence[str], *, in_table: bool = False) -> None:
    """Write warnings to standard error, unless a table with them is on the same terminal.

    `in_table` is true if standard output has a table that ends with them.
    """
    if in_table and is_terminal(sys.stdout) and is_terminal(sys.stderr):
        return
    for text in warnings:
        note(f"warning: {text}")
