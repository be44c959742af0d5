"""Tests `slowpath insights cores`, which recommends numbers of cores.

The recommendation is the knee of a predicted throughput curve, after which more cores hardly help.
"""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import oracles
from insights_tables import (
    Function,
    curve_rows,
    drawn,
    plain,
    published_curves,
    query_rows,
    write_csv,
)
from slowpath.insights.cores.curves import CORES, advise, knees, read_curves, read_query
from slowpath.insights.cores.functions import functions_of
from slowpath.insights.cores.model import (
    TRAFFIC,
    advised,
    learn,
    predict,
    read,
    shipped,
    shipped_file,
    spread,
    written,
)
from support import slowpath


def knee_by_rule(curve: np.ndarray) -> int:
    """Return the number of cores at the knee of a throughput curve, by the published rule.

    The rule is applied step by step, independently of the tested code.
    """
    unit = curve[0] / 5.4
    for step in range(1, 7):
        gain = curve[step] - curve[step - 1]
        if gain < 0.72 * unit:
            return 6 * (step + 3) + min(k for k in range(6) if gain < 0.12 * (k + 1) * unit)
    return 60


@pytest.mark.parametrize(
    ("gains", "knee"),
    [
        ([1.0] * 6, 60),
        ([0.73] * 6, 60),
        ([1.0, 1.0, 0.5, 0, 0, 0], 40),
        ([1.0, 1.0, 0.05, 1.0, 1.0, 1.0], 36),
        ([-0.2, 1, 1, 1, 1, 1], 24),
        ([1, 1, 1, 1, 1, 0.7], 59),
        ([1, 1, 1, 1, 1, 0.13], 55),
    ],
)
def test_the_knee_of_made_up_curves(gains: list[float], knee: int) -> None:
    curve = 5.4 + np.cumsum([0.0, *gains])
    assert knees(curve) == knee
    assert knees(1e6 * curve) == knee


def test_the_knee_is_that_of_the_rule() -> None:
    random = np.random.default_rng(3)
    curves = 5.4 + np.cumsum(random.uniform(-0.3, 1.4, (4000, 7)) * [0, 1, 1, 1, 1, 1, 1], 1)
    found = knees(curves)
    assert [knee_by_rule(one) for one in curves] == list(found)
    assert len(set(found)) == len(range(24, 60)) + 1


def test_advice_is_in_its_interval_which_grows_with_what_is_not_known() -> None:
    random = np.random.default_rng(4)
    curves = 5.4 + np.cumsum(np.sort(random.uniform(-0.1, 1.3, (300, 6)), 1)[:, ::-1], 1)
    curves = np.concatenate([np.full((300, 1), 5.4), curves], 1)
    certain = advise(curves, np.zeros((7, 7)), 0.9)
    assert (certain.cores == knees(curves)).all()
    assert (certain.low == certain.high).all()
    widths = []
    for noise in (0.001, 0.003, 0.01):
        found = advise(curves, noise**2 * np.eye(7), 0.9)
        assert ((found.low <= found.cores) & (found.cores <= found.high)).all()
        widths.append((found.high - found.low).mean())
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]
    sure, surer = (advise(curves, 1e-4 * np.eye(7), one) for one in (0.6, 0.95))
    assert ((surer.low <= sure.low) & (sure.high <= surer.high)).all()


def test_intervals_have_what_differs_as_was_assumed() -> None:
    random = np.random.default_rng(8)
    curves = 5.4 + np.cumsum(np.sort(random.uniform(0, 1.3, (2000, 6)), 1)[:, ::-1], 1)
    curves = np.concatenate([np.full((2000, 1), 5.4), curves], 1)
    measured = knees(curves * np.exp(0.01 * random.standard_normal(curves.shape)))
    found = advise(curves, 0.01**2 * np.eye(7), 0.9)
    inside = (found.low <= measured) & (measured <= found.high)
    assert 0.88 < inside.mean() <= 1


def test_the_spread_leaves_wild_curves_out() -> None:
    errors = 0.01 * np.random.default_rng(1).standard_normal((400, 7))
    wild = errors.copy()
    wild[:10] = 2.0
    assert np.sqrt(np.diag(spread(wild))) == pytest.approx(np.full(7, 0.01), rel=0.15)


def made_up(folder: Path, count: int = 60) -> tuple[list[Function], Path]:
    """Write a table of throughput by number of cores, and return the functions and the file.

    The values are predictions of the shipped model with a little noise.
    """
    functions = drawn(count, 11)
    points = predict(shipped("hit"), functions_of(functions), CORES)
    noise = np.exp(0.002 * np.random.default_rng(0).standard_normal(points.throughput.shape))
    rows = curve_rows(functions, points.throughput * noise, points.latency * noise)
    return functions, write_csv(folder / "curves.csv.gz", rows)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_query_is_answered_row_by_row(tmp_path: Path) -> None:
    functions = drawn(3, 2)
    query = query_rows(functions, (60, 24, 31))
    file = write_csv(tmp_path / "query.csv.gz", query)
    answer = tmp_path / "out.csv"
    run = slowpath("insights", "cores", "--query", file, "-o", answer)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert answer.read_text().splitlines()[0] == (
        "function,cores,throughput_pps,latency_cycles,knee_cores"
    )
    found = rows_of(answer.read_text())
    assert [(row["function"], row["cores"]) for row in found] == [
        (row["function"], str(row["cores"])) for row in query
    ]
    shown = slowpath("insights", "cores", "--query", file, "--format", "csv")
    assert shown.stdout == answer.read_text()
    document = json.loads(slowpath("insights", "cores", "--query", file, "--format", "json").stdout)
    knees_of = {one["function"]: one for one in document["functions"]}
    for row, point in zip(found, document["points"], strict=True):
        assert float(row["throughput_pps"]) == point["throughput_pps"]
        advice = knees_of[row["function"]]
        assert int(row["knee_cores"]) == advice["knee_cores"]
        assert 24 <= advice["knee_low"] <= advice["knee_cores"] <= advice["knee_high"] <= 60
        assert 0.5 < advice["share"] <= 1
        assert not point["outside"]
    rates = [float(row["throughput_pps"]) for row in found[:3]]
    assert rates[1] < rates[2] < rates[0]
    miss = slowpath("insights", "cores", "--query", file, "--emem-cache", "miss", "--format", "csv")
    assert rows_of(miss.stdout)[0]["throughput_pps"] != found[0]["throughput_pps"]
    text = slowpath("insights", "cores", "--query", file).stdout
    assert "published functions, with accesses that hit the cache" in text
    assert all(name in text for name in ("f0", "f1", "f2"))


def test_guesses_are_called_guesses(tmp_path: Path) -> None:
    functions = [
        plain(has_ipfilter1=1, ipfilter1_rules=50),
        plain(has_compute7=1),
        plain(ipfilter1_rules=99),
    ]
    file = write_csv(tmp_path / "query.csv", query_rows(functions, (24, 90)))
    run = slowpath("insights", "cores", "--query", file, "--format", "json")
    assert run.returncode == 0
    warnings = run.stderr.splitlines()
    assert len(warnings) == 2
    assert "90 cores are guesses, because only 24 to 60 cores were measured" in warnings[0]
    assert "2 of 3 functions" in warnings[1]
    assert "f0 (ipfilter1_rules), f1 (has_compute7)" in warnings[1]
    points = json.loads(run.stdout)["points"]
    assert [one["outside"] for one in points] == [False, True] * 3


def test_training_finds_the_truth_again_and_is_repeatable(tmp_path: Path) -> None:
    functions, file = made_up(tmp_path)
    curves = read_curves(str(file))
    model = learn(curves, members=2)
    again = learn(curves, members=2)
    assert all(np.array_equal(a, b) for a, b in zip(model.members, again.members, strict=True))
    others = functions_of(drawn(40, 12))
    truth = predict(shipped("hit"), others, CORES)
    found = predict(model, others, CORES)
    # Each member has 48 functions for 200 parameters, so many parameters keep typical values.
    assert np.abs(found.throughput / truth.throughput - 1).mean() < 0.12
    order = np.random.default_rng(1).permutation(len(functions))
    mixed = predict(model, functions_of([functions[at] for at in order]), CORES)
    straight = predict(model, functions_of(functions), CORES)
    assert mixed.throughput == pytest.approx(straight.throughput[order], rel=1e-9)


def test_a_table_to_learn_from_can_be_named(tmp_path: Path) -> None:
    functions, train = made_up(tmp_path, 50)
    query = write_csv(tmp_path / "query.csv", query_rows(functions[:2], (24, 60)))
    run = slowpath("insights", "cores", "--train", train, "--query", query)
    assert (run.returncode, run.stderr) == (0, "")
    assert f"model trained on 50 functions of {train}" in run.stdout


def test_shipped_models_are_small_and_hold_parameters_only() -> None:
    for traffic in TRAFFIC:
        file = shipped_file(traffic)
        assert file.stat().st_size < 40_000
        model = shipped(traffic)
        again = read(json.loads(json.dumps(written(model))))
        assert all(np.array_equal(a, b) for a, b in zip(model.members, again.members, strict=True))
        assert np.linalg.eigvalsh(model.spread).min() > -1e-6
        assert json.loads(file.read_text()).keys() == {"functions", "members", "latency", "spread"}


def test_labels_of_published_functions_are_those_described() -> None:
    """Check the knees of published curves against published counts and medians."""
    for traffic, most, median in (("hit", 82, 46), ("miss", 61, 50)):
        curves = published_curves(traffic)
        found = knees(curves.throughput)
        assert (found == 60).sum() == most
        assert np.median(found) == median
        oracles.compared("insights", len(found), f"knees ({traffic})")


def test_what_is_advised_is_read_off_the_curve(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "query.csv", query_rows(drawn(5, 3), (24,)))
    query = read_query(str(file))
    model = shipped("hit")
    found = advised(model, query.functions, 0.9)
    for at in range(5):
        cores = int(found.advice.cores[at])
        one = query.functions.selected(np.array([at]))
        assert found.throughput[at] == pytest.approx(predict(model, one, (cores,)).throughput[0, 0])
