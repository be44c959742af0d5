"""Tests predictions and evaluations of `slowpath contention`, and errors about wrong tables."""

import csv
import io
import json
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import oracles
from contention_tables import (
    profile,
    write_memory,
    write_own,
    write_query,
    write_regex,
)
from slowpath.contention import saved
from slowpath.contention.columns import MemoryProfile, Query
from slowpath.contention.memory.evaluation import Protocol, evaluate, evaluate_all
from slowpath.contention.memory.features import Rows
from slowpath.contention.memory.recipes import RECIPES, Recipe, fit_stage
from slowpath.contention.memory.selection import FOLDS, grouped_folds, groups
from slowpath.contention.model import Profiles, choose, learn
from slowpath.contention.model import rows_of as memory_rows
from slowpath.contention.options import read_traffic
from slowpath.contention.prediction import predict
from slowpath.contention.reading import (
    read_accelerator,
    read_memory,
    read_own_contention,
    read_query,
)
from slowpath.core.errors import InputError, OptionError
from slowpath.core.jobs.local_pool import LocalPool
from slowpath.core.quantities import with_interval
from slowpath.core.schema.validation import schema
from support import CAMPAIGN, ROOT, slowpath

FAST = ("--recipe", "ridge-pressure")

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels


class Tables:
    """Files with measurements of a made-up function, and a query about other traffic."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = str(write_memory(folder / "memory.csv", profile()))
        self.regex = str(write_regex(folder / "regex.csv"))
        self.own = str(write_own(folder / "own.csv"))
        self.query = str(write_query(folder / "query.csv", profile(12, seed=5), 400, 2e-4))

    def of_tables(self, *options: str) -> list[str]:
        words = [
            "contention",
            "predict",
            "--memory-table",
            self.memory,
            "--accelerator-table",
            self.regex,
        ]
        return [*words, "--query", self.query, *FAST, *options]

    def trained(self, name: str = "nf") -> str:
        file = self.folder / f"{name}.model.json"
        file.write_text(_model())
        return str(file)


@cache
def _model() -> str:
    """Return the text of a model that is trained on the tables.

    It is trained only once for all tests.
    """
    with TemporaryDirectory() as folder:
        tables, file = Tables(Path(folder)), Path(folder, "nf.model.json")
        names = [tables.memory, tables.regex, tables.own]
        run = slowpath("contention", "train", *names, "-o", file, *FAST)
        assert run.returncode == 0, run.stderr
        return file.read_text()


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_tables_and_a_query_make_a_file(tables: Tables) -> None:
    file = tables.folder / "out.csv"
    run = slowpath(*tables.of_tables("-o", str(file)))
    assert (run.returncode, run.stdout) == (0, "")
    header = file.read_text().splitlines()[0]
    assert header == "row,throughput,low,high,share_of_solo,bottleneck,outside"
    found = rows_of(file.read_text())
    assert [row["row"] for row in found] == [f"m{at}" for at in range(12)]
    for row in found:
        low, middle, high = (float(row[key]) for key in ("low", "throughput", "high"))
        assert 0 < low <= middle <= high
        # Requests take 0.0002 + 400 * 0.000002, and wait 0.0002 for those of others.
        assert middle <= 1 / 0.0012 * (1 + 1e-9)
        assert (row["bottleneck"] == "regex") == (middle == pytest.approx(1 / 0.0012))
    assert {row["bottleneck"] for row in found} == {"memory", "regex"}


def test_the_accelerator_is_the_bottleneck_with_more_matches(tables: Tables) -> None:
    tables.query = str(write_query(tables.folder / "more.csv", profile(12, seed=5), 590.0, 2e-3))
    found = rows_of(slowpath(*tables.of_tables("--format", "csv")).stdout)
    assert {row["bottleneck"] for row in found} == {"regex"}
    expected = 1 / (0.0002 + 590 * 0.000002 + 2e-3)
    assert [float(row["throughput"]) for row in found] == pytest.approx([expected] * 12)


def test_formats_say_the_same(tables: Tables) -> None:
    as_csv = rows_of(slowpath(*tables.of_tables("--format", "csv")).stdout)
    document = json.loads(slowpath(*tables.of_tables("--format", "json")).stdout)
    table = slowpath(*tables.of_tables()).stdout
    assert document["device"] == "bluefield-2"
    for row, one in zip(as_csv, document["results"], strict=True):
        assert float(row["throughput"]) == pytest.approx(one["throughput"], rel=1e-14)
        assert row["outside"].split() == one["outside"]
        assert " ".join(with_interval(one["throughput"], one["low"], one["high"])) in " ".join(
            table.split()
        )
        assert one["throughput"] == min(one["memory"], one["accelerator"])
        assert float(row["share_of_solo"]) == pytest.approx(one["share_of_solo"], rel=1e-14)
        assert 0 < one["share_of_solo"] <= 1


def test_a_query_without_rows(tables: Tables) -> None:
    Path(tables.query).write_text(Path(tables.query).read_text().splitlines()[0] + "\n")
    run = slowpath(*tables.of_tables("--format", "csv"))
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "row,throughput,low,high,share_of_solo,bottleneck,outside\n"


def test_ten_rows_are_enough(tables: Tables) -> None:
    """Check predictions of a model that was trained on ten rows with the same competitor.

    For other competitors, predictions must be uncertain, but finite.
    """
    lines = Path(tables.memory).read_text().splitlines()[:11]
    cells = [line.split(",") for line in lines]
    place = cells[0].index("ipc")
    for row in cells[2:]:
        row[place:-1] = cells[1][place:-1]
    Path(tables.memory).write_text("\n".join(",".join(row) for row in cells))
    words = [word for word in tables.of_tables("--format", "json") if word not in FAST]
    run = slowpath(*words)
    assert run.returncode == 0, run.stderr
    for one in json.loads(run.stdout)["results"]:
        assert "wss_mb" in one["outside"]
        assert 0 < one["low"] <= one["throughput"] <= one["high"] < 1e9


def test_rows_unlike_the_training_are_named(tables: Tables) -> None:
    text = Path(tables.query).read_text().splitlines()
    cells = text[3].split(",")
    cells[1], cells[-1] = "900", "99"
    Path(tables.query).write_text("\n".join([*text[:3], ",".join(cells), *text[4:]]))
    run = slowpath(*tables.of_tables("--format", "csv"))
    found = rows_of(run.stdout)
    assert found[2]["outside"] == "wss_mb mtbr"
    assert "5 of 12 predictions are guesses" in run.stderr
    assert re.search(r"row m2: wss_mb 99 \(measured: [\d.]+ to [\d.]+\), mtbr 900 ", run.stderr)


def test_a_model_predicts_what_its_tables_do(tables: Tables) -> None:
    file = tables.trained()
    first = slowpath(*tables.of_tables("--format", "csv"))
    second = slowpath("contention", "predict", file, "--query", tables.query, "--format", "csv")
    assert second.returncode == 0, second.stderr
    assert second.stdout == first.stdout


def test_models_beside_each_other(tables: Tables) -> None:
    file, other = tables.trained("nf"), tables.trained("other")
    traffic = ("--traffic", "flows=10000,size=1500,mtbr=400", "--format", "json")
    alone, beside_one, beside_two = (
        json.loads(slowpath("contention", "predict", file, *with_them, *traffic).stdout)["results"][
            0
        ]
        for with_them in ((), ("--with", other), ("--with", f"{other},{other}"))
    )
    assert alone["accelerator"] == pytest.approx(1 / 0.001)
    # All saturate: a round has one request of each.
    assert 1 / 0.002 * 0.99 <= beside_one["accelerator"] < alone["accelerator"]
    assert beside_two["accelerator"] == pytest.approx(1 / 0.003)
    assert beside_two["throughput"] < beside_one["throughput"] < alone["throughput"]
    shares = [one["throughput"] / alone["throughput"] for one in (beside_one, beside_two)]
    assert [beside_one["share_of_solo"], beside_two["share_of_solo"]] == pytest.approx(shares)
    assert "irt" in alone["outside"]  # the profile has no solo row


def test_run_to_completion_adds_times(tables: Tables) -> None:
    text = Path(tables.memory).read_text()
    Path(tables.memory).write_text(f"# mtbr: 400\n# cache mb: 6\n{text}")
    words = tables.of_tables("--format", "json", "--pattern", "run-to-completion")
    for one in json.loads(slowpath(*words).stdout)["results"]:
        # Memory rows contain the time at this match ratio; the others add 0.0002.
        assert 1 / one["throughput"] == pytest.approx(1 / one["memory"] + 2e-4)
        assert one["low"] <= one["throughput"] <= one["high"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict"], "--memory-table"),
        (["predict", "--memory-table", "MEMORY"], "--query"),
        (["predict", "MODEL", "--memory-table", "MEMORY"], "--memory-table"),
        (["predict", "MODEL"], "of --query and --traffic"),
        (["predict", "MODEL", "--traffic", "flows=3"], "flows and size are required"),
        (["predict", "MODEL", "--traffic", "flows=3,size=64"], "mtbr is needed"),
        (["predict", "MODEL", "--query", "QUERY", "--with", "MODEL"], "--with"),
        (["predict", "MODEL", "--query", "QUERY", "--recipe", "ridge"], "--recipe"),
        (["predict", "--memory-table", "MEMORY", "--query", "QUERY", "--with", "MODEL"], "--with"),
        (["predict", "MODEL", "--query", "QUERY", "-o", "out.txt"], ".csv, .json or .parquet"),
        (
            ["train", "MEMORY", "--recipe", "oracle"],
            "no memory model 'oracle'; choose one of constant",
        ),
        (["train", "MEMORY", "REGEX", "--pattern", "run-to-completion"], "`# mtbr: N`"),
        (
            ["evaluate", "MEMORY", "--recipe", "oracle"],
            "no memory model 'oracle'; choose one of constant",
        ),
        (["evaluate", "MEMORY", "--confidence", "20"], "--confidence"),
    ],
)
def test_wrong_options(tables: Tables, words: list[str], message: str) -> None:
    files = {"MEMORY": tables.memory, "REGEX": tables.regex, "QUERY": tables.query}
    if "MODEL" in words:
        files["MODEL"] = tables.trained()
    run = slowpath("contention", *(files.get(word, word) for word in words))
    assert run.returncode == 2, run.stderr
    assert message in run.stderr
    assert run.stdout == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "REGEX"], "no table has a column 'throughput' with competitors"),
        (["train", "MEMORY", "REGEX", "REGEX2"], "the table is of the same kind"),
        (["train", "missing.csv"], "no such file"),
        (["predict", "missing.json", "--query", "QUERY"], "no such file"),
        (["predict", "QUERY", "--query", "QUERY"], "is not JSON"),
        (
            ["predict", "--memory-table", "REGEX", "--query", "QUERY"],
            "lacks the column 'throughput'",
        ),
        (
            [
                "predict",
                "--memory-table",
                "MEMORY",
                "--accelerator-table",
                "MEMORY",
                "--query",
                "QUERY",
            ],
            "lacks the column 'inverse_throughput'",
        ),
        (
            ["predict", "--memory-table", "MEMORY", "--query", "REGEX"],
            "lacks the column 'flow_count'",
        ),
        (["train", "MEMORY", "--recipe", "ridge-pressure", "-o", "/nowhere/m.json"], "be written"),
    ],
)
def test_wrong_files(tables: Tables, words: list[str], message: str) -> None:
    files = {"MEMORY": tables.memory, "REGEX": tables.regex, "QUERY": tables.query}
    files["REGEX2"] = str(write_regex(tables.folder / "regex2.csv"))
    run = slowpath("contention", *(files.get(word, word) for word in words))
    assert run.returncode == 3, run.stderr
    assert run.stderr.startswith("error: ")
    assert message in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flows=1,size=64,flows=2", "flows is given twice"),
        ("flows=0,size=64", "value '0' of flows is not a number from 1 to"),
        ("flows=nan,size=64", "value 'nan' of flows is not a number"),
        ("flows=many,size=64", "value 'many' of flows is not a number"),
        ("speed=3", "'speed=3' is not traffic"),
        ("flows", "'flows' is not traffic"),
    ],
)
def test_traffic_that_is_none(text: str, message: str) -> None:
    with pytest.raises(OptionError) as wrong:
        read_traffic(text)
    assert message in wrong.value.reason


def test_evaluation_tells_models_apart(tables: Tables) -> None:
    names = ("ridge-pressure", "constant")
    words = [word for name in names for word in ("--recipe", name)]
    run = slowpath("contention", "evaluate", tables.memory, *words, "--format", "json")
    good, bad = json.loads(run.stdout)["results"]
    assert (good["recipe"], bad["recipe"]) == names
    assert good["errors"]["mape"] < bad["errors"]["mape"] / 2
    assert 0.7 < good["coverage"] <= 1
    assert good["width"] < bad["width"]
    as_csv = rows_of(
        slowpath("contention", "evaluate", tables.memory, *words, "--format", "csv").stdout
    )
    assert [float(row["mape"]) for row in as_csv] == pytest.approx(
        [one["errors"]["mape"] for one in (good, bad)], rel=1e-14
    )
    table = slowpath("contention", "evaluate", tables.memory, *words).stdout
    assert f"{100 * good['errors']['mape']:.2f} %" in table


# --- saved models ---------------------------------------------------------------------------------


def change(document: Any, path: str, value: object) -> None:
    *way, last = path.split(".")
    for step in way:
        document = document[int(step) if step.isdigit() else step]
    if value is None:
        del document[last]
    else:
        document[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("recipe", "oracle", "has an unknown recipe 'oracle'"),
        ("version", 2, "the model has format version 2"),
        ("queues", 0, "queues, 0, is not between 1 and 4,096"),
        ("memory", None, "lacks 'memory'"),
        ("memory.columns.ipc", [1.0], "memory.columns.ipc has 1 values for 30 rows"),
        ("memory.columns.ipc", None, "memory: the part lacks the column ipc"),
        (
            "memory.columns.throughput",
            [0.0] * 30,
            "row m0, column throughput: the value must not be zero",
        ),
        ("memory.columns.irt", [-1.0] * 30, "memory, row m0, column irt: -1 is negative"),
        ("memory.columns.wss_mb", [3.0] * 30, "predicts different values from those in its file"),
        (
            "checks.1.throughput",
            1.0,
            "predicts different values from those in its file: the throughput of row m7",
        ),
        ("checks.1.row", 99, "checks names row 99"),
        ("pattern", "quantum", "pattern: should be pipeline or run-to-completion"),
        ("accelerator.columns.mtbr", None, "accelerator: the part lacks the column mtbr"),
    ],
)
def test_models_that_somebody_changed(
    tables: Tables, path: str, value: object, message: str
) -> None:
    file = Path(tables.trained())
    document = json.loads(file.read_text())
    change(document, path, value)
    file.write_text(json.dumps(document))
    with pytest.raises(InputError) as wrong:
        saved.read(str(file))
    assert message in wrong.value.reason


def test_every_recipe_can_be_saved(tables: Tables, tmp_path: Path) -> None:
    memory = read_memory([tables.memory])
    query = read_query(tables.query, memory, accelerator=True)
    file = tmp_path / "any.model.json"
    for name in ("average", "falling-pressure", "monotone-pressure", "segments"):
        profiles = Profiles(memory, read_accelerator(tables.regex), read_own_contention(tables.own))
        model = learn(profiles, choose(memory, RECIPES[name]), "pipeline", 2)
        file.write_text(saved.written(model))
        again = saved.read(str(file))
        assert again.queues == 2
        one, two = (predict(each, query, 0.9) for each in (model, again))
        for left, right in zip(one[:3], two[:3], strict=True):
            assert left == pytest.approx(right, rel=1e-9)


def test_sizes_of_requests_and_what_devices_move_are_saved(tables: Tables, tmp_path: Path) -> None:
    memory = read_memory([tables.memory])
    moved = np.linspace(0, 9000, len(memory.rows))
    memory = memory._replace(columns={**memory.columns, "dma_mb": moved})
    requests = read_accelerator(tables.regex)
    many = [np.repeat(one, 2) for one in (requests.mtbr, requests.request_time)]
    size = np.resize([500.0, 1500.0], len(many[0]))
    requests = requests._replace(
        rows=tuple(str(row) for row in range(len(size))),
        mtbr=many[0],
        request_time=many[1] * size / 1500,
        size=size,
    )
    model = learn(Profiles(memory, requests), choose(memory, RECIPES["process-bus"]))
    file = tmp_path / "moved.model.json"
    file.write_text(saved.written(model))
    again = saved.read(str(file))
    assert again.request_time == model.request_time
    assert again.request_time is not None
    assert again.request_time.sizes == (500, 1500)
    np.testing.assert_array_equal(again.memory.columns["dma_mb"], moved)


def test_saved_models_fit_their_schema(tables: Tables) -> None:
    Draft202012Validator(schema("contention")).validate(
        json.loads(Path(tables.trained()).read_text())
    )


# --- the published tables -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published() -> MemoryProfile:
    folder = oracles.folder("bluefield-2", "SLOWPATH_BLUEFIELD2", "tables of BlueField-2")
    return read_memory([str(folder / "memory-train.csv")])


def held_out_error(recipe: Recipe, rows: Rows) -> float:
    """Return the mean relative error of a recipe on rows that were left out of training in turn.

    A recipe is a kind of memory model. `evaluate` computes the same error, and intervals, for which
    it fits ten times as many models.
    """
    errors = np.zeros(len(rows.throughput))
    for held_out in grouped_folds(groups(rows.columns), FOLDS, 1000):
        known, unseen = rows.where(~held_out), rows.where(held_out)
        logs = fit_stage(recipe, known).log_throughput(unseen.columns)
        errors[held_out] = np.abs(np.exp(logs) / unseen.throughput - 1)
    return float(errors.mean())


def test_published_rows_are_predicted_from_the_others(published: MemoryProfile) -> None:
    """Check that our default memory model predicts left-out rows better than the paper's model."""
    rows = memory_rows(published)
    ours = evaluate(RECIPES["average"], rows, Protocol())
    assert ours.errors.mape <= 0.035
    assert ours.errors.mape == pytest.approx(held_out_error(RECIPES["average"], rows))
    assert ours.errors.mape < held_out_error(RECIPES["published"], rows)
    assert 0.85 <= ours.coverage <= 1
    oracles.compared("bluefield-2", len(published.rows), "throughputs beside competitors")


DOCUMENTED = re.compile(r"^\| (?:`average`|(chosen)[^|]*) \| \**([\d.]+) ± ([\d.]+)", re.MULTILINE)


@pytest.mark.parametrize("chosen", ["", *(["chosen"] if CAMPAIGN > 1 else [])])
def test_the_documented_errors_of_published_rows_are_current(
    published: MemoryProfile, chosen: str
) -> None:
    page = (ROOT / "docs/explanation/contention-accuracy.md").read_text()
    shown = {one: (mape, error) for one, mape, error in DOCUMENTED.findall(page)}
    assert {*shown} == {"", "chosen"}
    rows = memory_rows(published)
    if chosen:
        (found,) = evaluate_all([None], rows, Protocol(), LocalPool())
    else:
        found = evaluate(RECIPES["average"], rows, Protocol())
    errors = (found.errors.mape, found.errors.standard_error)
    assert tuple(f"{100 * one:.2f}" for one in errors) == shown[chosen]
    oracles.compared("bluefield-2", len(published.rows), "throughputs beside competitors")


def test_published_rows_beyond_the_regex_limit_are_limited_by_it(
    published: MemoryProfile,
) -> None:
    folder = oracles.folder("bluefield-2", "SLOWPATH_BLUEFIELD2", "tables of BlueField-2")
    accelerator = read_accelerator(str(folder / "regex-train.csv"), published.origin)
    choice = choose(published, RECIPES["process-plain"])
    model = learn(Profiles(published, accelerator), choice)
    count = len(published.rows)
    query = Query(
        "query", published.rows, published.columns, np.full(count, 600.0), np.full(count, 2e-3)
    )
    found = predict(model, query, 0.9)
    assert set(found.bottleneck) == {"regex"}
    # Interpolate between the two published request times.
    line = 0.0008501891685 + (600 - 330.2259075) / (628.0341902 - 330.2259075) * (
        0.001483913737 - 0.0008501891685
    )
    assert found.throughput == pytest.approx(np.full(count, 1 / (line + 2e-3)))
