"""Tests that tables in Parquet files are read and written like CSV, with the same errors."""

import builtins
import csv
import json
from pathlib import Path
from typing import Any

import pytest

from contention_tables import profile, write_memory, write_query
from slowpath.contention import cells as ours
from slowpath.contention.cells import read_cells
from slowpath.contention.reading import read_memory
from slowpath.core.errors import InputError, UnavailableError
from support import slowpath

arrow = pytest.importorskip("pyarrow", reason="pyarrow (the extra `parquet`) is not installed")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels


def as_parquet(file: Path, metadata: dict[str, str] | None = None) -> Path:
    """Convert a CSV table to Parquet, and return the new file. | Numbers are stored as numbers."""
    with file.open() as lines:
        rows = list(csv.DictReader(lines))
    columns: dict[str, Any] = {
        name: [row[name] if name == "row" else float(row[name]) for row in rows] for name in rows[0]
    }
    path = file.with_suffix(".parquet")
    parquet.write_table(arrow.table(columns).replace_schema_metadata(metadata), path)
    return path


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return write_memory(tmp_path / "memory.csv", profile())


def test_a_table_is_the_same_in_both_formats(memory: Path) -> None:
    one = read_memory([str(memory)])
    two = read_memory([str(as_parquet(memory, {"device": "example", "Function": "nat"}))])
    assert two.rows == one.rows
    assert (two.throughput == one.throughput).all()
    assert all((two.columns[name] == values).all() for name, values in one.columns.items())
    assert (two.origin.device, two.origin.function) == ("example", "nat")


def test_parquet_is_known_by_its_content(memory: Path, tmp_path: Path) -> None:
    other = as_parquet(memory).rename(tmp_path / "table")
    assert read_cells(str(other)).header == read_cells(str(memory)).header


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "row 2, column flow_count: the cell is empty"),
        (float("nan"), "row 2, column flow_count: the cell is empty"),
        (-1.0, "row 2, column flow_count: -1 is negative"),
    ],
)
def test_wrong_values_are_named(tmp_path: Path, value: float | None, message: str) -> None:
    file = tmp_path / "own.parquet"
    columns = {"flow_count": [1.0, value], "packet_size_bytes": [64.0, 64.0], "score": [1.0, 1.0]}
    parquet.write_table(arrow.table({**columns, "throughput": [1.0, 1.0]}), file)
    with pytest.raises(InputError) as wrong:
        read_memory([str(file)])
    assert message in wrong.value.reason


def test_other_kinds_of_columns_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "lists.parquet"
    parquet.write_table(arrow.table({"throughput": [[1.0], [2.0]]}), file)
    with pytest.raises(InputError, match="row 1, column throughput: the cell has a list"):
        read_cells(str(file))


@pytest.mark.parametrize("data", [b"", b"throughput\n1\n", b"PAR1", b"PAR1" + bytes(40) + b"PAR1"])
def test_what_is_no_parquet_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "none.parquet"
    file.write_bytes(data)
    with pytest.raises(InputError, match="is not readable as Parquet"):
        read_cells(str(file))


def test_without_the_package_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    file = tmp_path / "memory.parquet"
    file.write_bytes(ours.MAGIC)
    with pytest.raises(UnavailableError, match=r"pyarrow is not installed; .*'FILE\[parquet\]'"):
        read_cells(str(file))


def test_predictions_are_those_of_json(memory: Path, tmp_path: Path) -> None:
    query = write_query(tmp_path / "query.csv", profile(6, seed=5), 400, 2e-4)
    words = [
        "contention",
        "predict",
        "--memory-table",
        str(as_parquet(memory)),
        "--query",
        str(query),
    ]
    words += ["--recipe", "ridge-pressure", "-o"]
    runs = [slowpath(*words, str(tmp_path / f"out.{form}")) for form in ("json", "parquet")]
    assert [run.returncode for run in runs] == [0, 0], runs[-1].stderr
    document = json.loads((tmp_path / "out.json").read_text())
    found = parquet.read_table(tmp_path / "out.parquet")
    assert found.to_pylist() == document["results"]
    assert found.schema.metadata[b"recipe"] == b"ridge-pressure"
    run = slowpath(*words, str(tmp_path / "none" / "out.parquet"))
    assert (run.returncode, run.stdout) == (3, "")
    assert "cannot be written" in run.stderr
