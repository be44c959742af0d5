"""Source files on disk: used for the lines that an object does not carry, if they are the same.

A file is used only when every line that the object does carry stands in it unchanged.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from slowpath.annotation.rows import Annotation
from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_text


class Source(NamedTuple):
    """The lines of a source file, or why they are not used."""

    lines: Sequence[str]  # empty: there is no such file
    remark: str | None

    def text(self, line: int) -> str | None:
        """The text of a line, counted from 1; None when it is not known."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else None


def find_sources(annotated: Annotation) -> dict[str, Source]:
    """By file as debug information names it, the sources of a program, used or not."""
    known = dict[str, dict[int, str]]()
    for line in annotated["lines"]:
        known.setdefault(line["file"], {})[line["line"]] = line["text"]
    return {file: find_source(file, annotated["file"], lines) for file, lines in known.items()}


def find_source(file: str, program: str, known: Mapping[int, str]) -> Source:
    """The source file that debug information calls `file`, of the program in the file `program`.

    It is looked for under its name and beside the program. `known` are lines as the object has
    them.
    """
    remark = None
    folder = Path(program).parent
    for candidate in dict.fromkeys((Path(file), folder / file, folder / Path(file).name)):
        if not candidate.is_file():
            continue
        try:
            lines = [_printed(line) for line in read_text(str(candidate)).split("\n")]
        except InputError as problem:
            remark = f"{problem}; only the lines in the object are shown"
            continue
        wrong = next((n for n, text in known.items() if not _agrees(lines, n, text)), None)
        if wrong is None:
            return Source(lines, None)
        remark = (
            f"{candidate} is not what the object was compiled from: line {wrong} differs; only the "
            "lines in the object are shown"
        )
    return Source((), remark)


def _printed(line: str) -> str:
    """A line as the engine delivers those of the object."""
    return line.rstrip().replace("\t", "    ")


def _agrees(lines: Sequence[str], number: int, text: str) -> bool:
    if not text:
        return number <= len(lines)  # not in the object: nothing to hold against
    return number <= len(lines) and lines[number - 1].split() == text.split()
