"""Tests the errors about wrong tables of `insights cores` and `colocation`.

Each error names the file and the position of the fault in it.
"""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from insights_tables import curve_rows, drawn, group_rows, plain, query_rows, write_csv, write_lines
from slowpath.core.errors import InputError
from slowpath.core.extras import not_installed
from slowpath.insights.cores.curves import read_curves, read_query
from slowpath.insights.cores.groups import read_groups, read_measured
from support import slowpath

Rows = list[dict[str, Any]]


def said(*words: str | Path, code: int = 3) -> str:
    """Run a command that must fail with this exit code, and return its last error."""
    run = slowpath("insights", *words)
    assert (run.returncode, run.stdout) == (code, ""), run.stderr
    return [line for line in run.stderr.splitlines() if line.startswith("error: ")][-1]


def why(read: Callable[[str], object], file: Path) -> str:
    """Return the reason in the error with which the function `read` rejects a file."""
    with pytest.raises(InputError) as refused:
        read(str(file))
    assert refused.value.file == str(file)
    return refused.value.reason


def changed(column: str, value: object) -> Callable[[Rows], object]:
    return lambda rows: rows[1].update({column: value})


def without(column: str) -> Callable[[Rows], object]:
    return lambda rows: [row.pop(column) for row in rows]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without("cores"), "the table lacks the columns cores"),
        (without("webgen_slots"), "the table lacks the columns webgen_slots"),
        (
            changed("has_webgen", 2),
            "line 3, column has_webgen: the value '2' is not 0 (absent) or 1",
        ),
        (
            changed("has_webgen", "yes"),
            "line 3, column has_webgen: the value 'yes' is not 0 (absent) or 1",
        ),
        (
            changed("has_webgen", ""),
            "line 3, column has_webgen: the value '' is not 0 (absent) or 1",
        ),
        (changed("webgen_slots", -1), "line 3, column webgen_slots: '-1' is not a whole number"),
        (changed("webgen_slots", 2.5), "line 3, column webgen_slots: '2.5' is not a whole number"),
        (
            changed("webgen_slots", "inf"),
            "line 3, column webgen_slots: 'inf' is not a whole number",
        ),
        (changed("cores", 0), "line 3, column cores: '0' is not a number above zero"),
        (changed("cores", 24.5), "line 3, column cores: 24.5 is not a whole number from 1 to 1000"),
        (changed("cores", 2000), "line 3, column cores: 2000 is not a whole number from 1 to 1000"),
        (changed("function", " "), "line 3, column function: the cell is empty"),
        (changed("ipfilter1_rules", 33), "line 3, column ipfilter1_rules: the function f0 differs"),
    ],
)
def test_wrong_queries_of_cores(
    tmp_path: Path, change: Callable[[Rows], object], reason: str
) -> None:
    rows = query_rows([plain(), plain(has_counter=1)], (24, 30))
    change(rows)
    file = write_csv(tmp_path / "query.csv", rows)
    assert why(read_query, file).startswith(reason)


def test_unknown_columns_are_named(tmp_path: Path) -> None:
    rows = query_rows([plain()], (24,))
    file = write_csv(tmp_path / "query.csv", [{**rows[0], "has_ipfilter3": 1}])
    assert "column 'has_ipfilter3' is not a known flag or parameter" in why(read_query, file)


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    missing = tmp_path / "missing.csv"
    assert said("cores", "--query", missing) == f"error: {missing}: no such file"
    query = write_csv(tmp_path / "query.csv", query_rows([plain()], (24,)))
    assert said("cores", "--query", query, "--train", missing).endswith("no such file")
    rows = group_rows(drawn(4, 1))
    rows[0]["functions"].pop()
    groups = write_lines(tmp_path / "groups.jsonl", rows)
    assert said("colocation", "--query", groups) == (
        f"error: {groups}: line 1, functions: the list has 3 functions; a group has 4"
    )


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert "the file is empty; write the names" in why(read_query, empty)
    alone = tmp_path / "alone.csv"
    alone.write_text("function,cores\n")
    assert "the table has no rows below" in why(read_query, alone)
    named = tmp_path / "named.csv.gz"
    named.write_text("function,cores\nf,24\n")
    assert "is not compressed with gzip, although its name ends in .gz" in why(read_query, named)
    packed = gzip.compress(b"function,cores\nf,24\n" * 50)
    short = tmp_path / "short.csv.gz"
    short.write_bytes(packed[:-12])
    assert "the file is damaged: the compressed data end early" in why(read_query, short)
    damaged = tmp_path / "damaged.csv.gz"
    damaged.write_bytes(packed[:12] + b"\xff\xff\xff" + packed[15:])
    assert "is damaged" in why(read_query, damaged)
    latin = tmp_path / "latin.csv"
    latin.write_bytes(b"function\xe4,cores\n")
    assert "is not UTF-8 text" in why(read_query, latin)
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("function,cores\nf,24,7\n")
    assert "line 2: the line has 3 values for 2 columns" in why(read_query, ragged)
    twice = tmp_path / "twice.csv"
    twice.write_text("function,cores,cores\nf,24,24\n")
    assert "the table has 2 columns named 'cores'; rename all but one" in why(read_query, twice)
    other = write_lines(tmp_path / "groups.jsonl", group_rows(drawn(4, 1)))
    assert "the file is JSON, but must be a CSV table" in why(read_query, other)


def test_wrong_tables_to_learn_cores_from(tmp_path: Path) -> None:
    functions = drawn(50, 1)
    rows = curve_rows(functions, np.full((50, 7), 1e6), np.full((50, 7), 1e4))

    def refused(changed: Rows) -> str:
        return why(read_curves, write_csv(tmp_path / "train.csv", changed))

    assert refused(rows[:-1]) == "line 345: the function f49 lacks rows with 60 cores"
    assert refused([*rows, rows[0]]) == (
        "line 352: the function f0 already has a row with 24 cores; remove one of the two"
    )
    assert refused(rows[:-7]) == "the table has 49 functions; a model needs at least 50"
    assert refused([{**rows[0], "cores": 25}, *rows[1:]]).startswith(
        "line 2, column cores: 25 is not one of 24, 30, 36"
    )
    assert refused([{**rows[0], "throughput_pps": -1}, *rows[1:]]) == (
        "line 2, column throughput_pps: '-1' is not a number above zero"
    )
    for row in rows:
        del row["latency_cycles"]
    assert refused(rows) == "the table lacks the columns latency_cycles"


def test_options_that_do_not_fit_together(tmp_path: Path) -> None:
    rows = query_rows([plain()], (24,))
    query = write_csv(tmp_path / "query.csv", rows)
    words = ("cores", "--query", query)
    assert (
        "'--emem-cache': the option is for the default model; omit --train or this option"
        in said(*words, "--train", query, "--emem-cache", "hit", code=2)
    )
    assert "the file name must end in .csv or .json" in said(
        *words, "-o", tmp_path / "x.txt", code=2
    )
    assert "would overwrite" in said(*words, "-o", query, code=2)
    lines = write_lines(tmp_path / "groups.json", group_rows(drawn(4, 1)))
    assert "would overwrite" in said("colocation", "--query", lines, "-o", lines, code=2)
    assert "cannot be written" in said(*words, "-o", tmp_path / "none" / "x.csv")


def solo(rate: object = 1e6, cycles: object = 1e4) -> dict[str, object]:
    return {"throughput_pps": rate, "latency_cycles": cycles}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row["functions"].pop(), "functions: the list has 3 functions; a group has 4"),
        (lambda row: row.pop("functions"), "functions: the value is not a list of 4 functions"),
        (lambda row: row.pop("group"), "group: the value is neither a number nor a name"),
        (lambda row: row.update(name=1), "the object has an unknown key 'name'"),
        (
            lambda row: row["functions"][1].pop("has_webgen"),
            "function 2: the table lacks the columns has_webgen",
        ),
        (
            lambda row: row["functions"][1].update(has_webgen=True),
            "function 2, column has_webgen: the value 'True' is not 0 (absent) or 1",
        ),
        (
            lambda row: row["functions"][1].update(has_x=1),
            "function 2: the column 'has_x' is not a known flag or parameter",
        ),
        (
            lambda row: row["functions"][2].update(solo=solo()),
            "function 1: the function lacks the key solo, unlike other functions of its group",
        ),
        (
            lambda row: row["functions"][2].update(solo=solo(rate="fast")),
            "function 3, solo, column throughput_pps: 'fast' is not a number above zero",
        ),
        (
            lambda row: row["functions"][2].update(solo={"throughput_pps": 1}),
            "function 3, solo: lacks latency_cycles",
        ),
        (lambda row: row["functions"].__setitem__(3, 7), "function 4: the value is not an object"),
    ],
)
def test_wrong_groups(tmp_path: Path, change: Callable[[Any], object], reason: str) -> None:
    rows = group_rows(drawn(8, 1))
    change(rows[1])
    file = write_lines(tmp_path / "groups.jsonl", rows)
    found = why(read_groups, file)
    assert found.startswith("line 2")
    assert found.removeprefix("line 2").lstrip(",: ").startswith(reason)


def test_files_that_are_no_groups(tmp_path: Path) -> None:
    file = tmp_path / "groups.jsonl"

    def refused(text: str) -> str:
        file.write_text(text)
        return why(read_groups, file)

    assert refused("\n") == "the file is empty; write one JSON object per line"
    assert refused("{").startswith("line 1: the line is not JSON: ")
    assert refused("[]\n") == "line 1: the line is not a JSON object"
    assert refused('{"group": 1, "group": 2}\n').startswith(
        "line 1: the line is not JSON: an object has"
    )
    assert refused('{"group": NaN}\n').startswith(
        "line 1: the line is not JSON: NaN is not a number"
    )
    rows = group_rows(drawn(4, 1))
    assert refused(2 * f"{json.dumps(rows[0])}\n") == (
        "line 2: the group 0 is already in line 1; rename one of the two"
    )


def test_wrong_groups_to_learn_from(tmp_path: Path) -> None:
    functions = drawn(80, 1)
    alone, pairs = np.full((20, 4, 2), 1e6), np.full((20, 6, 2, 2), 5e5)

    def refused(rows: Rows) -> str:
        return why(read_measured, write_lines(tmp_path / "train.jsonl.gz", rows))

    rows = group_rows(functions, alone, pairs)
    assert refused(rows[:-1]) == "the file has 19 groups; a model needs at least 20"
    assert refused(group_rows(functions, None, pairs)) == (
        "line 1: the functions lack the key solo, which training needs"
    )
    assert refused(group_rows(functions, alone)) == (
        "line 1, pairs: the value is not a list of 6 measured pairs"
    )
    rows[2]["pairs"][1]["members"] = [3, 1]
    assert refused(rows) == "line 3, pair 2, members: the values are not [1, 3]"
    rows[2]["pairs"][1].update(members=[1, 3], throughput_pps=[1])
    assert refused(rows) == "line 3, pair 2, throughput_pps: the value is not a list of two numbers"
    rows[2]["pairs"][1].update(throughput_pps=[1, 0])
    assert refused(rows).startswith("line 3, pair 2, column throughput_pps: '0' is not a number")


def test_packages_that_are_missing_are_named(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "query.csv", query_rows([plain()], (24,)))
    script = (
        "import sys\n"
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name: None if name == 'numpy' else find(name)\n"
        f"sys.argv = ['slowpath', 'insights', 'cores', '--query', {str(file)!r}]\n"
        "from slowpath.main import main\n"
        "main()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    wanted = f"error: this machine: {not_installed(['numpy'], 'insights')} [SP1204]\n"
    assert (run.returncode, run.stdout, run.stderr) == (3, "", wanted)
