"""Tests `slowpath insights colocation`, which ranks pairs of functions that share a card."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from insights_tables import drawn, group_rows, plain, write_lines
from slowpath.insights.cores.groups import (
    NAMES,
    PAIRS,
    Groups,
    read_groups,
    read_measured,
    scores,
    totals,
)
from slowpath.insights.cores.pairs import (
    SHIPPED,
    learn,
    position_bias,
    predicted,
    read,
    shared,
    shipped,
    written,
)
from slowpath.insights.cores.queueing import Array
from support import slowpath

ORDER = (2, 0, 3, 1)
"""A permutation of the functions of a group."""


def groups_of(folder: Path, count: int, seed: int) -> Groups:
    file = folder / f"{count}-{seed}.jsonl"
    return read_groups(str(write_lines(file, group_rows(drawn(4 * count, seed)))))


def measured(groups: Groups, file: Path, seed: int, favoured: float = 0.0) -> Path:
    """Write groups of functions with made-up measurements, and return the file.

    The measurements are predictions of the shipped model plus noise; `favoured` speeds up the first
    function of a pair.
    """
    found = shared(shipped(), groups)
    random = np.random.default_rng(seed)
    alone = np.stack([found.alone, found.alone_latency], -1)
    pairs = np.stack([found.pairs, found.pairs_latency], -1)
    pairs[..., 0] *= np.exp(np.array([favoured, -favoured]))
    pairs = pairs * np.exp(0.003 * random.standard_normal(pairs.shape))
    rows = group_rows(drawn(4 * groups.size, seed), alone, pairs)
    return write_lines(file, rows)


def test_scores_are_those_described() -> None:
    alone = np.array([[10.0, 20.0, 30.0, 40.0]])
    pairs = np.array([[[5.0, 10.0], [8, 15], [9, 20], [10, 24], [16, 20], [15, 20]]])
    total, average = totals(alone, pairs)
    assert total[0, :2] == pytest.approx([15 / 30, 23 / 40])
    assert average[0, :2] == pytest.approx([0.5 + 0.5, 0.8 + 0.5])
    found = scores(alone, 100 * alone, pairs, 200 * pairs)
    assert found.latency_total == pytest.approx(2 * total)
    assert found.latency_average == pytest.approx(2 * average)


def reordered(values: Array) -> Array:
    """Return scores of pairs in the original order, after functions were permuted by ORDER."""
    places = {frozenset(members): at for at, members in enumerate(PAIRS)}
    new_position = {old: new for new, old in enumerate(ORDER)}
    return values[
        :, np.array([places[frozenset((new_position[a], new_position[b]))] for a, b in PAIRS])
    ]


@pytest.mark.parametrize("solo", [False, True])
def test_the_order_of_functions_carries_no_signal(tmp_path: Path, solo: bool) -> None:
    groups = groups_of(tmp_path, 12, 3)
    rows = [json.loads(line) for line in Path(groups.file).read_text().splitlines()]
    if solo:
        random = np.random.default_rng(7)
        for row in rows:
            for one in row["functions"]:
                rate, cycles = random.uniform((2e6, 5e3), (2e7, 3e4))
                one["solo"] = {"throughput_pps": rate, "latency_cycles": cycles}
    straight = read_groups(str(write_lines(tmp_path / "straight.jsonl", rows)))
    for row in rows:
        row["functions"] = [row["functions"][at] for at in ORDER]
    mixed = read_groups(str(write_lines(tmp_path / "mixed.jsonl", rows)))
    model = shipped()
    for one, other in zip(predicted(model, straight), predicted(model, mixed), strict=True):
        assert reordered(other) == pytest.approx(one, rel=1e-9)


def test_one_in_a_pair_is_not_faster_than_alone(tmp_path: Path) -> None:
    groups = groups_of(tmp_path, 30, 5)
    found = predicted(shipped(), groups)
    assert (found.throughput_total < 1).all()
    assert (found.throughput_average < 2).all()
    assert (found.throughput_total > 0.3).all()


def test_with_solo_functions_do_alone_what_was_measured(tmp_path: Path) -> None:
    groups = groups_of(tmp_path, 20, 6)
    file = measured(groups, tmp_path / "measured.jsonl", 6)
    known, pairs = read_measured(str(file))
    model = shipped()
    # The measurements come from the model, so no own times are scaled.
    found = predicted(model, known)
    true = scores(known.alone.throughput, known.alone.latency, *pairs)
    assert found.throughput_total == pytest.approx(true.throughput_total, rel=0.01)
    # A function that is slower alone than predicted is also slower in pairs.
    alone = known.alone.throughput.copy()
    alone[:, 0] *= 0.9
    slower = shared(model, known._replace(alone=known.alone._replace(throughput=alone)))
    before = shared(model, known)
    assert slower.alone == pytest.approx(alone)
    assert (slower.pairs[:, :3, 0] < before.pairs[:, :3, 0]).all()
    assert slower.pairs[:, 3:] == pytest.approx(before.pairs[:, 3:])


def test_what_the_place_favours_is_taken_out(tmp_path: Path) -> None:
    groups = groups_of(tmp_path, 100, 8)
    even = read_measured(str(measured(groups, tmp_path / "even.jsonl", 8)))
    odd = read_measured(str(measured(groups, tmp_path / "odd.jsonl", 8, favoured=0.05)))
    gap = position_bias(*odd) - position_bias(*even)
    assert gap == pytest.approx([0.05, -0.05], abs=1e-6)


def test_training_finds_the_truth_again(tmp_path: Path) -> None:
    groups = groups_of(tmp_path, 40, 9)
    known, pairs = read_measured(str(measured(groups, tmp_path / "measured.jsonl", 9)))
    model = learn(known, pairs)
    again = learn(known, pairs)
    assert np.array_equal(model.parameters, again.parameters)
    others = groups_of(tmp_path, 30, 10)
    true, found = predicted(shipped(), others), predicted(model, others)
    assert np.abs(found.throughput_total - true.throughput_total).mean() < 0.03
    best = [one.throughput_total.argmax(1) for one in (true, found)]
    assert (best[0] == best[1]).mean() > 0.5


def test_a_query_is_answered_pair_by_pair(tmp_path: Path) -> None:
    groups = groups_of(tmp_path, 3, 4)
    packed = write_lines(tmp_path / "groups.jsonl.gz", group_rows(drawn(12, 4)))
    answer = tmp_path / "out.csv"
    run = slowpath("insights", "colocation", "--query", packed, "-o", answer)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    rows = list(csv.DictReader(io.StringIO(answer.read_text())))
    assert list(rows[0]) == ["group", "first", "second", *NAMES]
    expected = [(str(at), str(a + 1), str(b + 1)) for at in range(3) for a, b in PAIRS]
    assert [(row["group"], row["first"], row["second"]) for row in rows] == expected
    found = predicted(shipped(), groups)
    for name in NAMES:
        values = [float(row[name]) for row in rows]
        assert values == pytest.approx(getattr(found, name).ravel(), rel=1e-5)
    document = json.loads(
        slowpath("insights", "colocation", "--query", packed, "--format", "json").stdout
    )
    assert [one["measured_alone"] for one in document["results"]] == [False] * 3
    text = slowpath("insights", "colocation", "--query", groups.file).stdout
    best = found.throughput_total[0].argmax()
    assert f"{PAIRS[best][0] + 1}-{PAIRS[best][1] + 1}" in text.splitlines()[3]


def test_groups_unlike_those_that_were_measured_are_named(tmp_path: Path) -> None:
    functions = [plain(has_webgen=1, webgen_slots=9), *drawn(7, 1)]
    file = write_lines(tmp_path / "groups.jsonl", group_rows(functions))
    run = slowpath("insights", "colocation", "--query", file)
    assert run.returncode == 0
    assert "1 of 2 groups have functions outside the measured range" in run.stderr
    assert "0 (webgen_slots)" in run.stderr


def test_a_file_to_learn_from_can_be_named(tmp_path: Path) -> None:
    train = measured(groups_of(tmp_path, 20, 2), tmp_path / "train.jsonl", 2)
    run = slowpath("insights", "colocation", "--train", train, "--query", train)
    assert (run.returncode, run.stderr) == (0, "")
    assert f"model trained on 20 groups of {train}" in run.stdout
    assert " measured " in run.stdout


def test_the_shipped_model_is_small_and_holds_parameters_only() -> None:
    assert SHIPPED.stat().st_size < 10_000
    assert json.loads(SHIPPED.read_text()).keys() == {"groups", "network", "latency"}
    model = shipped()
    again = read(written(model))
    assert np.array_equal(model.parameters, again.parameters)
