"""Compares the prediction methods `sum`, `min` and SLOMO with the default method."""

import contextlib
import csv
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from contention_models import MTBR, model
from contention_tables import profile, write_memory, write_query, write_regex
from contention_wrong import FAST, error_of, run_command
from slowpath.contention.cli import PREDICT
from slowpath.contention.columns import MemoryProfile, Query
from slowpath.contention.memory.recipes import RECIPES, fit_stage
from slowpath.contention.methods import METHODS, Method, predict_by
from slowpath.contention.model import COMPOSITIONS, FunctionModel, Pattern, learn, rows_of
from slowpath.contention.model import Profiles as Measured
from slowpath.contention.prediction import predict
from slowpath.core.errors import InputError
from support import GOLDEN, check_golden

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels

PIPELINE, COMPLETION = model(1, 2e-4), model(1, 2e-4, pattern="run-to-completion")
BASELINES: tuple[Method, ...] = ("sum", "min", "slomo")


def query(of: FunctionModel, rows: int = 6, queued: float = 3e-3) -> Query:
    """Return a query about a function that has contention for all resources of its model.

    `queued` is the longest request time of competitors at the accelerator.
    """
    columns = profile(rows, seed=9).columns
    if of.request_time is None:
        return Query("q.csv", tuple("abcdef"), columns, None, None)
    both = np.full(rows, MTBR), np.linspace(0, queued, rows)
    return Query("q.csv", tuple("abcdef"), columns, *both)


@pytest.mark.parametrize("of", [PIPELINE, COMPLETION, model(2)])
def test_ours_is_what_predictions_are_without_a_method(of: FunctionModel) -> None:
    ours, plain = predict_by("slowpath", of, query(of), 0.9), predict(of, query(of), 0.9)
    np.testing.assert_array_equal(ours.throughput, plain.throughput)
    np.testing.assert_array_equal(ours.low, plain.low)


@pytest.mark.parametrize("method", BASELINES)
@pytest.mark.parametrize("of", [PIPELINE, COMPLETION, model(2)])
def test_baselines_do_not_say_how_sure_they_are(of: FunctionModel, method: Method) -> None:
    found = predict_by(method, of, query(of), 0.9)
    assert np.isfinite(found.throughput).all()
    assert np.isnan([found.low, found.high]).all()
    assert found.outside == predict(of, query(of), 0.9).outside


def test_drops_of_the_stages_of_a_pipeline() -> None:
    queried = query(PIPELINE)
    assert queried.mtbr is not None
    assert queried.queued is not None
    memory = np.exp(PIPELINE.stage.log_throughput(queried.columns))
    own = 2e-4 * (1 + 0.003 * MTBR)
    without_others = {**queried.columns}
    for name in ("ipc", "irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb"):
        without_others[name] = np.full(6, PIPELINE.memory.columns[name].min())
    alone = np.minimum(np.exp(PIPELINE.stage.log_throughput(without_others)), 1 / own)
    parts = np.minimum([memory, 1 / (own + queried.queued)], alone)
    for method in ("sum", "min"):
        found = predict_by(method, PIPELINE, queried, 0.9)
        assert found.throughput == pytest.approx(COMPOSITIONS[method](parts, alone))
    ours = predict(PIPELINE, queried, 0.9).throughput
    assert predict_by("min", PIPELINE, queried, 0.9).throughput == pytest.approx(ours)
    below = predict_by("sum", PIPELINE, queried, 0.9).throughput
    assert (below[3:] < ours[3:] * (1 - 1e-9)).all()


def test_drops_of_run_to_completion_are_each_without_the_other() -> None:
    queried = query(COMPLETION)
    assert queried.queued is not None
    ours, low, high = (
        predict_by(method, COMPLETION, queried, 0.9) for method in ("slowpath", "sum", "min")
    )
    assert (low.throughput <= ours.throughput * (1 + 1e-9)).all()
    assert (ours.throughput <= high.throughput * (1 + 1e-9)).all()
    assert (low.throughput[1:] < high.throughput[1:]).all()
    # The first row has no client: one resource, for which all methods agree.
    assert low.throughput[0] == pytest.approx(ours.throughput[0], rel=1e-2)
    assert low.accelerator is not None
    alone = predict(
        COMPLETION,
        queried._replace(columns=COMPLETION.without_competitors(queried.columns)),
        0.9,
    )
    assert low.accelerator == pytest.approx(alone.throughput)


@pytest.mark.parametrize("pattern", ["pipeline", "run-to-completion"])
def test_compositions_begin_at_the_throughput_alone_that_was_measured(pattern: Pattern) -> None:
    of = model(1, 2e-4, pattern=pattern)
    alone = np.full(6, 300.0)
    queried = query(of, queued=0.0)._replace(alone=alone)
    for method in ("sum", "min"):
        found = predict_by(method, of, queried, 0.9)
        assert (found.throughput <= alone).all()
        assert found.throughput[0] == pytest.approx(min(300.0, found.memory[0]))


def test_ours_keeps_the_share_of_the_throughput_alone_that_was_measured() -> None:
    of = model(1, 2e-4, pattern="run-to-completion")
    queried = query(of)
    without_others = queried.without_clients()._replace(
        columns=of.without_competitors(queried.columns)
    )
    alone = predict(of, without_others, 0.9).throughput
    plain = predict_by("slowpath", of, queried, 0.9)
    slower = predict_by("slowpath", of, queried._replace(alone=alone / 2), 0.9)
    assert slower.alone == pytest.approx(alone)
    for one, half in zip(plain, slower._replace(alone=None), strict=True):
        if isinstance(one, np.ndarray):
            assert half == pytest.approx(one / 2)
        else:
            assert half == one
    assert (plain.throughput < alone).any()


@pytest.mark.parametrize(("seconds", "limit"), [(2e-4, "memory"), (2e-2, "regex")])
def test_of_a_pipeline_the_stage_that_limits_it_alone_is_what_was_measured(
    seconds: float, limit: str
) -> None:
    of = model(1, seconds, pattern="pipeline")
    queried = query(of)
    without_others = queried.without_clients()._replace(
        columns=of.without_competitors(queried.columns)
    )
    alone = predict(of, without_others, 0.9)
    plain = predict_by("slowpath", of, queried, 0.9)
    slower = predict_by("slowpath", of, queried._replace(alone=alone.throughput / 2), 0.9)
    assert alone.bottleneck == [limit] * 6
    limits = limit == "regex"
    assert plain.accelerator is not None
    twice = predict_by("slowpath", of, without_others._replace(alone=alone.throughput * 2), 0.9)
    assert twice.throughput == pytest.approx(alone.throughput * 2)
    memory = plain.memory / np.where(limits, 1, 2)
    accelerator = plain.accelerator / np.where(limits, 2, 1)
    assert slower.memory == pytest.approx(memory)
    assert slower.accelerator == pytest.approx(accelerator)
    assert slower.throughput == pytest.approx(np.minimum(memory, accelerator))
    assert slower.bottleneck == ["regex" if one else "memory" for one in accelerator < memory]
    assert slower.low / slower.throughput == pytest.approx(plain.low / plain.throughput)


def with_rows_alone(of: MemoryProfile, throughput: Sequence[float]) -> MemoryProfile:
    """Add rows without competitors to a profile, with these throughputs."""
    count = len(throughput)
    solo = {name: np.zeros(count) for name in of.columns}
    solo |= {"flow_count": np.full(count, 1e4), "packet_size_bytes": np.full(count, 1500.0)}
    return of._replace(
        rows=(*of.rows, *(f"alone{at}" for at in range(count))),
        columns={name: np.concatenate([one, solo[name]]) for name, one in of.columns.items()},
        throughput=np.concatenate([of.throughput, throughput]),
    )


def test_slomo_is_told_the_throughput_alone() -> None:
    memory = with_rows_alone(profile(24), [800.0, 900.0, 1000.0])
    of = learn(Measured(memory), PIPELINE.choice)
    queried = query(of)
    plain = predict_by("slomo", of, queried, 0.9)
    slomo = fit_stage(RECIPES["slomo"], rows_of(memory))
    assert plain.throughput == pytest.approx(np.exp(slomo.log_throughput(queried.columns)))
    assert plain.bottleneck == ["memory"] * 6
    assert plain.accelerator is None
    scaled = predict_by("slomo", of, queried._replace(alone=np.full(6, 450.0)), 0.9)
    assert scaled.throughput == pytest.approx(plain.throughput / 2)


def test_slomo_has_to_know_where_it_extrapolates_from() -> None:
    with pytest.raises(InputError) as wrong:
        predict_by("slomo", PIPELINE, query(PIPELINE)._replace(alone=np.full(6, 450.0)), 0.9)
    assert wrong.value.reason.startswith("the table has no row without competitors")


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write input files: tables of a function, its model, and queries with and without `alone`."""
    folder = tmp_path_factory.mktemp("good")
    memory = with_rows_alone(profile(24), [800.0, 900.0, 1000.0])
    write_memory(folder / "memory.csv", memory, {"function": "nf", "unit throughput": "kpps"})
    write_memory(folder / "busy.csv", profile(24))
    write_regex(folder / "regex.csv", {"function": "nf"})
    write_query(folder / "query.csv", profile(4, seed=5), 400, 6e-4)
    lines = (folder / "query.csv").read_text().splitlines()
    with_alone = [f"{lines[0]},alone", *(f"{line},800" for line in lines[1:])]
    (folder / "told.csv").write_text("\n".join(with_alone))
    with contextlib.chdir(folder):
        error_of(f"train memory.csv regex.csv {FAST} -o nf.json", 0)
    return folder


@pytest.fixture
def folder(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


TABLES = "predict --memory-table memory.csv --accelerator-table regex.csv"
TRAFFIC = "--traffic flows=10000,size=1500,mtbr=400"


def test_all_methods_are_options() -> None:
    (choices,) = [one.settings["choices"] for one in PREDICT.options if "--method" in one.names]
    assert choices == tuple(METHODS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("folder")
def test_methods_as_text(method: Method) -> None:
    code, text, _ = run_command(f"predict nf.json --query told.csv --method {method}")
    assert code == 0
    check_golden(GOLDEN / f"contention/{method}.txt", text)


@pytest.mark.parametrize("method", BASELINES)
@pytest.mark.usefixtures("folder")
def test_rows_of_baselines_have_the_columns_of_all(method: Method) -> None:
    fast = "" if method == "slomo" else FAST
    _, tables, _ = run_command(f"{TABLES} --query query.csv --method {method} {fast} --format csv")
    words = f"predict nf.json --query query.csv --method {method}"
    _, saved, notes = run_command(f"{words} --format csv")
    assert tables == saved
    rows = [*csv.DictReader(saved.splitlines())]
    assert ",".join(rows[0]) == "row,throughput,low,high,share_of_solo,bottleneck,outside"
    assert {(row["low"], row["high"]) for row in rows} == {("", "")}
    document = json.loads(run_command(f"{words} --format json")[1])
    assert (document["method"], document["confidence"]) == (method, None)
    assert (document["recipe"] == "slomo") == (method == "slomo")
    for row, one in zip(rows, document["results"], strict=True):
        assert float(row["throughput"]) == pytest.approx(one["throughput"], rel=1e-14)
        assert (one["low"], one["high"]) == (None, None)
    message = "the solo throughput is unknown, so SLOMO predicts as under the traffic of its rows"
    assert (message in notes) == (method == "slomo")


@pytest.mark.parametrize("method", ["slowpath", "slomo"])
@pytest.mark.usefixtures("folder")
def test_the_throughput_alone_is_an_option_under_traffic(method: str) -> None:
    words = f"predict nf.json {TRAFFIC} --method {method} --format json"
    plain, scaled, twice = (
        json.loads(run_command(f"{words}{more}")[1])["results"][0]["throughput"]
        for more in ("", " --alone 450", " --alone 900")
    )
    assert twice == pytest.approx(2 * scaled) or method == "slowpath"  # the accelerator may limit
    assert plain != scaled < min(twice, 450)
    if method == "slomo":
        assert scaled == pytest.approx(plain / 2)


@pytest.mark.parametrize(
    ("words", "option", "message"),
    [
        ("nf.json --query query.csv --method slomos", "--method", "'slomos'"),
        ("nf.json --query query.csv --method sum --alone 3", "--alone", "add a column"),
        (
            "--memory-table memory.csv --query query.csv --method slomo --recipe slomo",
            "--recipe",
            "slomo has its own memory model",
        ),
        (f"nf.json {TRAFFIC} --method sum --alone 0", "--alone", "0 is not allowed"),
        (f"nf.json {TRAFFIC} --method sum --alone x", "--alone", "'x'"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_contradicting_options(words: str, option: str, message: str) -> None:
    found = " ".join(error_of(f"predict {words}", 2).split())
    assert option in found
    assert message in found


@pytest.mark.parametrize(
    ("text", "message"),
    [("-800", "column alone: -800 is negative"), ("", "column alone: the cell is empty")],
)
def test_a_wrong_throughput_alone(folder: Path, text: str, message: str) -> None:
    scaled = (folder / "told.csv").read_text().replace(",800", f",{text}", 1)
    (folder / "told.csv").write_text(scaled)
    for method in METHODS:
        assert message in error_of(f"predict nf.json --query told.csv --method {method}", 3)


def test_what_speaks_against_a_throughput_alone_is_a_warning(folder: Path) -> None:
    words = f"predict nf.json {TRAFFIC} --alone"
    assert (
        "the solo throughput differs from the profile by a factor of"
        in run_command(f"{words} 812000")[2]
    )
    assert "warning:" not in run_command(f"{words} 800")[2]
    tables = "predict --memory-table busy.csv --query told.csv --recipe ridge-pressure"
    assert "rows without competitors, so" in run_command(tables)[2]
    assert "another unit" not in run_command(tables)[2]
    scaled = (folder / "told.csv").read_text().replace(",800", ",800000")
    (folder / "told.csv").write_text(scaled)
    for method in ("slowpath", "sum"):
        both = run_command(f"{tables} --method {method}")[2]
        assert "rows without competitors, so" in both
        assert "the solo throughput differs from the profile by a factor of" in both


@pytest.mark.usefixtures("folder")
def test_slomo_needs_rows_without_competitors_for_a_throughput_alone() -> None:
    message = error_of("predict --memory-table busy.csv --query told.csv --method slomo", 3)
    assert message.startswith("error: busy.csv: the table has no row without competitors")
