"""Expands program templates with placeholders, repeated blocks and conditional blocks.

The value of a name replaces `${name}`; in `${name${i}}`, the inner placeholder is replaced first.
Commands are comments of C and P4 on separate lines:

    //@ include FILE            insert another template from the same folder
    //@ repeat COUNT as NAME    repeat the block COUNT times; NAME counts from 0
    //@ if NAME                 keep the block unless NAME is `no` or 0; also `if not NAME`,
                                `if NAME == word`
    //@ else                    keep the following lines if the condition does not hold
    //@ end                     end the block of a `repeat` or an `if`
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

Values = Mapping[str, int | str]
_COMMAND = re.compile(r"^\s*//@\s*(\w+)\s*(.*?)\s*$")
_NAME = re.compile(r"\$\{(\w+)\}")
_Lines = list[tuple[str, str | None, str]]
"""Lines of a template, each with its command (None for plain text) and the command's arguments."""


class TemplateError(Exception):
    """A template is invalid or uses an undefined name, which is a defect of slowpath."""


def expand(folder: Path, file: str, values: Values) -> str:
    """Expand a template: run its commands and replace its placeholders."""
    lines = list(_expanded(_parsed(folder, file), values))
    return re.sub(r"\n{3,}", "\n\n", "".join(f"{line}\n" for line in lines))


def _parsed(folder: Path, file: str) -> _Lines:
    lines: _Lines = []
    for line in (folder / file).read_text().splitlines():
        command = _COMMAND.match(line)
        if command is None:
            lines.append((line, None, ""))
        elif command[1] == "include":
            lines += _parsed(folder, command[2])
        else:
            lines.append((line, command[1], command[2]))
    return lines


def _expanded(lines: _Lines, values: Values) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line, command, words = lines[at]
        if command is None:
            yield _filled(line, values)
            at += 1
            continue
        end, middle = _end(lines, at)
        if command == "repeat":
            count, _, name = words.partition(" as ")
            for number in range(int(_value(count, values))):
                yield from _expanded(lines[at + 1 : end], {**values, name: number})
        elif command == "if" and _holds(words, values):
            yield from _expanded(lines[at + 1 : middle or end], values)
        elif command == "if" and middle is not None:
            yield from _expanded(lines[middle + 1 : end], values)
        elif command not in ("if", "repeat"):
            raise TemplateError(f"the line {line.strip()!r} of the template is not a command")
        at = end + 1


def _end(lines: _Lines, start: int) -> tuple[int, int | None]:
    """Return the line numbers of the `end` and the `else` (None: none) of the block at `start`."""
    depth, middle = 0, None
    for at in range(start, len(lines)):
        command = lines[at][1]
        depth += (command in ("repeat", "if")) - (command == "end")
        if depth == 0:
            return at, middle
        if depth == 1 and command == "else":
            middle = at
    raise TemplateError(f"the command {lines[start][0].strip()!r} of the template lacks an end")


def _filled(line: str, values: Values) -> str:
    while _NAME.search(line):
        line = _NAME.sub(lambda name: str(_value(name[1], values)), line)
    return line


def _value(word: str, values: Values) -> int | str:
    if word.isdigit():
        return int(word)
    if word not in values:
        raise TemplateError(f"the word {word!r} of the template has no value")
    return values[word]


def _holds(words: str, values: Values) -> bool:
    name, compared, other = words.partition(" == ")
    if compared:
        return str(_value(name, values)) == other
    negated = words.startswith("not ")
    return (_value(words.removeprefix("not "), values) not in (0, "no")) != negated
