"""Estimates of times: what is said of them, what they are held against, whose machine it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowpath import engine
from slowpath.analysis.options import choose_target
from slowpath.analysis.requirement import Decision, decide, explain
from slowpath.cli.calibration import calibration_file, keep_calibration
from slowpath.schema.rates import Rate
from slowpath.schema.results import Estimate
from support import ROOT, make_bound, make_result, slowpath
from test_schema import check

FIREWALL = "examples/firewall.bpf.o"
TARGET = ("--target", "linux-xdp")


@pytest.fixture(autouse=True)
def _own_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test calibrates plays no part in the next."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def analysed(*words: str) -> dict[str, Any]:
    run = slowpath("bound", *words, "--format", "json")
    assert run.returncode == 0, run.stderr
    check("bound", run.stdout)
    result: dict[str, Any] = json.loads(run.stdout)["results"][0]
    return result


def test_counts_are_guaranteed_and_times_estimated() -> None:
    result = analysed(FIREWALL, *TARGET)
    counted = analysed(FIREWALL, "--target", "ebpf")
    assert result["guarantee"] == counted["guarantee"]
    assert counted["estimate"] is None
    estimate = result["estimate"]
    assert 0 < estimate["low_ns"] < estimate["ns"] < estimate["high_ns"]
    assert 0 < estimate["program_ns"] < estimate["ns"]
    assert estimate["packetrate_pps"] == pytest.approx(1e9 / estimate["ns"])
    assert estimate["candidates"] == 32
    [path] = result["paths"]
    assert path["estimate"] == {key: estimate[key] for key in path["estimate"]}


def test_text_never_calls_it_guaranteed() -> None:
    run = slowpath("bound", FIREWALL, *TARGET)
    assert run.returncode == 0
    lines = run.stdout.splitlines()
    said = [line for line in lines if line.startswith("estimated")]
    assert len(said) == 1
    assert "Mpps on one core" in said[0]
    assert "guarantee" not in run.stdout
    assert any("the slowest of 32 paths that were estimated" in line for line in lines)
    table = slowpath("bound", FIREWALL, "examples/tunnel.bpf.o", *TARGET).stdout
    assert "estimated: of the slowest path, on " in table
    assert "no guarantee" in table


def test_paths_come_slowest_first_by_their_estimates() -> None:
    result = analysed(FIREWALL, *TARGET, "--paths", "all")
    times = [path["estimate"]["ns"] for path in result["paths"]]
    assert len(times) == 32
    assert times == sorted(times, reverse=True)
    few = analysed(FIREWALL, *TARGET, "--paths", "3")
    assert [path["estimate"]["ns"] for path in few["paths"]] == times[:3]


def test_the_times_of_lines_add_up() -> None:
    result = analysed(FIREWALL, *TARGET)
    profile = result["profile"]
    total = profile["cost"]["ns"]
    assert total == result["estimate"]["ns"]
    instructions = sum(one["cost"]["ns"] for one in profile["instructions"])
    assert instructions + profile["overhead"]["ns"] == pytest.approx(total, abs=1e-6)
    run = slowpath("annotate", FIREWALL, *TARGET)
    assert run.returncode == 0
    assert "the kernel's loop" in run.stdout


def test_differences_are_told_in_time() -> None:
    words = ("examples/alaw2ulaw.bpf.o", "examples/alaw2ulaw_opt.bpf.o", *TARGET)
    run = slowpath("diff", *words, "--fail-on", "estimated_ns_pct > 5")
    assert run.returncode == 0, run.stderr
    assert "estimated_ns" in run.stdout
    run = slowpath("diff", words[1], words[0], *TARGET, "--fail-on", "estimated_ns_pct > 5")
    assert run.returncode == 1


ESTIMATE: Estimate = {
    "ns": 100.0,
    "low_ns": 90.0,
    "high_ns": 125.0,
    "program_ns": 75.0,
    "packetrate_pps": 1e7,
    "machine": "a machine",
    "date": "2026-01-01",
    "entries": 1,
    "candidates": 1,
    "stopped": None,
}


@pytest.mark.parametrize(
    ("rate", "estimate", "decision", "sentence"),
    [
        (
            7e6,
            ESTIMATE,
            Decision.MET,
            "8.00 Mpps estimated at the pessimistic end (10.0 Mpps in all likelihood), "
            "7.00 Mpps required; estimates are no guarantees",
        ),
        (
            9e6,
            ESTIMATE,
            Decision.FAILED,
            "only 8.00 Mpps estimated at the pessimistic end (10.0 Mpps in all likelihood), "
            "9.00 Mpps required; estimates are no guarantees",
        ),
        (1e6, None, Decision.UNDECIDED, "undecided: 1.00 Mpps required, nothing estimated"),
    ],
)
def test_rates_are_held_against_the_pessimistic_end(
    rate: float, estimate: Estimate | None, decision: Decision, sentence: str
) -> None:
    counts = make_bound(
        bitrate_bps=None, packetrate_pps=None, components=None, counts={"instructions": 9}
    )
    result = make_result(metric="instructions", guarantee=counts, estimate=estimate)
    required = Rate(rate, "packetrate")
    assert decide(result, required) is decision
    assert explain(result, required, decision) == sentence


def test_requirements_on_the_command_line() -> None:
    met = slowpath("bound", FIREWALL, *TARGET, "--require", "1Mpps")
    assert met.returncode == 0, met.stderr
    failed = slowpath("bound", FIREWALL, *TARGET, "--require", "500Mpps")
    assert failed.returncode == 1
    assert "estimates are no guarantees" in failed.stderr
    bits = slowpath("bound", FIREWALL, *TARGET, "--require", "10Gbit/s")
    assert bits.returncode == 2
    assert "estimates packets a second; write for example 5Mpps" in bits.stderr
    counted = slowpath("bound", FIREWALL, *TARGET, "--require", "<=95 instructions")
    assert counted.returncode == 0, counted.stderr


def test_this_machines_calibration_is_taken_where_there_is_one(tmp_path: Path) -> None:
    text = engine.target_text("linux-xdp") or ""
    machine = next(line for line in text.splitlines() if line.startswith("machine = "))
    kept = keep_calibration(text.replace(machine, 'machine = "the one in the corner"'))
    assert kept == calibration_file()
    assert Path(kept) == tmp_path / "data/slowpath/linux-xdp.toml"
    found = choose_target("linux-xdp").machine
    assert found is not None
    assert found[0] == "the one in the corner"
    assert "the one in the corner" in slowpath("bound", FIREWALL, *TARGET).stdout
    Path(kept).write_text("no target")
    run = slowpath("bound", FIREWALL, *TARGET)
    assert run.returncode != 0
    assert "linux-xdp" in run.stderr


def test_calls_that_nobody_has_measured_are_named(tmp_path: Path) -> None:
    text = engine.target_text("linux-xdp") or ""
    lines = [line for line in text.splitlines() if not line.startswith('"map_lookup_elem.lpm')]
    file = tmp_path / "less.toml"
    file.write_text("\n".join(lines))
    run = slowpath("bound", FIREWALL, "--target", str(file))
    assert run.returncode == 0, run.stderr
    assert "nobody has measured bpf_map_lookup_elem on maps of type lpm_trie" in run.stdout


def test_the_shipped_description_says_what_it_is() -> None:
    known = engine.builtin_target("linux-xdp")
    assert known.problems() == []
    assert known.machine is not None
    assert (ROOT / "targets/linux-xdp.toml").read_text() == engine.target_text("linux-xdp")


def estimated(*words: str) -> Estimate:
    found = analysed(*words)["estimate"]
    assert found is not None
    return found  # type: ignore[no-any-return]


def test_estimates_grow_with_entries_as_models_say() -> None:
    one = estimated(FIREWALL, *TARGET)
    assert one["entries"] == 1
    assert estimated(FIREWALL, *TARGET, "--entries", "1") == one
    many = [estimated(FIREWALL, *TARGET, "--entries", str(count)) for count in (1000, 30_000)]
    assert one["ns"] < many[0]["ns"] < many[1]["ns"]
    # It has one table of hashes and one of prefixes; others have room for one entry only.
    models = {model.name: model for model in engine.builtin_target("linux-xdp").models}
    most = sum(
        (models[name].at(30_000) or 0) - (models[name].at(1) or 0)
        for name in ("table-exact-entries", "table-lpm-entries", "array-percpu-entries")
    )
    assert many[1]["ns"] - one["ns"] < 1.5 * most
    text = slowpath("bound", FIREWALL, *TARGET, "--entries", "30000").stdout
    assert "with 30,000 entries in each map that has room for them, packets spread" in text


def test_entries_are_for_targets_that_estimate() -> None:
    run = slowpath("bound", FIREWALL, "--target", "ebpf", "--entries", "5")
    assert run.returncode == 2
    assert "target ebpf estimates no times; --target linux-xdp does" in run.stderr
    assert slowpath("bound", FIREWALL, *TARGET, "--entries", "0").returncode == 2


def test_what_entries_do_to_calls_without_a_model_is_said(tmp_path: Path) -> None:
    text = (engine.target_text("linux-xdp") or "").partition("[timing.model")[0]
    file = tmp_path / "flat.toml"
    file.write_text(text)
    run = slowpath("bound", FIREWALL, "--target", str(file), "--entries", "100")
    assert run.returncode == 0, run.stderr
    assert "nobody has measured what entries do to bpf_map_lookup_elem on maps" in run.stdout


def test_models_of_a_target_are_listed() -> None:
    run = slowpath("targets", "models", "linux-xdp")
    assert run.returncode == 0
    rows = [line.split() for line in run.stdout.splitlines()]
    (row,) = [row for row in rows if row[:1] == ["table-lpm-entries"]]
    assert row[1:4] == ["entries", "1", "30,000"]
    assert row[-1] == "map_lookup_elem.lpm_trie"
    assert slowpath("targets", "models", "ebpf").stdout == "ebpf has no models of components\n"
    assert slowpath("targets", "models", "nonsense").returncode == 2
