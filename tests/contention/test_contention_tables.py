"""Tests that profiles are read from tables, and that errors name the file, row and column."""

import json
from pathlib import Path

import pytest

from contention_tables import MEMORY, profile, write, write_memory, write_query, write_regex
from slowpath.contention.reading import (
    kind_of,
    read_accelerator,
    read_memory,
    read_own_contention,
    read_query,
)
from slowpath.core.errors import InputError


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return write_memory(tmp_path / "memory.csv", profile())


def changed(path: Path, line: int, column: str, value: str) -> str:
    """Change a cell of a CSV file, given by line (from 1) and column; return the file's path."""
    lines = path.read_text().splitlines()
    place = lines[0].split(",").index(column)
    cells = lines[line - 1].split(",")
    cells[place] = value
    lines[line - 1] = ",".join(cells)
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("flow_count", "-3", "-3 is negative (number of flows in the traffic)"),
        ("flow_count", "0", "the value must not be zero (number of flows in the traffic)"),
        ("l2crd", "-1e6", "-1e+06 is negative"),
        ("throughput", "0", "must not be zero"),
        ("throughput", "", "is empty"),
        ("memrd", "many", "'many' is not a finite number"),
        ("memrd", "inf", "'inf' is not a finite number"),
        ("memrd", "nan", "'nan' is not a finite number"),
        ("wss_mb", "6291456", "6.29146e+06 is above 100000 MB, the largest valid value"),
        ("packet_size_bytes", "1e6", "above 65536 bytes"),
    ],
)
def test_wrong_values_are_named(memory: Path, column: str, value: str, message: str) -> None:
    file = changed(memory, 4, column, value)
    with pytest.raises(InputError) as wrong:
        read_memory([file])
    assert wrong.value.file == file
    assert wrong.value.reason.startswith(f"line 4 (m2), column {column}: ")
    assert message in wrong.value.reason


def test_missing_columns_are_named(memory: Path) -> None:
    memory.write_text(memory.read_text().replace("l2cwr", "l2_cwr"))
    with pytest.raises(
        InputError, match=r"lacks the column 'l2cwr' .*in 1/s.*it has row, flow_count"
    ):
        read_memory([str(memory)])


def test_other_units_are_named(memory: Path) -> None:
    text = memory.read_text()
    memory.write_text(text.replace("wss_mb", "wss_kb"))
    with pytest.raises(
        InputError, match="a column 'wss_kb'; convert and rename it to 'wss_mb', in MB"
    ):
        read_memory([str(memory)])
    memory.write_text(f"# unit wss_mb: KB\n{text}")
    with pytest.raises(
        InputError, match=("line 1, unit wss_mb: the unit is KB, but this column must be in MB")
    ):
        read_memory([str(memory)])
    memory.write_text(f"# unit wss_mb: MB\n{text}")
    assert len(read_memory([str(memory)]).rows) == 30


def test_too_few_rows(tmp_path: Path) -> None:
    file = str(write_memory(tmp_path / "few.csv", profile(9)))
    with pytest.raises(InputError, match="the table has 9 rows; a memory model needs at least 10"):
        read_memory([file])
    one = write(tmp_path / "one.csv", ("mtbr", "inverse_throughput"), [(300, 1e-3), (300, 1e-3)])
    with pytest.raises(
        InputError,
        match="column mtbr: the column has 1 different values; a line needs at least two",
    ):
        read_accelerator(str(one))


@pytest.mark.parametrize("key", ["device", "function", "unit throughput"])
def test_profiles_of_something_else(tmp_path: Path, key: str) -> None:
    one = write_memory(tmp_path / "one.csv", profile(), {key: "one"})
    two = write_memory(tmp_path / "two.csv", profile(), {key: "two"})
    silent = write_memory(tmp_path / "silent.csv", profile(), {"source": "a bench"})
    with pytest.raises(InputError, match=r"is for the \w+ 'two', but .*one.csv is for 'one'"):
        read_memory([str(one), str(two)])
    assert len(read_memory([str(one), str(silent)]).rows) == 60
    regex = write_regex(tmp_path / "regex.csv", {key: "two"})
    with pytest.raises(InputError, match=r"is for the \w+ 'two'"):
        read_accelerator(str(regex), read_memory([str(one)]).origin)


def test_published_tables_say_what_they_are_of_by_their_columns(tmp_path: Path) -> None:
    file = str(write_memory(tmp_path / "memory.csv", profile()))
    origin = read_memory([file]).origin
    assert (origin.function, origin.device, origin.cache_mb) == ("FlowMonitor", "bluefield-2", 6.0)
    other = write_memory(tmp_path / "other.csv", profile(), {"device": "pensando"})
    with pytest.raises(InputError, match="'pensando'"):
        read_memory([file, str(other)])


def test_json_is_the_same_as_csv(tmp_path: Path, memory: Path) -> None:
    first = read_memory([str(memory)])
    rows = [
        {"row": name, "throughput": float(first.throughput[at])}
        | {column: float(values[at]) for column, values in first.columns.items()}
        for at, name in enumerate(first.rows)
    ]
    file = tmp_path / "memory.json"
    file.write_text(json.dumps({"device": "bluefield-2", "cache mb": "6", "rows": rows}))
    second = read_memory([str(file)])
    assert second.rows == first.rows
    assert (second.throughput == first.throughput).all()
    assert second.origin.cache_mb == 6
    rows[3]["l2crd"] = True
    file.write_text(json.dumps({"rows": rows}))
    with pytest.raises(InputError, match=r"row 4 \(m3\), column l2crd: 'True' is not a finite"):
        read_memory([str(file)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("{", "is not JSON"),
        ('{"rows": 3}', 'lacks the key "rows"'),
        ('{"rows": [NaN]}', "NaN is not a number of JSON"),
        ("row,ipc,ipc\n", "has 2 columns named 'ipc'"),
        ("row,ipc\n1,2,3\n", "line 2: the line has 3 values for 2 columns"),
        ("time,load\n1,2\n", "is not a profile"),
    ],
)
def test_what_is_no_table(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "table"
    file.write_text(text)
    with pytest.raises(InputError) as wrong:
        kind_of(str(file))
    assert message in wrong.value.reason


def test_tables_are_known_by_their_columns(tmp_path: Path, memory: Path) -> None:
    assert kind_of(str(memory)) == "memory"
    assert kind_of(str(write_regex(tmp_path / "regex.csv"))) == "accelerator"
    own = write(tmp_path / "own.csv", MEMORY[:-1], [[1.0] * 9])
    assert kind_of(str(own)) == "contention"
    assert read_own_contention(str(own)).rows == ("1",)


def test_a_score_stands_for_counters(tmp_path: Path) -> None:
    rows = [(100 + at, 1500, at / 10, 900 - at) for at in range(12)]
    header = ("flow_count", "packet_size_bytes", "score", "throughput")
    read = read_memory([str(write(tmp_path / "score.csv", header, rows))])
    assert set(read.columns) == set(header[:-1])


def test_what_devices_move_is_a_column_that_tables_can_have(tmp_path: Path) -> None:
    header, row = MEMORY[:-1], [1.0] * 9
    with_it = write(tmp_path / "own.csv", (*header, "dma_mb"), [[*row, 250.0]])
    assert list(read_own_contention(str(with_it)).columns["dma_mb"]) == [250.0]
    without = write(tmp_path / "without.csv", header, [row])
    assert "dma_mb" not in read_own_contention(str(without)).columns
    wrong = write(
        tmp_path / "wrong.csv", (*header, "dma_mb"), [[*row, 2.0]], {"unit dma_mb": "GB/s"}
    )
    with pytest.raises(
        InputError, match="line 1, unit dma_mb: the unit is GB/s, but this column must be in MB/s"
    ):
        read_own_contention(str(wrong))


def test_requests_can_have_sizes(tmp_path: Path) -> None:
    header = ("mtbr", "packet_size_bytes", "inverse_throughput")
    file = write(tmp_path / "regex.csv", header, [(300, 500, 1e-3), (600, 1500, 2e-3)])
    size = read_accelerator(str(file)).size
    assert size is not None
    assert list(size) == [500, 1500]
    assert read_accelerator(str(write_regex(tmp_path / "one.csv"))).size is None


def test_queries(tmp_path: Path, memory: Path) -> None:
    like = read_memory([str(memory)])
    query = str(write_query(tmp_path / "query.csv", like, 500, 1e-3))
    read = read_query(query, like, accelerator=True)
    assert read.rows == like.rows
    assert read.mtbr is not None
    assert (read.mtbr == 500).all()
    assert read_query(query, like, accelerator=False).mtbr is None
    file = changed(Path(query), 2, "inverse_throughput_sum", "-1")
    with pytest.raises(
        InputError, match=r"line 2 \(m0\), column inverse_throughput_sum: -1 is neg"
    ):
        read_query(file, like, accelerator=True)
    empty = write(tmp_path / "empty.csv", ("row", "mtbr", "inverse_throughput_sum", *MEMORY), [])
    assert read_query(str(empty), like, accelerator=True).rows == ()


def test_tables_of_a_profile_are_queries(tmp_path: Path) -> None:
    """Check that the measurements of a profile can serve as a query for predictions.

    For rows without accelerator clients, a comment above the table states the ratio of matches.
    """
    like = profile(8)
    rows = write_memory(tmp_path / "rows.csv", like, {"mtbr": "300"})
    read = read_query(str(rows), like, accelerator=True)
    assert read.mtbr is not None
    assert read.queued is not None
    assert (read.mtbr == 300).all()
    assert (read.queued == 0).all()
    own = write(tmp_path / "own.csv", MEMORY[:-1], [[1] * 9], {"mtbr": "300"})
    with pytest.raises(InputError, match="lacks the column 'inverse_throughput_sum'"):
        read_query(str(own), like, accelerator=True)
    unsaid = write_memory(tmp_path / "unsaid.csv", like, {"device": "device"})
    with pytest.raises(InputError, match="lacks the column 'mtbr'"):
        read_query(str(unsaid), like, accelerator=True)
