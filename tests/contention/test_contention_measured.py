"""Tests measured mixes of functions: they replace predictions, and more of them are suggested."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from scipy.optimize import linprog

from contention_fleets import EXAMPLE, FLEET, fleet_of
from slowpath.contention.placement.fleet import Mix, counts_of, possible_mixes
from slowpath.contention.placement.policies import Column, ExpectedArrivals, Grown, cover
from slowpath.contention.placement.reading import read_fleet, read_measured
from slowpath.contention.placement.shares import (
    LEAST,
    ErrorModel,
    Measured,
    MonotonicBounds,
    PredictedShares,
    _covariance,
    _variance,
    measured,
    rows_of,
)
from slowpath.contention.placement.suggesting import suggest
from slowpath.core.errors import InputError
from slowpath.core.schema.validation import schema
from support import slowpath

pytestmark = pytest.mark.filterwarnings("ignore")

Rows = dict[Mix, dict[int, list[float]]]
MIXES = possible_mixes(FLEET)


def exactly(shares: dict[Mix, dict[int, float]], times: int = 1) -> Rows:
    """Return noise-free measured throughput: 1000 alone, and a fraction of it in mixes.

    `shares` has the fraction for each function of each mix.
    """
    alone: Rows = {(at,): {at: [1000.0] * times} for at in range(3)}
    others: Rows = {
        mix: {at: [1000.0 * one] * times for at, one in of.items()} for mix, of in shares.items()
    }
    return alone | others


# --- measured shares ------------------------------------------------------------------------------


def test_measurements_are_taken_instead_of_predictions() -> None:
    known = measured("m.csv", exactly({(0, 2): {0: 0.9, 2: 0.8}}), None)
    found, plain = PredictedShares(FLEET, None, known), PredictedShares(FLEET)
    (at,) = found.rows([(0, 2)])
    assert found.shares.kept[at].tolist() == pytest.approx([0.9, np.inf, 0.8])
    assert found.shares.throughput[at, [0, 2]].tolist() == pytest.approx([900, 800])
    # Other mixes are predicted, relative to the measured solo throughput.
    (other,), (before,) = found.rows([(0, 1)]), plain.rows([(0, 1)])
    assert found.shares.throughput[other, 0] == plain.shares.throughput[before, 0]
    alone = plain.shares.throughput[plain.shares.row((0,)), 0]
    expected = plain.shares.kept[before, 0] * alone / 1000
    assert found.shares.kept[other, 0] == pytest.approx(min(expected, 1.0))


def test_noise_is_that_of_all_repetitions_together() -> None:
    logs = {(0,): [0.0, 0.02, 0.04], (1,): [1.0, 1.02]}
    known = measured("m.csv", {m: {m[0]: np.exp(of).tolist()} for m, of in logs.items()}, None)
    assert known.noise == pytest.approx(np.sqrt((2 * 0.02**2 + 2 * 0.01**2) / 3))
    assert known.freedom == 3
    assert known.known[0,][0].throughput == pytest.approx(np.exp(0.02))
    assert measured("m.csv", {(0,): {0: [1.0, 2.0]}}, 0.1).noise == 0.1


def test_sure_shares_are_kept_that_often() -> None:
    """Check that 90 % confidence limits are below the true value in 90 % of random measurements.

    The true value is 0.9 of the solo throughput.
    """
    draw = np.random.default_rng(3)
    kept = []
    for _ in range(2000):
        rows: Rows = {
            (0,): {0: np.exp(draw.normal(0, 0.02, 4)).tolist()},
            (0, 0): {0: (0.9 * np.exp(draw.normal(0, 0.02, 2))).tolist()},
        }
        kept.append(measured("m.csv", rows, None).kept((0, 0), 0.9)[0])
    assert np.mean(np.array(kept) <= 0.9) == pytest.approx(0.9, abs=0.02)


def test_who_is_sure_has_to_know_the_noise() -> None:
    known = measured("m.csv", exactly({(0, 2): {0: 0.9, 2: 0.8}}), None)
    with pytest.raises(
        InputError, match=r"m\.csv: the noise of measurements is unknown, .* or set --noise"
    ):
        PredictedShares(FLEET, 0.9, known)
    with_noise = measured("m.csv", exactly({(0, 2): {0: 0.9, 2: 0.8}}), 0.01)
    margin = 1.2816 * 0.01 * np.sqrt(2)
    assert with_noise.kept((0, 2), 0.9)[0] == pytest.approx(0.9 * np.exp(-margin), rel=1e-5)
    assert with_noise.kept((0,), 0.9) == {0: 1.0}


@settings(max_examples=60)
@given(st.lists(st.sampled_from(MIXES), min_size=1, max_size=6, unique=True), st.integers(0, 999))
def test_nobody_gets_faster_by_more_neighbours(some: list[Mix], seed: int) -> None:
    """Check that predictions for mixes agree with measured mixes of more or fewer neighbours.

    With more neighbours, a function is never faster. So its predicted share of solo throughput is
    at least that of each larger measured mix, and at most that of each smaller one.
    """
    draw = np.random.default_rng(seed)

    def shares(mixes: Sequence[Mix]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        # Shares of a function fall with neighbours, as measured shares do.
        counts = counts_of(mixes, 3)
        values = 1 - 0.1 * counts.sum(axis=1, keepdims=True) + 0.01 * np.arange(3)
        return np.where(counts > 0, values, np.inf)

    kept = shares(some)
    guessed = np.where(counts_of(MIXES, 3) > 0, draw.uniform(0.3, 1.1, (len(MIXES), 3)), np.nan)
    found = MonotonicBounds(some, kept).limit(MIXES, guessed)
    for at, mix in enumerate(MIXES):
        for function in set(mix):
            own = counts_of([mix], 3)[0]
            above = [
                kept[place, function]
                for place, one in enumerate(some)
                if function in one and (counts_of([one], 3)[0] <= own).all()
            ]
            below = [
                kept[place, function]
                for place, one in enumerate(some)
                if (counts_of([one], 3)[0] >= own).all()
            ]
            value = max([guessed[at, function], *below])
            assert found[at, function] == min([value, *above])


FIVE = [mix for mix in possible_mixes(fleet_of((1, 1, 1, 1, 1))) if len(mix) > 1]


def errors_by_neighbours(mixes: Sequence[Mix], seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return made-up errors of logarithmic predictions for mixes.

    Each neighbour of a function adds a random error.
    """
    draw = np.random.default_rng(seed)
    losses = draw.normal(-0.03, 0.02, (5, 5))
    rows, _ = rows_of(mixes, 5)
    errors: np.ndarray[Any, np.dtype[np.float64]] = (losses[rows.function] * rows.beside).sum(
        axis=1
    )
    return errors


def test_what_is_off_in_measured_mixes_is_corrected_in_others() -> None:
    draw = np.random.default_rng(8)
    for seed in range(3):
        some = {*draw.permutation(len(FIVE))[:30].tolist()}
        known = [mix for at, mix in enumerate(FIVE) if at in some]
        others = [mix for at, mix in enumerate(FIVE) if at not in some]
        noise = draw.normal(0, 0.005, len(errors_by_neighbours(known, seed)))
        errors = errors_by_neighbours(known, seed) + noise
        learnt = ErrorModel(known, errors, np.full(len(errors), 0.005**2), 5)
        rows, _ = rows_of(others, 5)
        real = errors_by_neighbours(others, seed)
        assert np.abs(learnt.correct(rows, None) - real).mean() < np.abs(real).mean() / 5
        assert (learnt.correct(rows, 0.9) <= real).mean() > 0.8
        assert (learnt.correct(rows, 0.9) < learnt.correct(rows, None)).all()
        assert (learnt.correct(rows, 0.99) < learnt.correct(rows, 0.9)).all()


def test_the_diagonal_is_that_of_the_covariance() -> None:
    rows, _ = rows_of(FIVE, 5)
    parts = np.array([0.3, 0.2, 0.05, 0.01, 0.4, 0.001])
    covariance = _covariance(parts, rows, rows)
    assert np.diag(covariance) + parts[-1] == pytest.approx(_variance(parts, rows))
    assert np.linalg.eigvalsh(covariance).min() > -1e-9


def test_mixes_that_are_left_out_are_predicted_by_the_others() -> None:
    """Check the error of each mix if a model learns from all other mixes.

    The fast formula, with blocks of the inverse matrix, must agree with training the model again.
    """
    some = FIVE[::4]
    noise = np.random.default_rng(2).normal(0, 0.01, len(rows_of(some, 5)[1]))
    errors = errors_by_neighbours(some, 1) + noise
    variance = np.full(len(errors), 1e-4)
    learnt = ErrorModel(some, errors, variance, 5)
    rows, mix = rows_of(some, 5)
    for place in range(len(some)):
        out, left = np.flatnonzero(mix == place), np.flatnonzero(mix != place)
        covariance = _covariance(learnt._parts, rows, rows)
        known = covariance[np.ix_(left, left)] + np.diag(variance[left] + learnt._parts[-1])
        shared = covariance[np.ix_(out, left)]
        middle = shared @ np.linalg.solve(known, errors[left])
        spread = (
            np.diag(covariance)[out]
            - np.diag(shared @ np.linalg.solve(known, shared.T))
            + variance[out]
            + learnt._parts[-1]
        )
        expected = (errors[out] - middle) / np.sqrt(spread)
        assert learnt._left_out[out] == pytest.approx(expected, rel=1e-4)


def test_models_that_say_too_much_are_believed_less() -> None:
    """Check that predictions are lowered if measurements are below them.

    Measured throughput is a tenth lower for each neighbour. Only mixes without measurements of
    their own are checked.
    """
    fleet = fleet_of((1, 1, 1, 1))
    plain, several = PredictedShares(fleet), [mix for mix in possible_mixes(fleet) if len(mix) > 1]
    some = several[::2]
    rows = plain.rows(some)
    base = plain.shares.kept[rows]
    solo = [plain.shares.throughput[plain.shares.row((at,)), at] for at in range(4)]
    seen: Rows = {(at,): {at: [solo[at]] * 2} for at in range(4)}
    for mix, kept in zip(some, base, strict=True):
        throughput = 0.9 ** (len(mix) - 1) * kept * solo
        seen[mix] = {at: [throughput[at] * one for one in (0.999, 1.001)] for at in set(mix)}
    assert sum(map(len, map(set, some))) >= LEAST
    found = PredictedShares(fleet, None, measured("m.csv", seen, None))
    careful = PredictedShares(fleet, 0.9, measured("m.csv", seen, None))
    for mix in several[1::2]:
        (at,), (before,), (sure,) = (one.rows([mix]) for one in (found, plain, careful))
        for of in set(mix):
            expected = 0.9 ** (len(mix) - 1) * plain.shares.kept[before, of]
            assert found.shares.kept[at, of] == pytest.approx(expected, rel=0.06)
            assert careful.shares.kept[sure, of] <= found.shares.kept[at, of] + 1e-9


# --- tables ---------------------------------------------------------------------------------------

GOOD = """nics: {device: example, cores: 8}
functions:
  nat: {model: nat.model.json, cores: 2, traffic: {flows: 16000, size: 1500}, sla: 0.9}
  ids: {model: ids.model.json, cores: 4, traffic: {flows: 16000, size: 1500, mtbr: 9}, sla: 0.8}
"""
TABLE = "mix,function,throughput\nnat,nat,1000\nids,ids,500\nids+nat,nat,900\nids+nat,ids,400\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("nat", "ids"):
        file = f"{name}.model.json"
        (tmp_path / file).write_text((EXAMPLE / file).read_text())
    (tmp_path / "fleet.yaml").write_text(GOOD)
    (tmp_path / "mixes.csv").write_text(TABLE)
    (tmp_path / "arrivals.csv").write_text("function\nnat\nids\n")
    return tmp_path


def table_of(folder: Path, text: str) -> Measured:
    (folder / "mixes.csv").write_text(text)
    return read_measured(str(folder / "mixes.csv"), read_fleet(str(folder / "fleet.yaml")))


def test_rows_of_the_same_function_are_repetitions(folder: Path) -> None:
    found = table_of(folder, TABLE + "nat+ids,nat,1600\n").known[0, 1]
    assert found[0].throughput == pytest.approx(1200.0)
    assert found[1].throughput == pytest.approx(400.0)
    assert [one.times for one in found.values()] == [2, 1]
    # Functions outside the measured mixes need no solo row.
    assert set(table_of(folder, "mix,function,throughput\nnat,nat,999\n").known) == {(0,)}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nat,nat,1000\n", "", "lacks a row for 'nat' alone"),
        ("ids+nat,ids,400\n", "", "mix nat+ids: the table lacks a row for the function 'ids'"),
        ("ids+nat,ids,400", "ids+acl,ids,400", "line 5, column mix: 'acl' is not a function of"),
        (
            "nat,nat,1000",
            "nat,ids,1000",
            ("line 2, column function: the function 'ids' is not in the mix"),
        ),
        ("nat,nat,1000", "nat,nat,", "line 2, column throughput: the cell is empty"),
        (
            "nat,nat,1000",
            "nat,nat,1e9",
            "line 2, column throughput: the throughput 1e+09 is far from the",
        ),
        (
            "mix,",
            "# device: other\nmix,",
            "line 1, device: the device is 'other', but the NICs are 'example'",
        ),
        ("mix,", "mixed,", "lacks the column 'mix'"),
        (TABLE[24:], "", "has no rows"),
    ],
)
def test_tables_that_cannot_be(folder: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as wrong:
        table_of(folder, TABLE.replace(old, new, 1))
    assert message in str(wrong.value)


# --- what to measure ------------------------------------------------------------------------------


def test_the_cover_is_that_of_the_program_with_nested_promises() -> None:
    """Compare the least number of NICs with the optimum of an equivalent linear program.

    The linear program has one constraint for each promised throughput.
    """
    draw = np.random.default_rng(1)
    wanted = ExpectedArrivals(
        np.repeat(np.arange(3), 2), np.tile([0.7, 0.9], 3), draw.uniform(1, 9, 6)
    )
    for _ in range(10):
        counts = counts_of(MIXES, 3)
        kept = np.where(counts > 0, draw.uniform(0.7, 1, counts.shape), np.inf)
        kept[counts.sum(axis=1) == 1] = 1
        found = cover(wanted, Column(counts, wanted.levels(kept)))
        places = np.array(
            [
                counts[:, of] * (kept[:, of] >= promise)
                for of, promise in zip(wanted.function, wanted.promise, strict=True)
            ]
        )
        needed = wanted.arrivals + np.where(wanted.promise < 0.9, np.roll(wanted.arrivals, -1), 0)
        plain = linprog(np.ones(len(MIXES)), A_ub=-places, b_ub=-needed, method="highs")
        assert found.total == pytest.approx(plain.fun)
        assert (places @ found.nics >= needed - 1e-6).all()


def test_nics_in_use_are_filled_before_others_are_taken() -> None:
    wanted = ExpectedArrivals(np.array([0]), np.array([0.8]), np.array([6.0]))
    mixes = Column(np.array([[1.0], [2.0]]), np.array([[0], [0]]))
    more = Column(np.array([[0.0], [1.0]]), np.array([[0], [0]]))
    assert cover(wanted, mixes).total == pytest.approx(3)
    assert cover(wanted, mixes, [Grown(4, more)]).total == pytest.approx(1)


def truth_of(shares: Callable[[Mix], dict[int, float]], mixes: Sequence[Mix]) -> Rows:
    return {mix: {at: [100.0 * one] * 2 for at, one in shares(mix).items()} for mix in mixes}


def as_predicted(mix: Mix) -> dict[int, float]:
    """Return the shares of solo throughput in a mix that a model predicts, increased by 1 %."""
    plain = PredictedShares(FLEET)
    (at,) = plain.rows([mix])
    return {of: float(min(plain.shares.kept[at, of] * 1.01, 1.0)) for of in set(mix)}


def test_suggestions_are_mixes_that_save_nics_and_nobody_measured() -> None:
    plan = suggest(FLEET, 4, 0.9)
    assert 0 < len(plan.mixes) <= 4
    assert plan.alone == (0, 1, 2)
    assert plan.best <= plan.then + 1e-9 <= plan.now + 1e-9
    assert [one.nics for one in plan.mixes] == sorted((o.nics for o in plan.mixes), reverse=True)
    assert all(len(one.mix) > 1 and one.mix in MIXES for one in plan.mixes)
    assert all(set(one.kept) == set(one.mix) for one in plan.mixes)
    more = suggest(FLEET, 100, 0.9)
    assert more.then == pytest.approx(more.best)


def test_measuring_what_is_suggested_ends() -> None:
    """Check that no more mixes are suggested once enough are measured, if predictions are true."""
    rows = truth_of(as_predicted, [(0,), (1,), (2,)])
    for _ in range(12):
        plan = suggest(FLEET, 4, 0.9, measured("m.csv", rows, None))
        assert plan.alone == ()
        assert not {one.mix for one in plan.mixes} & set(rows)
        if not plan.mixes:
            break
        rows |= truth_of(as_predicted, [one.mix for one in plan.mixes])
    assert not plan.mixes
    assert plan.now == pytest.approx(plan.best)


def test_a_fleet_without_neighbours_has_nothing_to_measure() -> None:
    assert suggest(fleet_of((4, 4, 4)), 5, 0.9).mixes == []


# --- commands -------------------------------------------------------------------------------------


def test_formats_of_suggestions_say_the_same() -> None:
    words = ("contention", "suggest", EXAMPLE / "fleet.yaml", "--mixes", "3")
    run = slowpath(*words, "--format", "json")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    Draft202012Validator(schema("suggestion")).validate(document)
    assert 0 < len(document["mixes"]) <= 3
    rows = list(csv.DictReader(io.StringIO(slowpath(*words, "--format", "csv").stdout)))
    alone = [row["mix"] for row in rows if row["mix"] == row["function"]]
    assert alone == document["alone"]
    assert [(row["mix"], row["function"]) for row in rows[len(alone) :]] == [
        (one["mix"], each["function"]) for one in document["mixes"] for each in one["kept"]
    ]
    text = slowpath(*words).stdout
    assert all(one["mix"] in text for one in document["mixes"])
    assert "arrivals need" in text


def test_what_is_suggested_is_measured_and_comes_back(folder: Path) -> None:
    words = ("contention", "suggest", folder / "fleet.yaml")
    text = slowpath(*words, "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    filled = ["mix,function,throughput"]
    for row in rows:
        alone = {"nat": 1000.0, "ids": 500.0}[row["function"]]
        value = alone * float(row["predicted_kept"])
        filled += [f"{row['mix']},{row['function']},{value * one}" for one in (0.995, 1.005)]
    (folder / "mixes.csv").write_text("\n".join(filled) + "\n")
    again = slowpath(*words, "--measured", folder / "mixes.csv", "--format", "json")
    assert again.returncode == 0, again.stderr
    document = json.loads(again.stdout)
    assert document["alone"] == []
    assert not {one["mix"] for one in document["mixes"]} & {row["mix"] for row in rows}
    placed = slowpath(
        *("contention", "place", folder / "fleet.yaml", "--arrivals", folder / "arrivals.csv"),
        *("--measured", folder / "mixes.csv", "--confidence", "90%", "--format", "json"),
        *("--policy", "bid-price", "--expect", "2"),
    )
    assert placed.returncode == 0, placed.stderr
    report = json.loads(placed.stdout)
    assert report["measured"] == str(folder / "mixes.csv")
    assert report["noise"] == pytest.approx(0.00707, rel=0.01)
    assert report["expected"] == 2


WRONG = (
    ("--noise 1%", 2, "'--noise': the noise applies to measured mixes"),
    ("--measured mixes.csv --noise 200%", 2, "--noise"),
    (
        "--measured mixes.csv --confidence 90%",
        3,
        "mixes.csv: the noise of measurements is unknown, because none of them is repeated",
    ),
    ("--measured none.csv", 3, "none.csv: no such file"),
)


@pytest.mark.parametrize(("words", "code", "message"), WRONG)
def test_wrong_words(folder: Path, words: str, code: int, message: str) -> None:
    for command in ("place --arrivals arrivals.csv", "suggest"):
        given = [
            str(folder / one) if "." in one and not one[0].isdigit() else one
            for one in f"{command} fleet.yaml {words}".split()
        ]
        run = slowpath("contention", *given)
        assert (run.returncode, run.stdout) == (code, "")
        assert message in run.stderr
