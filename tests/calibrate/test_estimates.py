"""Tests estimated times in reports, comparisons with measurements, and calibrated machines."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from slowpath.bounds.default_target import calibration_file, keep_calibration
from slowpath.bounds.options import choose_target
from slowpath.bounds.report_counts import CountTable
from slowpath.bounds.requirement import Decision, decide, explain, judge
from slowpath.core.engine import targets
from slowpath.core.schema.rates import Rate
from slowpath.core.schema.results import Estimate, Result
from slowpath.sweep.sweeping import swept_result
from support import ROOT, make_bound, make_result, slowpath
from test_schema import check

FIREWALL = "examples/firewall.bpf.o"
TARGET = ("--target", "linux-xdp")


@pytest.fixture(autouse=True)
def _own_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test an empty folder for calibrations of this machine."""
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
    for caches in ("warm", "cold"):
        time = estimate[caches]
        assert 0 < time["low_ns"] < time["ns"] < time["high_ns"]
    assert estimate["warm"]["ns"] < estimate["cold"]["ns"]
    assert estimate["loop_ns"] > 0
    assert estimate["candidates"] == 33
    [path] = result["paths"]
    keys = ("ns", "low_ns", "high_ns")
    assert path["estimate"]["cold"] == {key: estimate["cold"][key] for key in keys}
    assert path["estimate"]["warm"]["ns"] <= estimate["warm"]["ns"]


def test_text_never_calls_it_guaranteed() -> None:
    run = slowpath("bound", FIREWALL, *TARGET)
    assert run.returncode == 0
    lines = run.stdout.splitlines()
    (estimate,) = [line for line in lines if line.startswith("estimated")]
    assert "Mpps on one core" in estimate
    assert "guarantee" not in run.stdout
    assert any("the slowest of 33 paths that were estimated" in line for line in lines)
    table = slowpath("bound", FIREWALL, "examples/tunnel.bpf.o", *TARGET).stdout
    assert "est. warm, est. cold: estimated time of the slowest program path on " in table
    assert "not guaranteed" in table


def test_wide_intervals_are_told() -> None:
    note = "wide intervals: they cover 90 % of the programs compared with the calibration\n"
    assert note in slowpath("bound", FIREWALL, *TARGET).stdout
    text = targets.target_text("linux-xdp") or ""
    text = re.sub(r"(?m)^low = .*$", "low = 0.95", re.sub(r"(?m)^high = .*$", "high = 1.1", text))
    keep_calibration(text)
    assert "wide intervals" not in slowpath("bound", FIREWALL, *TARGET).stdout
    keep_calibration(text.replace("\nhigh = 1.1\n", "\nhigh = 1.4\n"))
    assert note in slowpath("bound", FIREWALL, *TARGET).stdout


def test_paths_come_slowest_first_by_their_estimates() -> None:
    result = analysed(FIREWALL, *TARGET, "--paths", "all")
    times = [path["estimate"]["cold"]["ns"] for path in result["paths"]]
    assert len(times) == 33
    assert times == sorted(times, reverse=True)
    few = analysed(FIREWALL, *TARGET, "--paths", "3")
    assert [path["estimate"]["cold"]["ns"] for path in few["paths"]] == times[:3]


def test_the_times_of_lines_add_up() -> None:
    result = analysed(FIREWALL, *TARGET)
    profile = result["profile"]
    path = result["paths"][0]["estimate"]
    for caches in ("warm", "cold"):
        total = profile["cost"][f"{caches}_ns"]
        assert total == pytest.approx(path[caches]["ns"], abs=1e-6)
        instructions = sum(one["cost"][f"{caches}_ns"] for one in profile["instructions"])
        assert instructions == pytest.approx(total, abs=1e-6)
        assert profile["overhead"][f"{caches}_ns"] == 0
    run = slowpath("annotate", FIREWALL, *TARGET)
    assert run.returncode == 0
    assert "cold ns" in run.stdout


def test_differences_are_told_in_time() -> None:
    words = ("examples/count_min.8.bpf.o", "examples/count_min.1.bpf.o", *TARGET)
    run = slowpath("diff", *words, "--fail-on", "cold_ns_pct > 5")
    assert run.returncode == 0, run.stderr
    assert "cold_ns" in run.stdout
    run = slowpath("diff", words[1], words[0], *TARGET, "--fail-on", "cold_ns_pct > 5")
    assert run.returncode == 1


def test_old_names_and_results_of_estimates_are_read(tmp_path: Path) -> None:
    words = ("examples/count_min.8.bpf.o", "examples/count_min.1.bpf.o", *TARGET)
    run = slowpath("diff", *words, "--fail-on", "estimated_ns_pct > 5")
    assert run.returncode == 0
    assert "column estimated_ns_pct is now cold_ns_pct" in run.stderr
    document = json.loads(slowpath("bound", FIREWALL, *TARGET, "--format", "json").stdout)
    [result] = document["results"]
    result["estimate"] = {"ns": 60.6, "entries": 1, "machine": "a machine"}
    for path in result["paths"]:
        path["estimate"] = {"ns": 60.6}
    (tmp_path / "old.json").write_text(json.dumps(document))
    run = slowpath("diff", str(tmp_path / "old.json"), FIREWALL, "--fail-on", "cold_ns_pct > 5")
    assert run.returncode == 1
    assert "no estimate for OLD" in run.stderr
    run = slowpath("diff", str(tmp_path / "old.json"), FIREWALL)
    assert run.returncode == 0, run.stderr


def test_times_of_different_machines_are_not_compared(tmp_path: Path) -> None:
    """Check that `diff` does not compare times of two machines whose targets share a name."""
    saved = tmp_path / "old.json"
    saved.write_text(slowpath("bound", FIREWALL, *TARGET, "--format", "json").stdout)
    gate = ("--fail-on", "cold_ns_pct > 5")
    assert slowpath("diff", str(saved), FIREWALL, *gate).returncode == 0
    text = targets.target_text("linux-xdp") or ""
    slower, clocks = re.subn(r"(?m)^clock_hz = \d+$", "clock_hz = 1000000000", text)
    assert clocks == 1
    keep_calibration(slower.replace('machine = "AMD', 'machine = "Old AMD'))
    run = slowpath("diff", str(saved), FIREWALL, *gate)
    assert run.returncode == 1
    assert "cold_ns_pct is N/A (OLD and NEW are estimated for different machines" in run.stderr
    assert "times of firewall are not compared: OLD is for AMD" in run.stdout
    assert "NEW for Old AMD" in run.stdout
    assert "dearer" not in run.stdout
    assert "cold_ns" not in run.stdout
    entries = slowpath("diff", str(saved), FIREWALL, "--entries", "9")
    assert "9 entries in maps" in entries.stdout
    table = slowpath("diff", str(saved), FIREWALL, "--format", "csv").stdout.splitlines()
    (row,) = csv.DictReader(table)
    assert row["cold_ns_a"] != row["cold_ns_b"]
    assert (row["cold_ns_diff"], row["cold_ns_pct"]) == ("N/A", "N/A")


ESTIMATE: Estimate = {
    "warm": {
        "ns": 50.0,
        "low_ns": 45.0,
        "high_ns": 60.0,
        "packetrate_pps": 2e7,
        "entries": "few",
        "caches": "warm",
        "receiving": "excluded",
    },
    "cold": {
        "ns": 100.0,
        "low_ns": 90.0,
        "high_ns": 125.0,
        "packetrate_pps": 1e7,
        "entries": "full",
        "caches": "cold",
        "receiving": "excluded",
    },
    "loop_ns": 25.0,
    "driver": None,
    "machine": "a machine",
    "date": "2026-01-01",
    "doubt": None,
    "foreign_cpu": None,
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
            "8.00 Mpps at the pessimistic end of the estimate of 10.0 Mpps (full maps, cold "
            "caches, receiving and sending excluded), 7.00 Mpps required; estimates are not "
            "guarantees",
        ),
        (
            9e6,
            ESTIMATE,
            Decision.FAILED,
            "only 8.00 Mpps at the pessimistic end of the estimate of 10.0 Mpps (full maps, cold "
            "caches, receiving and sending excluded), 9.00 Mpps required; estimates are not "
            "guarantees",
        ),
        (
            7e6,
            {**ESTIMATE, "stopped": "deadline"},
            Decision.UNDECIDED,
            "undecided: 8.00 Mpps at the pessimistic end of the estimate of 10.0 Mpps (full "
            "maps, cold caches, receiving and sending excluded), 7.00 Mpps required; estimates "
            "are not guarantees; the search stopped before it had seen all paths (deadline)",
        ),
        (
            9e6,
            {**ESTIMATE, "stopped": "deadline"},
            Decision.FAILED,
            "only 8.00 Mpps at the pessimistic end of the estimate of 10.0 Mpps (full maps, cold "
            "caches, receiving and sending excluded), 9.00 Mpps required; estimates are not "
            "guarantees",
        ),
        (1e6, None, Decision.UNDECIDED, "undecided: 1.00 Mpps required, but there is no estimate"),
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


def test_cut_loops_are_an_estimates_condition_too() -> None:
    limit = "loop at lb.c:44 runs at most 3 times"
    result = make_result(
        metric="instructions",
        guarantee=make_bound(
            bitrate_bps=None, packetrate_pps=None, components=None, counts={"instructions": 9}
        ),
        estimate=ESTIMATE,
        assumptions=[limit],
        cuts=[limit],
    )
    judgement = judge(result, Rate(1e6, "packetrate"), accept=False)
    assert judgement.decision is Decision.FAILED
    assert judgement.reason.startswith("the estimate meets the requirement only if ")
    judgement = judge(result, Rate(1e6, "packetrate"), accept=True)
    assert judgement.decision is Decision.MET


def test_what_an_estimate_takes_for_granted_is_said_wherever_it_is_used(tmp_path: Path) -> None:
    text = targets.target_text("linux-xdp") or ""
    lines = [line for line in text.splitlines() if not line.startswith('"map_lookup_elem.lpm')]
    less = tmp_path / "less.toml"
    less.write_text("\n".join(lines))
    target = ("--target", str(less))
    known = "bpf_map_lookup_elem on maps of type lpm_trie was not measured"
    assert f"note         - estimates: {known}" in slowpath("bound", FIREWALL, *target).stdout
    table = slowpath("bound", "examples/tunnel.bpf.o", FIREWALL, *target).stdout.splitlines()
    (note,) = [line for line in table if known in line]
    number, _, rest = note.partition(" ")
    assert rest.startswith(f"estimated: {known}")
    (row,) = [line for line in table if "firewall.bpf.o:firewall" in line]
    assert row.endswith(f"  {number}")
    met = slowpath("bound", FIREWALL, *target, "--require", "1Mpps")
    assert met.returncode == 0
    assert f"--require is met if the estimate holds despite its note: {known}" in met.stderr
    counted = slowpath("bound", FIREWALL, *target, "--require", "<=100 instructions")
    assert counted.returncode == 0
    assert known not in counted.stderr


def _row(**changes: Any) -> Result:
    counts = make_bound(
        bitrate_bps=None, packetrate_pps=None, components=None, counts={"instructions": 9}
    )
    known = {"metric": "instructions", "guarantee": counts, "naive": counts, "estimate": None}
    return make_result(**(known | changes))


def test_tables_say_what_has_no_estimate_and_why() -> None:
    table = CountTable(["sample.asm"])
    without = _row(
        notes=[
            "estimates: none, because the search ended before the first estimate",
            "the card is slow",
        ]
    )
    assert table.header(without).text.endswith(f"{'est. warm':<18}  est. cold")
    assert table.row(without).text.endswith(f"{'none':<18}  {'none':<18}  [1]")
    stopped = _row(estimate={**ESTIMATE, "stopped": "deadline"})
    assert table.row(stopped).text.endswith(
        "50 ns (45 to 60)    100 ns (90 to 125)  the search for the estimate stopped: deadline"
    )
    notes = [line.text for line in table.notes()]
    assert notes[0] == "[1] estimated: none, because the search ended before the first estimate"
    assert notes[-1] == (
        "est. warm, est. cold: estimated time of the slowest program path on a machine: few map "
        "entries in warm caches, full maps in cold caches; in parentheses, the interval of its "
        "error; receiving and sending excluded; not guaranteed"
    )
    assert not any("the card is slow" in note for note in notes)
    plain = CountTable(["sample.asm"])
    assert "estimated" not in plain.header(_row()).text


def test_sweeps_say_what_estimates_lack() -> None:
    none = swept_result(
        _row(notes=["estimates: none, because the search ended before the first estimate"])
    )
    assert none["stopped"] == "estimates: none, because the search ended before the first estimate"
    assert none["assumptions"] == []
    notes = ["estimates: nobody has measured it", "the card is slow"]
    stopped = swept_result(_row(notes=notes, estimate={**ESTIMATE, "stopped": "deadline"}))
    assert stopped["stopped"] == "deadline"
    assert stopped["assumptions"] == ["the estimate holds despite its note: nobody has measured it"]
    assert swept_result(_row(estimate=ESTIMATE))["stopped"] is None


def test_requirements_on_the_command_line() -> None:
    met = slowpath("bound", FIREWALL, *TARGET, "--require", "1Mpps")
    assert met.returncode == 0, met.stderr
    failed = slowpath("bound", FIREWALL, *TARGET, "--require", "500Mpps")
    assert failed.returncode == 1
    assert "estimates are not guarantees" in failed.stderr
    bits = slowpath("bound", FIREWALL, *TARGET, "--require", "10Gbit/s")
    assert bits.returncode == 2
    assert "estimates only packets per second; write for example 5Mpps" in bits.stderr
    counted = slowpath("bound", FIREWALL, *TARGET, "--require", "<=95 instructions")
    assert counted.returncode == 0, counted.stderr


def test_this_machines_calibration_is_taken_where_there_is_one(tmp_path: Path) -> None:
    text = targets.target_text("linux-xdp") or ""
    machine = next(line for line in text.splitlines() if line.startswith("machine = "))
    kept = keep_calibration(text.replace(machine, 'machine = "the one in the corner"'))
    assert kept == calibration_file()
    assert Path(kept) == tmp_path / "data/slowpath/linux-xdp.toml"
    found = choose_target("linux-xdp").machine
    assert found is not None
    assert found[0] == "the one in the corner"
    assert "the one in the corner" in slowpath("bound", FIREWALL, *TARGET).stdout


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"no target", "line 1: not TOML"),
        (b"schema = 2\n", "line 1: `schema` is 2; this version reads schema 1"),
        (b"\xff", "is not UTF-8 text: byte 0 is invalid"),
        (None, "is a directory"),
    ],
)
def test_a_broken_calibration_is_named_and_not_passed_over(
    content: bytes | None, what: str
) -> None:
    file = Path(calibration_file())
    file.parent.mkdir(parents=True)
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    for words in (("bound", FIREWALL), ("targets", "models", "linux-xdp")):
        run = slowpath(*words)
        assert run.returncode == 3, run.stdout
        assert run.stderr.startswith(f"error: {file}: {what}"), run.stderr
        assert "slowpath calibrate again" in run.stderr or not what.startswith("line")
    assert slowpath("bound", FIREWALL, "--target", "ebpf").returncode == 0


def test_calls_that_nobody_has_measured_are_named(tmp_path: Path) -> None:
    text = targets.target_text("linux-xdp") or ""
    lines = [line for line in text.splitlines() if not line.startswith('"map_lookup_elem.lpm')]
    file = tmp_path / "less.toml"
    file.write_text("\n".join(lines))
    run = slowpath("bound", FIREWALL, "--target", str(file))
    assert run.returncode == 0, run.stderr
    assert "bpf_map_lookup_elem on maps of type lpm_trie was not measured" in run.stdout


def test_the_shipped_description_says_what_it_is() -> None:
    known = targets.builtin_target("linux-xdp")
    assert known.problems() == []
    assert known.machine is not None
    assert (ROOT / "targets/linux-xdp-zen4.toml").read_text() == targets.target_text(
        "linux-xdp-zen4"
    )


def estimated(*words: str) -> Estimate:
    found = analysed(*words)["estimate"]
    assert found is not None
    return found  # type: ignore[no-any-return]


def test_estimates_grow_with_entries_as_models_say() -> None:
    full = estimated(FIREWALL, *TARGET)
    assert (full["warm"]["entries"], full["cold"]["entries"]) == ("few", "full")
    many = [estimated(FIREWALL, *TARGET, "--entries", str(count)) for count in (1000, 30_000)]
    assert all(one["warm"] == full["warm"] for one in many)
    times = [one["cold"]["ns"] for one in many]
    assert full["warm"]["ns"] < times[0] < times[1]
    # No map of the program has room for more than 16,384 entries, so 30,000 stands for full maps.
    assert times[1] == full["cold"]["ns"]
    assert many[1]["cold"]["entries"] == "30000"
    text = slowpath("bound", FIREWALL, *TARGET, "--entries", "30000").stdout
    assert "; 30,000 entries in maps, cold caches" in text


def test_one_line_stands_for_both_ends_only_if_they_are_equal() -> None:
    without_maps = slowpath("bound", "examples/alaw2ulaw.bpf.o", *TARGET).stdout
    assert "; no lookup depends on map entries" in without_maps
    # The times are equal here, but the interval with cold caches is wider.
    one = estimated("examples/ddos_filter.bpf.o", *TARGET)
    assert one["warm"]["high_ns"] < one["cold"]["high_ns"]
    text = slowpath("bound", "examples/ddos_filter.bpf.o", *TARGET).stdout
    assert "; full maps, cold caches" in text


def test_rates_name_their_assumptions() -> None:
    text = slowpath("bound", FIREWALL, *TARGET).stdout
    assert "; few map entries, warm caches" in text
    assert "; full maps, cold caches" in text
    assert "without receiving, redirecting, sending, and without the loop of test runs" in text
    assert "receiving and dropping: 42 ns more with mlx5 (published, doi.org/" in text
    failed = slowpath("bound", FIREWALL, *TARGET, "--require", "20Mpps")
    assert failed.returncode == 1
    assert "(full maps, cold caches, receiving and sending excluded)" in failed.stderr
    for end in ("warm", "cold"):
        one = estimated(FIREWALL, *TARGET)[end]
        assert (one["caches"], one["receiving"]) == (end, "excluded")
        assert one["packetrate_pps"] == pytest.approx(1e9 / one["ns"])


@pytest.mark.parametrize(
    ("cpu", "machine", "foreign"),
    [
        ("AuthenticAMD-25-17", "Zen 4", None),
        ("AuthenticAMD-25-1", "Zen 3", None),
        ("AuthenticAMD-25-200", "Zen 3", "AuthenticAMD-25-200"),
        ("GenuineIntel-6-207", "Golden Cove", None),
        ("GenuineIntel-6-85", "Golden Cove", "GenuineIntel-6-85"),
        ("HygonGenuine-24-1", "Zen 4", "HygonGenuine-24-1"),
    ],
)
def test_estimates_are_for_the_nearest_cpu(
    monkeypatch: pytest.MonkeyPatch, cpu: str, machine: str, foreign: str | None
) -> None:
    core = machine.lower().replace("zen ", "zen").replace(" ", "-")
    named = estimated(FIREWALL, "--target", f"linux-xdp-{core}")
    monkeypatch.setenv("SLOWPATH_CPU", cpu)
    found = estimated(FIREWALL)
    assert machine in found["machine"]
    assert found["foreign_cpu"] == foreign
    assert found["cold"]["ns"] == named["cold"]["ns"]
    if foreign is None:
        assert found["cold"] == named["cold"]
    else:
        assert found["cold"]["high_ns"] > named["cold"]["high_ns"]
        assert found["warm"]["low_ns"] < named["warm"]["low_ns"]
        text = slowpath("bound", FIREWALL).stdout
        assert f"wider intervals, because this CPU is of another family: {foreign}" in text


def test_a_cpu_that_is_none_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWPATH_CPU", "fast")
    run = slowpath("bound", FIREWALL)
    assert run.returncode == 2
    assert "'fast' is not a CPU; write VENDOR-FAMILY-MODEL" in run.stderr


def test_entries_are_for_targets_that_estimate() -> None:
    run = slowpath("bound", FIREWALL, "--target", "ebpf", "--entries", "5")
    assert run.returncode == 2
    assert "target ebpf does not estimate times; use --target linux-xdp" in run.stderr
    assert slowpath("bound", FIREWALL, *TARGET, "--entries", "0").returncode == 2


def test_what_entries_do_to_calls_without_a_model_is_said(tmp_path: Path) -> None:
    text = (targets.target_text("linux-xdp") or "").partition("[timing.model")[0]
    file = tmp_path / "flat.toml"
    file.write_text(text)
    run = slowpath("bound", FIREWALL, "--target", str(file), "--entries", "100")
    assert run.returncode == 0, run.stderr
    assert "the unknown effect of map entries on bpf_map_lookup_elem on maps" in run.stdout


def test_models_of_a_target_are_listed() -> None:
    run = slowpath("targets", "models", "linux-xdp")
    assert run.returncode == 0
    rows = [line.split() for line in run.stdout.splitlines()]
    (row,) = [row for row in rows if row[:1] == ["table-lpm-entries"]]
    assert row[1:4] == ["entries", "1", "30,000"]
    assert row[-1] == "map_lookup_elem.lpm_trie"
    assert (
        slowpath("targets", "models", "ebpf").stdout
        == "target ebpf has no cost models of components\n"
    )
    assert slowpath("targets", "models", "nonsense").returncode == 2


def test_models_need_a_valid_description_and_no_more(tmp_path: Path) -> None:
    text = targets.target_text("linux-xdp") or ""
    file = tmp_path / "mine.toml"
    file.write_text("\n".join(x for x in text.splitlines() if not x.startswith("source =")))
    assert "packet.source" in slowpath("targets", "check", str(file)).stderr
    run = slowpath("targets", "models", str(file))
    assert run.returncode == 0, run.stderr
    assert "table-lpm-entries" in run.stdout
    assert " -0.0 " not in run.stdout
    file.write_text(text.replace("window = ", "windows = "))
    for words in (
        ("targets", "models", str(file)),
        ("sweep", "examples/count_min.bpf.c", "-D", "HASHES=1..2", "--target", str(file)),
    ):
        run = slowpath(*words)
        assert run.returncode == 3
        assert run.stderr.startswith(f"error: {file}: line ")
