"""Reads measurements from CSV files and models from JSON files."""

import csv
import math
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from slowpath.core import codes, engine
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_text
from slowpath.core.schema.validation import ShapeError, check_shape, schema
from slowpath.core.spanned import csv_lines, parse_json
from slowpath.models.catalogue import BY_NAME
from slowpath.models.documents import FitDocument, FittedModel, Predicted, Residuals, Segment
from slowpath.models.polynomial import FUNCTIONS, NAME

_SEPARATORS = ",;\t"


class Table(NamedTuple):
    """Columns of numbers from a file, all of the same length."""

    file: str
    columns: dict[str, list[float]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def read_table(file: str, names: Sequence[str]) -> Table:
    """Return the columns of a CSV file with these names.

    Empty lines and comments, which begin with `#`, are skipped. If the first line contains only
    numbers, the last comment before it names the columns, provided that it has as many fields;
    numpy's `savetxt` and gnuplot write such files.

    Raises:
        InputError: when a column, a name or a number is missing, or a line has more values than
            columns.
    """
    text = read_text(file).removeprefix("\ufeff")
    comment, head = _first_lines(text)
    if head is None:
        raise InputError(
            codes.FILE_EMPTY,
            file,
            "the file is empty; write the names of the columns into the first line",
        )
    separator = max(_SEPARATORS, key=head.count)
    lines: Iterator[tuple[int, list[str]]] = (
        (line.first, line.cells)
        for line in csv_lines(file, text, separator)
        if (len(line.cells) > 1 or "".join(line.cells).strip())
        and not line.cells[0].startswith("#")
    )
    first, header = next(lines)
    if all(map(_is_number, header)):
        names_in_comment = next(csv.reader([comment], delimiter=separator), [])
        if len(names_in_comment) != len(header) or any(map(_is_number, names_in_comment)):
            raise InputError(
                codes.TABLE_SYNTAX,
                file,
                "the first line has numbers instead of names; write the names of the columns there",
            )
        lines, header = chain([(first, header)], lines), names_in_comment
    header = [name.strip() for name in header]
    places = {name: _place(file, header, name) for name in names}
    columns: dict[str, list[float]] = {name: [] for name in names}
    for number, cells in lines:
        if any(cell.strip() for cell in cells[len(header) :]):
            reason = f"this line has {len(cells)} values for {len(header)} columns"
            hint = (
                "write decimal points instead of commas (0.5), and name all columns in the "
                "first line"
            )
            raise InputError(codes.TABLE_SYNTAX, file, f"line {number}: {reason}; {hint}")
        for name, place in places.items():
            columns[name].append(_number(file, number, name, cells, place))
    return Table(file, columns)


def _first_lines(text: str) -> tuple[str, str | None]:
    """Return the first line of values of a CSV text, and the last comment before it.

    The comment comes first in the result; the line is None if it is missing.
    """
    comment = ""
    for line in text.split("\n"):
        if line.startswith("#"):
            comment = line.lstrip("#").strip()
        elif line.strip():
            return comment, line
    return comment, None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _place(file: str, header: Sequence[str], name: str) -> int:
    if name not in header:
        have = ", ".join(one for one in header if one) or "no names"
        raise InputError(
            codes.MISSING_COLUMN,
            file,
            f"the file lacks the column {name!r}; its first line has {have}",
        )
    if header.count(name) > 1:
        raise InputError(
            codes.DUPLICATE_ROW_OR_COLUMN,
            file,
            f"the file has {header.count(name)} columns named {name!r}; rename all but one",
        )
    return header.index(name)


def _number(file: str, line: int, name: str, cells: Sequence[str], place: int) -> float:
    where = f"line {line}, column {name}"
    if place >= len(cells) or not cells[place].strip():
        raise InputError(
            codes.INVALID_CELL, file, f"{where}: the cell is empty; fill it in or remove the line"
        )
    text = cells[place].strip()
    try:
        value = float(text)
    except ValueError:
        reason = f"{text[:40]!r} is not a number; correct it or remove the line"
        raise InputError(codes.INVALID_CELL, file, f"{where}: {reason}") from None
    if not math.isfinite(value):
        reason = f"{text[:40]!r} is not a finite number; remove the line"
        raise InputError(codes.INVALID_CELL, file, f"{where}: {reason}")
    return value


def document_of(
    file: str | None, model: FittedModel, predictions: list[Predicted] | None = None
) -> FitDocument:
    """Return the JSON document of a model and of its predictions, if given.

    `file` is the name of the file with the measurements.
    """
    return {
        **engine.head("fit", "fit"),
        "file": file,
        "model": model,
        "predictions": predictions,
    }


def read(file: str, text: str) -> tuple[str | None, FittedModel]:
    """Read a model, and the name of its file of measurements, from a JSON text.

    `file` is the name of the JSON file, for errors.

    Raises:
        InputError: when the text is not a model's document, or its parts do not fit together.
    """
    try:
        document = parse_json(text)
    except ValueError as problem:
        raise InputError(codes.NOT_JSON, file, f"the file is not JSON: {problem}") from None
    shape = schema("fit")
    try:
        check_shape(document, shape, shape["$defs"], "document")
    except ShapeError as problem:
        raise InputError(
            codes.NOT_A_FIT_MODEL, file, f"the file is not a model of slowpath fit: {problem}"
        ) from None
    model: FittedModel = document["model"]
    reason = _inconsistency(model)
    if reason is not None:
        raise InputError(
            codes.NOT_A_FIT_MODEL, file, f"the file is not a model of slowpath fit: {reason}"
        )
    return document["file"], model


def _inconsistency(model: FittedModel) -> str | None:
    """Return an error text if parts of a model contradict each other; otherwise None."""
    if not model["segments"]:
        return "the model has no segments"
    if len(model["range"]) != len(model["x"]):
        return "range and x differ in length"
    ends = [end for segment in model["segments"] for end in (segment["from"], segment["to"])]
    if ends != sorted(ends):
        return "the segments do not ascend in x"
    for number, segment in enumerate(model["segments"]):
        rank = _rank(segment, len(model["x"]))
        if rank is None:
            return f"segments[{number}] has an unknown function"
        sizes = {len(segment["parameters"]), len(segment["covariance"])}
        if sizes | {len(row) for row in segment["covariance"]} != {rank}:
            return f"segments[{number}] does not have {rank} parameters and their covariance"
    return None if _valid(model["residuals"]) else "the residuals are not shares at ascending x"


def _valid(residuals: Residuals | None) -> bool:
    if residuals is None:
        return True
    x, share = residuals["x"], residuals["share"]
    ascend = all(left < right for left, right in pairwise(x))
    return 0 < len(x) == len(share) and ascend and min(share) > -1


def _rank(segment: Segment, columns: int) -> int | None:
    """Return the number of parameters of a segment's function, or None for an unknown function."""
    terms = segment["terms"]
    if terms is None:
        template = BY_NAME.get(segment["template"])
        return None if template is None or columns > 1 else template.rank
    known = all(len(term) == columns and set(term) <= FUNCTIONS.keys() for term in terms)
    return len(terms) if known and segment["template"] == NAME else None
