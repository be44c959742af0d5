"""Tests that `slowpath contention` rejects damaged tables in one line that names file and row.

Each table that a command reads is damaged in every way of a list, as CSV, JSON and Parquet. The
exit code is 3.
"""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from contention_wrong import PLACED, PREDICTED, TRAINED, error_of, folder_of_good_files

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_good_files(tmp_path_factory.mktemp("good"))


@pytest.fixture
def folder(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Read(NamedTuple):
    """A table file, a command that reads the file, and a column of numbers in it."""

    file: str
    words: str
    column: str  # a column of numbers


READ = {
    "train": Read("memory.csv", TRAINED, "l2crd"),
    "train, second": Read("more.csv", "train memory.csv more.csv", "ipc"),
    "train, requests": Read("regex.csv", TRAINED, "inverse_throughput"),
    "train, own": Read("own.csv", TRAINED, "packet_size_bytes"),
    "evaluate": Read("memory.csv", "evaluate memory.csv", "flow_count"),
    "predict": Read("memory.csv", PREDICTED, "throughput"),
    "predict, requests": Read("regex.csv", PREDICTED, "mtbr"),
    "predict, query": Read("query.csv", PREDICTED, "inverse_throughput_sum"),
    "predict, query of a model": Read("query.csv", "predict nf.json --query query.csv", "wss_mb"),
    "place": Read("arrivals.csv", PLACED, "sla"),
    "place, truth": Read("truth.csv", f"{PLACED} --truth truth.csv", "throughput"),
    "place, measured": Read("measured.csv", f"{PLACED} --measured measured.csv", "throughput"),
    "suggest": Read("measured.csv", "suggest fleet.yaml --measured measured.csv", "throughput"),
}
Cells = list[list[str]]
Damage = Callable[[Cells, int], None]
"""A function that damages a table. Its arguments are the cells, beginning with the header, and the
index of a column.
"""


def value(text: str) -> Damage:
    def change(cells: Cells, at: int) -> None:
        cells[2][at] = text

    return change


def named(text: str) -> Damage:
    def change(cells: Cells, at: int) -> None:
        cells[0][at] = text

    return change


def without(cells: Cells, at: int) -> None:
    for row in cells:
        del row[at]


def twice(cells: Cells, at: int) -> None:
    for row in cells:
        row.append(row[at])


def one_more(cells: Cells, _: int) -> None:
    cells[2].append("7")


def first(rows: int) -> Damage:
    def change(cells: Cells, _: int) -> None:
        del cells[1 + rows :]

    return change


CELLS: dict[str, tuple[str, str]] = {
    "negative": ("-1", "-1 is negative"),
    "not a number": ("nan", "'nan' is not a finite number"),
    "infinite": ("-inf", "'-inf' is not a finite number"),
    "too large for a number": ("1e999", "'1e999' is not a finite number"),
    "in another unit": ("1e300", "1e+300 is above"),
    "text": ("fast", "'fast' is not a finite number"),
    "with a comma": ("1,5", "'1,5' is not a finite number"),
    "hexadecimal": ("0x10", "'0x10' is not a finite number"),
    "empty": ("", "the cell is empty; fill it in or remove the row"),
}


def written(path: Path, damage: Damage, column: str) -> None:
    """Write a damaged copy of a table; `damage` changes its cells, usually in `column`."""
    lines = path.read_text().splitlines(keepends=True)
    head = [line for line in lines if line.startswith("#")]
    cells = [*csv.reader(lines[len(head) :])]
    damage(cells, cells[0].index(column))
    with path.open("w", newline="") as file:
        file.writelines(head)
        csv.writer(file, lineterminator="\n").writerows(cells)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("name", READ)
def test_cells(folder: Path, name: str, cell: str) -> None:
    read, (text, reason) = READ[name], CELLS[cell]
    written(folder / read.file, value(text), read.column)
    message = error_of(read.words, 3)
    assert message.startswith(f"error: {read.file}: line {_line(folder / read.file)}")
    assert f", column {read.column}: {reason}" in message


def _line(path: Path) -> int:
    """Return the line number of the second row of values in a file."""
    return 3 + sum(line.startswith("#") for line in path.read_text().splitlines())


@pytest.mark.parametrize("name", READ)
def test_columns(folder: Path, name: str) -> None:
    read = READ[name]
    path, original = folder / read.file, (folder / read.file).read_bytes()
    written(path, without, read.column)
    message = error_of(read.words, 3)
    assert message.startswith(f"error: {read.file}: ")
    assert "lacks the column" in message or "needs a column" in message
    assert f"'{read.column}'" in message
    assert "; it has " in message or "so each arrival must name one" in message
    path.write_bytes(original)
    written(path, named(read.column.upper()), read.column)
    message = error_of(read.words, 3)
    assert message.startswith(
        f"error: {read.file}: the table has a column '{read.column.upper()}'; convert"
    )
    path.write_bytes(original)
    written(path, twice, read.column)
    message = error_of(read.words, 3)
    assert (
        f"{read.file}: line {_line(path) - 2}: the table has 2 columns named "
        f"'{read.column}'; rename"
    ) in message
    path.write_bytes(original)
    written(path, one_more, read.column)
    message = error_of(read.words, 3)
    assert f"{read.file}: line {_line(path)}: the line has " in message


@pytest.mark.parametrize("name", READ)
def test_files(folder: Path, name: str) -> None:
    read = READ[name]
    path, original = folder / read.file, (folder / read.file).read_text()
    for data, reason in (
        (b"", "the file is empty; write the names of the columns into the first line"),
        (b",,,\n", "the file is empty"),
        (b"# device: nic\n", "the file is empty"),
        (original.encode("utf-16"), "the file is UTF-16 or not a text; save it as UTF-8"),
        (original.encode("utf-16-le"), "the file is UTF-16 or not a text"),
        (b"\xff\xfe\xfd", "the file is UTF-16 or not a text"),
        ("größe".encode("latin-1"), "is not UTF-8 text: byte 2 is invalid"),
        (b"[1, 2]", 'the document lacks the key "rows"'),
        (b"{", "the file is not JSON"),
        (b'{"rows": [3]}', "row 1: the row is not an object"),
        (b'{"rows": [{"a": 1, "a": 2}]}', "the file is not JSON: an object has 'a' twice"),
        (
            b'{"device": ["nic"], "rows": []}',
            'the value of "device" is neither a text nor a number',
        ),
    ):
        path.write_bytes(data)
        message = error_of(read.words, 3)
        assert message.startswith(f"error: {read.file}: {reason}"), message
    path.unlink()
    assert error_of(read.words, 3) == f"error: {read.file}: no such file\n"


@pytest.mark.parametrize("name", READ)
def test_remarks(folder: Path, name: str) -> None:
    """Check the errors about wrong comments above a table: device, unit, and repeated values."""
    read = READ[name]
    path, original = folder / read.file, (folder / read.file).read_text()
    rows = original[original.index("\nrow,") + 1 :]
    path.write_text(f"# device: another\n{rows}")
    message = error_of(read.words, 3) if name != "evaluate" else "'another'"
    assert "'another'" in message
    path.write_text(f"# device: nic\n# device: another\n{rows}")
    message = error_of(read.words, 3)
    reason = "line 2, device: the value is 'another', but 'nic' in line 1; keep one of the two"
    assert message == f"error: {read.file}: {reason}\n"
    path.write_text(f"# unit {read.column}: furlongs\n{rows}")
    if read.column != "throughput":
        message = error_of(read.words, 3) if read.column in WITH_UNIT else "furlongs"
        assert "furlongs" in message


WITH_UNIT = {"l2crd", "packet_size_bytes", "flow_count", "mtbr", "wss_mb", "sla"}


def test_too_few_rows(folder: Path) -> None:
    for name, kept, reason in (
        ("train", 9, "the table has 9 rows; a memory model needs at least 10"),
        ("evaluate", 0, "the table has 0 rows; a memory model needs at least 10"),
        (
            "train, requests",
            1,
            "column mtbr: the column has 1 different values; a line needs at least two",
        ),
        ("train, own", 0, "the table has no rows"),
        ("place", 0, "the table of arrivals has no rows"),
        ("place, truth", 0, "the table lacks a row for 'nat' alone"),
        ("place, measured", 0, "the table of measured mixes has no rows"),
    ):
        read = READ[name]
        path, original = folder / read.file, (folder / read.file).read_text()
        written(path, first(kept), read.column)
        assert error_of(read.words, 3).startswith(f"error: {read.file}: {reason}"), name
        path.write_text(original)
    for file in ("memory.csv", "more.csv"):
        written(folder / file, first(3), "row")
    message = error_of("train memory.csv more.csv", 3)
    assert (
        "more.csv: the table has 6 rows together with memory.csv; a memory model needs at least "
        in message
    )


# --- JSON and Parquet -----------------------------------------------------------------------------


def as_json(path: Path, column: str, text: object) -> None:
    """Convert a CSV table to JSON, with `text` as value of `column` in the second row."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    rows: list[dict[str, object]] = [*csv.DictReader(lines)]
    rows[1][column] = text
    path.write_text(json.dumps({"rows": rows}))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (-1, "-1 is negative"),
        (None, "the cell is empty"),
        (True, "'True' is not a finite number"),
        ([1], "'[1]' is not a finite number"),
        (10**400, f"'1{39 * '0'}' is not a finite number"),
    ],
)
@pytest.mark.parametrize("name", READ)
def test_cells_of_json(folder: Path, name: str, text: object, reason: str) -> None:
    read = READ[name]
    as_json(folder / read.file, read.column, text)
    message = error_of(read.words, 3)
    assert message.startswith(f"error: {read.file}: row 2")
    assert f", column {read.column}: {reason}" in message


@pytest.mark.parametrize(
    ("text", "reason"),
    [(-1.0, "-1 is negative"), (None, "the cell is empty"), (float("inf"), "'inf' is not")],
)
@pytest.mark.parametrize("name", ["train", "train, requests", "predict, query", "place"])
def test_cells_of_parquet(folder: Path, name: str, text: float | None, reason: str) -> None:
    missing = "pyarrow (the extra `parquet`) is not installed"
    arrow = pytest.importorskip("pyarrow", reason=missing)
    parquet = pytest.importorskip("pyarrow.parquet", reason=missing)

    read = READ[name]
    path = folder / read.file
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    header, *rows = csv.reader(lines)
    columns: dict[str, list[str | float | None]] = {}
    for column, values in zip(header, zip(*rows, strict=True), strict=True):
        number = column not in {"row", "function"}
        columns[column] = [float(one) if number else one for one in values]
    columns[read.column][1] = text
    parquet.write_table(arrow.table(columns), path)
    message = error_of(read.words, 3)
    assert message.startswith(f"error: {read.file}: row 2")
    assert f", column {read.column}: {reason}" in message
