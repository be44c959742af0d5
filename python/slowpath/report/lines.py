"""A path as source lines with the numbers of instructions executed, loops folded."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import Line
from slowpath.report.instruction_ranges import Repeat, fold_repeats
from slowpath.schema.results import PathDetail, PathLine, PathResult, Stretch

_LONGEST_LOOP = 512
"""Longest repeated part looked for, in stretches of one line."""
_NESTING = 3
"""Depth of loops in each other that are folded."""


class Part(NamedTuple):
    """Instructions of one line that are executed one after the other."""

    line: int | None  # index into the lines of the path
    span: tuple[int, int] | None  # first and last instruction, where the line is not known
    instructions: int


class Group(NamedTuple):
    """Parts that are executed several times one after the other."""

    body: tuple["Node", ...]
    times: int


Node = Part | Group


def fold(stretches: Sequence[Stretch]) -> list[Node]:
    """The path with what repeats folded, loops inside of loops as well."""
    return _fold([_part(stretch) for stretch in stretches])


def _fold(nodes: list[Node]) -> list[Node]:
    for _ in range(_NESTING):
        folded = fold_repeats(nodes, _LONGEST_LOOP)
        if all(repeat.times == 1 for repeat in folded):
            break
        nodes = [node for repeat in folded for node in _nodes(repeat)]
    return nodes


def _part(stretch: Stretch) -> Part:
    span = (stretch["first"], stretch["last"]) if stretch["line"] is None else None
    return Part(stretch["line"], span, stretch["instructions"])


def _nodes(repeat: Repeat[Node]) -> tuple[Node, ...]:
    if repeat.times == 1:
        return repeat.body
    return (Group(tuple(_fold(list(repeat.body))), repeat.times),)


def source_lines(path: PathResult, detail: PathDetail) -> Iterator[Line]:
    """A table: how many instructions of which line, in order of execution."""
    nodes = fold(detail["stretches"])
    places = {_place(path["lines"], part): None for part in _parts(nodes)}
    width = max(map(len, places), default=0)
    yield Line(f"  {'insns':>7}  source line", "bold")
    for text in _rows(nodes, path["lines"], width, 0):
        yield Line(f"  {text}".rstrip())


def _parts(nodes: Sequence[Node]) -> Iterator[Part]:
    for node in nodes:
        if isinstance(node, Part):
            yield node
        else:
            yield from _parts(node.body)


def _place(lines: Sequence[PathLine], part: Part) -> str:
    if part.line is None:
        first, last = part.span or (0, 0)
        return f".{first}" if first == last else f".{first}-.{last}"
    line = lines[part.line]
    return one_line(f"{line['file'].rpartition('/')[2]}:{line['line']}")


def _rows(
    nodes: Sequence[Node], lines: Sequence[PathLine], width: int, depth: int
) -> Iterator[str]:
    margin = "| " * depth
    for node in nodes:
        if isinstance(node, Group):
            yield f"{f'× {node.times}':>7}  {margin}".rstrip()  # noqa: RUF001 - the sign is meant
            yield from _rows(node.body, lines, width, depth + 1)
            continue
        text = "" if node.line is None else one_line(lines[node.line]["text"].strip())
        yield f"{node.instructions:>7}  {margin}{_place(lines, node):<{width}}  {text}".rstrip()
