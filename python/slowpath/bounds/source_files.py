"""Finds the source files of programs.

A source file is used only if it agrees with all lines in the object's debug information.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from slowpath.core.errors import InputError
from slowpath.core.inputs import read_text

_LONGEST_TEXT = 200
"""Characters of a line that pipelines of P4 programs have (`LONGEST_TEXT` in crates/p4/src/swx)."""


class Source(NamedTuple):
    """The lines of a source file, or the reason for not using them."""

    lines: Sequence[str]  # empty: file not found or not used
    remark: str | None

    def text(self, line: int) -> str | None:
        """Return the text of a line, counted from 1; None if it is unknown."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else None


def find_source(file: str, program: str, known: Mapping[int, str]) -> Source:
    """Search for a source file under its name in the debug information, and beside the program.

    `program` is the file of the program; `known` has the texts in the object by line number.
    """
    remark = None
    folder = Path(program).parent
    for candidate in dict.fromkeys((Path(file), folder / file, folder / Path(file).name)):
        if not candidate.is_file():
            continue
        try:
            read = read_text(str(candidate)).split("\n")
        except InputError as problem:
            remark = f"{problem}; only the lines in the object are shown"
            continue
        wrong = next((n for n, text in known.items() if not _agrees(read, n, text)), None)
        if wrong is None:
            return Source([_printed(line) for line in read], None)
        remark = (
            f"{candidate} differs from the compiled source in line {wrong}; only the "
            "lines in the object are shown"
        )
    return Source((), remark)


def _printed(line: str) -> str:
    """Format a line as the engine formats the lines in an object."""
    return line.rstrip().replace("\t", "    ")


def _agrees(lines: Sequence[str], number: int, text: str) -> bool:
    if not text:
        return number <= len(lines)  # no text in the object to compare with
    if number > len(lines):
        return False
    line, words = lines[number - 1].rstrip(), text.split()
    return words in (line.split(), line[:_LONGEST_TEXT].split())
