"""Tests the output of `slowpath fit`, and its errors for unusable data."""

import csv
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from fit_tables import thinned
from slowpath.app import app
from slowpath.bounds import progress
from slowpath.core.extras import not_installed
from support import GOLDEN, ROOT, check_golden, slowpath
from test_schema import check

DATA = "examples/memory_latency.csv"
COLUMNS = ("--x", "bytes", "--y", "ns")
QUERY = "bytes\n100\n4096\n36000\n5e6\n1e12\n"


LINE = ROOT / "tests/fit/line.csv"
"""A file with few points, for tests in which the model does not matter."""


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a file with a third of the lines of `DATA`, because fits of all lines take seconds."""
    file = tmp_path_factory.mktemp("few") / "few.csv"
    file.write_text(thinned())
    return str(file)


@cache
def fitted(*words: str, data: str = DATA) -> str:
    run = slowpath("fit", data, *COLUMNS, *words)
    assert run.returncode == 0
    assert all(" so far, model " in line for line in run.stderr.splitlines())  # on slow machines
    return run.stdout


def test_table() -> None:
    check_golden(GOLDEN / "fit/memory_latency.txt", fitted())


def test_csv(few: str) -> None:
    rows = list(csv.DictReader(fitted("--format", "csv", data=few).splitlines()))
    assert float(rows[0]["low1"]) < float(rows[0]["parameter1"]) < float(rows[0]["high1"])


def test_the_error_of_points_on_a_line_is_unknown(tmp_path: Path) -> None:
    """Check that no format states an error or interval if all points lie exactly on a line."""
    file = tmp_path / "line.csv"
    file.write_text("x,y\n1,3\n2,5\n3,7\n")
    words = ("fit", file, "--x", "x", "--y", "y")
    text = slowpath(*words).stdout
    assert "The error is unknown, because all 3 points lie exactly on the model" in text
    assert re.search(r"1 \+ 2\*x +unknown +unknown", text)
    assert "single measurements" not in text
    assert slowpath(*words, "--query", file).stdout == "x,y_pred,low,high\n1,3,,\n2,5,,\n3,7,,\n"
    run = slowpath(*words, "--query", file, "--format", "json")
    check("fit", run.stdout)
    rows = json.loads(run.stdout)["predictions"]
    assert {(row["low"], row["high"]) for row in rows} == {(None, None)}
    (row,) = csv.DictReader(slowpath(*words, "--format", "csv").stdout.splitlines())
    assert (row["smape"], row["mape"], row["rmse"]) == ("", "", "")
    file.write_text("x,y\n1,3\n2,5\n3,7.1\n")
    assert "The error on the fitted points is sMAPE" in slowpath(*words).stdout


def test_json_fits_its_schema(tmp_path: Path, few: str) -> None:
    query = tmp_path / "query.csv"
    query.write_text(QUERY)
    run = slowpath("fit", few, *COLUMNS, "--format", "json", "--query", query)
    check("fit", run.stdout)
    document = json.loads(run.stdout)
    assert [row["outside"] for row in document["predictions"]] == [True, False, False, False, True]


def test_predictions(tmp_path: Path, few: str) -> None:
    query = tmp_path / "query.csv"
    query.write_text(QUERY)
    run = slowpath("fit", few, *COLUMNS, "--query", query)
    rows = list(csv.DictReader(run.stdout.splitlines()))
    assert list(rows[0]) == ["bytes", "y_pred", "low", "high"]
    assert [float(row["bytes"]) for row in rows] == [100, 4096, 36000, 5e6, 1e12]
    for row in rows:
        assert float(row["low"]) <= float(row["y_pred"]) <= float(row["high"])
    assert "2 of 5 lines are beyond the measured range (bytes 100; bytes 1e+12)" in run.stderr


def test_the_same_data_give_the_same_bytes(tmp_path: Path, few: str) -> None:
    files = [tmp_path / name for name in ("a.svg", "b.svg")]
    one, other = (fitted("--format", "json", "--plot", str(file), data=few) for file in files)
    assert one == other
    one, other = (file.read_text() for file in files)
    assert one == other
    assert "hyperbola" in one


BAD = {
    "": "is empty",
    "x,z\n1,2\n": "lacks the column 'y'; its first line has x, z",
    "x,y,y\n1,2,3\n": "has 2 columns named 'y'; rename all but one",
    "x,y\n1,2\n\n2,abc\n": "line 4, column y: 'abc' is not a number; correct it or remove the line",
    "x,y\n1,2\n2,nan\n": "line 3, column y: 'nan' is not a finite number; remove the line",
    "x,y\n1,2\n2,11,5\n": "line 3: this line has 3 values for 2 columns; write decimal",
    "x,y\n1,2\n2\n": "line 3, column y: the cell is empty; fill it in or remove the line",
    "x,y\n1,2\n2,3\n": "2 different values; a model needs at least 3",
    "x,y\n1,1\n1,2\n1,3\n": "1 different values; a model needs at least 3",
    "1,2\n2,4\n3,6\n": "the first line has numbers instead of names",
    "# x,y,z\n1,2\n2,4\n3,6\n": "the first line has numbers instead of names",
    "# x,y\n1\n2\n3\n": "the first line has numbers instead of names",
    "# 0,0\n1,2\n2,4\n3,6\n": "the first line has numbers instead of names",
    "x,y\n": "0 different values; a model needs at least 3",
    "x,y\n1,2\n2,3\n3,1e300\n": "y has 1e+300, above the limit of 1e+60; write values in a",
}


@pytest.mark.parametrize("text", BAD)
def test_data_that_cannot_be_used(tmp_path: Path, text: str) -> None:
    file = tmp_path / "data.csv"
    file.write_text(text)
    run = slowpath("fit", file, "--x", "x", "--y", "y")
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr.startswith(f"error: {file}: ")
    assert BAD[text] in run.stderr
    assert run.stderr.count("\n") == 1


def test_other_separators_comments_and_duplicates_are_read(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("\ufeff# measured\nx; y ;z\n1;2;a\n2;4;b\n2;4.1;c\n\n3;6;d\n4;8;\n")
    run = slowpath("fit", file, "--x", "x", "--y", "y")
    assert (run.returncode, run.stderr) == (0, "")
    assert "5 points, y over x from 1 to 4" in run.stdout


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_commented_line_of_names_is_the_header(tmp_path: Path, separator: str) -> None:
    file = tmp_path / "data.csv"
    lines = ["# numpy's savetxt", "# queues, small, large", "1, 1000000, 900000"]
    lines += ["2, 2010000, 1400000", "3, 2990000, 1410000", "4, 4020000, 1400000"]
    lines += ["5, 4980000, 1405000"]
    file.write_text("".join(line.replace(", ", separator) + "\n" for line in lines))
    for column, formula in (("small", "9.998e+05*queues"), ("large", "min(1.404e+06, 9e+05*")):
        run = slowpath("fit", file, "--x", "queues", "--y", column)
        assert (run.returncode, run.stderr) == (0, "")
        assert f"5 points, {column} over queues from 1 to 5" in run.stdout
        assert formula in run.stdout


def test_mape_stands_beside_smape(few: str) -> None:
    text = fitted()
    head = text.splitlines()[2]
    assert head.split()[-2:] == ["sMAPE", "MAPE"]
    assert text.count("MAPE ") >= 4  # both metrics, for fitted and for held-out points
    head = fitted("--error-metric", "rmse", data=few).splitlines()[2]
    assert head.split()[-3:] == ["RMSE", "sMAPE", "MAPE"]


def test_long_work_tells_how_far_it_is_and_how_to_stop_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_LONG", 0.0)
    assert app(["fit", str(LINE), *COLUMNS]) == 0
    progress_text = capsys.readouterr().err
    assert progress_text.count("\n") == 1
    pattern = rf"note: {LINE}: \d+ s so far, fitting model 1 of at most 12, .*; press Ctrl-C"
    assert re.match(pattern, progress_text)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--x", "x,x", "--y", "y"], "must differ; separate them by commas"),
        (["--x", "y", "--y", "y"], "'y' is already an x column"),
        (["--x", "x", "--y", "y", "--plot", "a.pdf"], "name must end in .svg or .png"),
        (["--y", "y"], "--x"),
    ],
)
def test_wrong_usage(words: list[str], text: str) -> None:
    run = slowpath("fit", DATA, *words)
    assert (run.returncode, run.stdout) == (2, "")
    assert text in run.stderr


def test_without_the_packages_one_line_says_what_to_install() -> None:
    hide = (
        "import importlib.util, sys; found = importlib.util.find_spec;"
        "importlib.util.find_spec = lambda name: None if name == 'scipy' else found(name);"
        f"sys.argv = ['slowpath', 'fit', {DATA!r}, '--x', 'bytes', '--y', 'ns'];"
        "from slowpath.main import main; main()"
    )
    command = [sys.executable, "-c", hide]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 3
    assert run.stderr == f"error: this machine: {not_installed(['scipy'], 'models')} [SP1204]\n"


def test_cells_may_have_what_ends_lines_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    rows = "".join(f'{x},{2 * x},"a\u2028b\r{x}"\n' for x in range(1, 13))
    file.write_text("x,y,note\n" + rows, newline="")
    assert slowpath("fit", file, "--x", "x", "--y", "y").returncode == 0
    with file.open("a") as added:
        added.write(f"13,26,{'z' * 200_000}\n")
    run = slowpath("fit", file, "--x", "x", "--y", "y")
    assert run.returncode == 3
    assert "line 26: field larger than field limit" in run.stderr


def test_places_that_are_too_far_are_refused(tmp_path: Path) -> None:
    query = tmp_path / "query.csv"
    query.write_text("bytes\n5000\n1e300\n")
    run = slowpath("fit", LINE, *COLUMNS, "--query", query)
    assert (run.returncode, run.stdout) == (3, "")
    reason = "bytes has 1e+300, above the limit of 1e+60; write values in a larger unit"
    assert run.stderr == f"error: {query}: {reason}\n"
