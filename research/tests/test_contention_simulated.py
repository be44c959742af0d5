"""Tests `bench/contention_simulated.py`, the benchmark on the simulated NIC, with few runs."""

from pathlib import Path

import numpy as np
import pytest
from simulated import (
    accuracy,
    asked,
    judged,
    measuring,
    patterns,
    placement,
    probed,
    profiled,
    sampled,
    scores,
)
from simulated.functions import FUNCTIONS, TRAFFIC
from simulated.kept import Kept
from simulated.learnt import learnt

from nic_profiles import MemBench, Settings, levels_of
from slowpath.contention.reading import read_memory

pytestmark = pytest.mark.filterwarnings("ignore")  # scikit-learn warns about bounds of kernels


def test_mixes_are_all_combinations_under_all_profiles() -> None:
    every = asked.mixes()
    assert len(every) == len(set(every)) == 9 * (36 + 84 + 126)
    some = asked.mixes(count=5)
    assert [one.traffic for one in some] == [at for at in range(9) for _ in range(5)]
    assert set(some) <= set(every)


def test_levels_of_several_resources_fit_on_the_nic() -> None:
    for name, uses in patterns.USES.items():
        for pattern in patterns.PATTERNS:
            threads = 1 if pattern == "run-to-completion" else 1 + len(uses)
            for level in patterns.drawn(name, pattern, 20):
                cores = 2 * -(-threads // 2) + 2 * len(level.memory) + 2 * len(level.accelerators)
                assert cores <= 8
                assert len(level.memory) + len(level.accelerators) >= 2


def test_what_was_simulated_is_not_simulated_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path, Settings(1.0, 1.0))
    known = {name: learnt(kept, name, "ridge-bus", rows=24) for name in ("ACL", "NIDS")}
    text = accuracy.table(kept, known, count=1)
    lines = text.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["ACL", "NIDS", "all", "beside 1"]
    assert f"| {len(TRAFFIC)} |" in lines[2]
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    again = {name: learnt(kept, name, "ridge-bus", rows=24) for name in ("ACL", "NIDS")}
    assert accuracy.table(kept, again, count=1) == text
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before
    assert set(accuracy.PAPER) == set(FUNCTIONS)


def test_summaries_are_means_of_rows() -> None:
    off = dict.fromkeys(judged.METHODS, 0.04)
    rows = [
        judged.Row("ACL", 1, off, covered=True, outside=False, drop=0.1),
        judged.Row("ACL", 2, {**off, "slowpath": 0.08}, covered=False, outside=False, drop=0.3),
    ]
    line = judged.summary("ACL", rows)
    assert line["slowpath"] == pytest.approx(6)
    assert line["drop"] == pytest.approx(20)
    assert [line[key] for key in ("rows", "fair", "covered")] == [2, 100, 50]


def test_campaigns_measure_what_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "ROUNDS", 2)
    kept = Kept(tmp_path, Settings(1.0, 1.0))
    known = {name: learnt(kept, name, "ridge-bus", rows=24) for name in ("ACL", "NIDS")}
    fleet = placement.fleet(known)
    found = measuring.campaign(kept, fleet, measuring.Campaign(4, 0.9, alone=3))
    several = [mix for mix in found.known if len(mix) > 1]
    assert 0 < len(several) <= 4
    # A function that occurs twice in a mix is measured twice in each run.
    for mix, values in found.known.items():
        repeated = 3 * np.array([mix.count(at) for at in values])
        assert [one.times for one in values.values()] == repeated.tolist()
    assert found.noise is not None
    assert found.noise > 0
    drawn = measuring.campaign(kept, fleet, measuring.Campaign(4, 0.9, alone=3, suggested=False))
    assert len(drawn.known) == 2 + 4


def test_ways_to_choose_points_are_compared_on_the_same_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"LEVELS": 6, "STEPS": 2, "QUOTA": 24, "SEEDS": 1, "TESTS": 12, "QUOTAS": (12, 24)}
    small |= {"_WARM_UP": 0.5, "_MEASURED": 0.5, "PAPER": {"NAT": (2.9, 9.6, 3.1)}}
    for name, value in small.items():
        monkeypatch.setattr(sampled, name, value)
    kept = Kept(tmp_path, Settings(1.0, 1.0))
    text = sampled.table(kept, grid=True)
    lines = text.splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("| NAT |")
    assert len(read_memory([str(tmp_path / "sampled/NAT.full.csv")]).rows) == 6 * 2 * 2
    for method in sampled.METHODS:
        assert len(read_memory([str(tmp_path / f"sampled/NAT.{method}.24.0.csv")]).rows) == 24
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.*")}
    assert sampled.table(kept, grid=True) == text
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.*")} == before
    assert len(sampled.by_quota(kept, "NAT").splitlines()) == 4


def test_the_probe_feels_what_leaves_the_cache_of_two_cores(tmp_path: Path) -> None:
    kept = Kept(tmp_path, Settings(4.0, 2.0, noise=False))
    inside, beyond = (MemBench("stream", 0.4, 2e7, 2),), (MemBench("stream", 4.0, 4e7, 2),)
    more = (MemBench("stream", 4.0, 4e7, 3),)
    found = probed.scores(kept, [inside, beyond, more])
    assert found.together[()] == 0
    assert found.together[inside] < 0.2
    assert 1 < found.together[beyond] <= found.together[more] <= 2 * probed.CACHE / 1e6
    alone = probed.scores(kept, [(MemBench("stream", 4.0, 4e7),)])
    (one,) = [value for some, value in alone.together.items() if some]
    assert found.added[more] == pytest.approx(3 * one, rel=0.2)
    assert found.added[()] == 0


def test_rows_are_told_with_the_score_of_who_is_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = ((), *profiled.memory_alone()[:6])
    monkeypatch.setattr(scores, "ROUNDS", 1)
    monkeypatch.setattr(scores, "levels", lambda kept: levels_of(sets, kept.settings))
    monkeypatch.setattr(scores, "memory_alone", lambda: sets[1:])
    kept = Kept(tmp_path, Settings(1.0, 1.0))
    found = scores.memory_rows(kept, "NAT")
    assert len(found.rows.throughput) == len(found.beside) == profiled.QUIET + 6
    usual = probed.Scores({one: float(at) for at, one in enumerate(sets)}, dict.fromkeys(sets, 7.0))
    large = probed.Scores({one: 10.0 * at for at, one in enumerate(sets)}, {})
    told = scores.descriptions(found, scores.Probes(usual, large))
    order = [0] * profiled.QUIET + [1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(told["score"]["score"], order)
    np.testing.assert_array_equal(told["large"]["score"], 10.0 * np.array(order))
    np.testing.assert_array_equal(told["both"]["score"], order)
    assert {"wss_mb", "score"} <= told["both"].keys()
    assert set(told) == set(scores.DESCRIPTIONS)
    monkeypatch.setattr(scores, "FOLDS", 2)
    line = scores.errors(found, scores.Probes(usual, large))
    assert line["rows"] == len(order)
    for said in scores.DESCRIPTIONS:
        value = line[said]
        assert isinstance(value, float)
        assert 0 < value < 100
