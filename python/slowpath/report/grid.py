"""Aligned tables whose cells are all known when the first line is written."""

from collections.abc import Collection, Iterator, Sequence

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import Line


def grid(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[str] = (),
    margin: str = "  ",
) -> Iterator[Line]:
    """A header and the rows; the columns named in `right` are aligned there."""
    cells = [[one_line(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    signs = [">" if name in right else "<" for name in columns]
    for index, row in enumerate(cells):
        padded = (
            f"{cell:{sign}{width}}" for cell, sign, width in zip(row, signs, widths, strict=True)
        )
        yield Line(f"{margin}{'  '.join(padded)}".rstrip(), "" if index else "bold")
