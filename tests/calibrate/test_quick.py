"""Tests `slowpath calibrate --quick`: scaled costs and models, options, and a run in the kernel."""

import json
import tomllib
from pathlib import Path

import pytest

from running_kernel import needs_kernel
from slowpath.bounds.default_target import keep_calibration
from slowpath.calibrate import run
from slowpath.calibrate.derivation import (
    Base,
    Derived,
    GrowthSample,
    growth_ratio,
    models_of,
    quick_experiments,
    scaled_calls,
)
from slowpath.calibrate.description import (
    PARAMETERS,
    CallPrice,
    Quality,
    is_quick,
    parameters_of,
)
from slowpath.core.engine import targets
from slowpath.core.engine.targets import described_target
from support import slowpath

BASE = Base("linux-xdp-zen3", targets.target_text("linux-xdp-zen3") or "", foreign=False)
HEAD = BASE.text[: BASE.text.index("\n[timing.model.")].partition("[timing.calibration]")[0]
"""Text of the base target before its cost models, without the last table (quality of the
calibration)."""


def test_unmeasured_calls_are_scaled_like_their_group() -> None:
    base: dict[str, CallPrice] = {
        "map_lookup_elem.hash": {"cycles": 80.0, "zero_cycles": 60.0},
        "map_lookup_elem.lru_hash": {"cycles": 90.0, "zero_cycles": 50.0},
        "map_update_elem.hash": {"cycles": 300.0},
        "ktime_get_ns": {"cycles": 100.0},
    }
    measured: dict[str, CallPrice] = {
        "map_lookup_elem.hash": {"cycles": 40.0, "zero_cycles": 45.0},
        "redirect": {"cycles": 5.0},
    }
    assert scaled_calls(base, 1.5, measured) == {
        "map_lookup_elem.hash": {"cycles": 40.0, "zero_cycles": 45.0},
        "map_lookup_elem.lru_hash": {"cycles": 45.0, "zero_cycles": 25.0},
        "map_update_elem.hash": {"cycles": 450.0},
        "ktime_get_ns": {"cycles": 150.0},
        "redirect": {"cycles": 5.0},
    }


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
def test_models_of_growth_are_scaled(ratio: float) -> None:
    text = HEAD + models_of(BASE, ratio)
    assert described_target("x.toml", text).problems() == []
    old, new = (tomllib.loads(one)["timing"]["model"] for one in (BASE.text, text))
    assert old.keys() == new.keys()
    flow = lookup_flow()
    for name in old:
        if "calls" not in old[name]:
            assert new[name] == old[name]
    times = [
        [
            targets.nanoseconds([flow], described_target("x.toml", one), entries)[0]
            for entries in (1, 1_000, 100_000)
        ]
        for one in (BASE.text, text)
    ]
    for before, after in zip(times[0][1:], times[1][1:], strict=True):
        assert after - times[1][0] == pytest.approx(ratio * (before - times[0][0]), rel=0.02)


def lookup_flow() -> targets.Flow:
    """Return a path that looks up an entry of a hash map with 100,000 large entries."""
    steps = [["call", [1, 2], 0, False, None, 0]]
    call = ["map_lookup_elem.hash", 4, False]
    path = {"steps": steps, "calls": [call], "rooms": [[0, 100_000, 144]]}
    return targets.flow_of(json.dumps(path))


def test_the_ratio_of_growth_is_that_of_the_measurement() -> None:
    flow = lookup_flow()
    target = described_target("x.toml", BASE.text)
    few, many = (targets.nanoseconds([flow], target, entries)[0] for entries in (100, 100_000))
    samples = [GrowthSample(flow, 100, 50.0), GrowthSample(flow, 100_000, 50.0 + 2 * (many - few))]
    assert growth_ratio(BASE.text, samples) == pytest.approx(2)
    assert growth_ratio(BASE.text, []) == 1
    shrinks = [GrowthSample(flow, 100, 50.0), GrowthSample(flow, 100_000, 40.0)]
    assert growth_ratio(BASE.text, shrinks) == 1


def test_parameters_are_those_of_the_target() -> None:
    timing = tomllib.loads(BASE.text)["timing"]
    found = parameters_of(timing)
    assert found.keys() == PARAMETERS.keys()
    assert found["load.latency_cycles"] == timing["unit"]["load"]["latency_cycles"]
    assert found["pipeline.fetch_cycles"] == timing["pipeline"]["fetch_cycles"]


def test_experiments_are_few_and_known() -> None:
    experiments = quick_experiments()
    names = [one["name"] for one in experiments]
    assert len(set(names)) == len(names) <= 40


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--component", "calls"],
            "selects the experiments itself; leave out --component",
        ),
        (["--points", "3"], "selects the experiments itself; leave out --points"),
        (["--testbed", "dpdk"], "selects the experiments itself; leave out --testbed"),
        (["--evaluate", "x"], "the run in the folder already has this setting; omit --quick"),
    ],
)
def test_options_that_select_experiments_conflict(words: list[str], message: str) -> None:
    found = slowpath("calibrate", "--quick", *words)
    assert found.returncode == 2
    assert message in found.stderr


QUICK = Quality(36, 30, 12, 0.05, "clang 16", "linux-xdp-zen3")


def test_a_quick_calibration_has_its_own_limits() -> None:
    assert QUICK.doubt is None
    assert "7 check programs were measured; at least 8" in (QUICK._replace(checks=7).doubt or "")
    assert "the limit is 15%" in (QUICK._replace(check_error=0.16).doubt or "")


def kept(found: Quality) -> list[str]:
    text = HEAD + "\n" + found.text() + models_of(BASE, 1.0)
    assert is_quick(text) == (found.base is not None)
    return [*run._keep(Derived(text, "run/linux-xdp.toml", 70, 0.02, found))]


def test_a_quick_calibration_does_not_replace_a_full_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for _ in range(2):  # another quick one replaces it
        assert kept(QUICK) == []
        assert "kept as the default target linux-xdp of this machine" in capsys.readouterr().err
    keep_calibration(BASE.text)
    (warning,) = kept(QUICK)
    assert "exists; delete that file" in warning
    assert kept(QUICK._replace(checks=100, base=None)) == []
    assert "kept as the default target linux-xdp of this machine" in capsys.readouterr().err


def test_it_scales_the_nearest_target_in_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_kernel()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("SLOWPATH_CPU", "AuthenticAMD-25-1")
    found = slowpath("calibrate", "--quick", "--seconds", "0.1", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    text = (tmp_path / "calibration-quick/linux-xdp.toml").read_text()
    timing = tomllib.loads(text)["timing"]
    assert timing["calibration"]["base"] == "linux-xdp-zen3"
    assert timing["machine"].endswith(", quick calibration from linux-xdp-zen3")
    base = tomllib.loads(BASE.text)["timing"]
    assert timing["call"].keys() >= base["call"].keys()
    assert timing["model"].keys() == base["model"].keys()
    assert described_target("x.toml", text).problems() == []
    again = slowpath("calibrate", "--evaluate", "calibration-quick", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "calibration-quick/linux-xdp.toml").read_text() == text
