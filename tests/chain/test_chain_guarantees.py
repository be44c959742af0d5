"""Tests that `chain optimize --target` reports guarantees before and after rewriting."""

import json
from pathlib import Path
from typing import Any

import pytest

from support import ROOT, remembered, slowpath
from test_schema import check

EXAMPLES = ROOT / "examples/chain"
CHAIN = EXAMPLES / "chain.yaml"
CARD = EXAMPLES / "card.yaml"
MODES = pytest.mark.parametrize("mode", [["--trust"], []], ids=["trust", "guard"])


def guarantees(*words: str | Path, targets: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Rewrite the load balancer of a chain; return its guarantees by target and unit."""
    run = slowpath(
        *("chain", "optimize", *words, "--packets", "0", "--target", targets, "--format", "json")
    )
    assert (run.returncode, run.stderr) == (0, "")
    check("chain", run.stdout)
    firewall, balancer = json.loads(run.stdout)["programs"]
    assert firewall["guarantees"] == []  # it stays unchanged
    return {(one["target"], one["unit"]): one for one in balancer["guarantees"]}


def most(file: Path, *words: str) -> int:
    """Return the guaranteed maximum number of instructions per packet of a program."""
    output = remembered("bound", file, "--target", "ebpf", "--format", "json", *words)
    (result,) = json.loads(output)["results"]
    assert result["guarantee"]["exact"]
    return int(result["guarantee"]["counts"]["instructions"])


@MODES
def test_counts_are_those_of_packets_that_get_there(mode: list[str], tmp_path: Path) -> None:
    found = guarantees(CHAIN, *mode, "-o", tmp_path, targets="ebpf,linux-xdp")
    assert list(found) == [
        ("ebpf", "instructions"),
        ("ebpf", "memory-accesses"),
        ("linux-xdp", "instructions"),
        ("linux-xdp", "ns"),
        ("linux-xdp", "memory-accesses"),
    ]
    counts = found["ebpf", "instructions"]
    assert counts["guaranteed"]
    assert counts["exact"]
    assert counts["reasons"] == []
    # Without the chain, the program gets packets that take longer. A guarded program runs its
    # original for such packets.
    assert counts["before"] < most(EXAMPLES / "load_balancer.bpf.o")
    alone = most(tmp_path / "load_balancer.bpf.o")
    assert counts["after"] == alone if mode else counts["after"] < alone
    assert counts["after"] < counts["before"] / 6
    estimate = found["linux-xdp", "ns"]
    assert not estimate["guaranteed"]
    assert estimate["after"] < estimate["before"] / 6


@MODES
def test_a_program_in_its_subset_is_guaranteed_on_the_card(mode: list[str]) -> None:
    found = guarantees(CARD, *mode, targets="agilio-cx-2x40")
    assert list(found) == [("agilio-cx-2x40", "bit/s"), ("agilio-cx-2x40", "packets/s")]
    for one in found.values():
        assert one["guaranteed"]
        assert not one["exact"]
        assert one["reasons"] == ["arriving packets are known by facts only"]
        assert one["after"] >= one["before"] > 0
        assert one["bottlenecks"] == ["dram", "dram"]  # one look-up, whatever is left out


def test_where_the_card_refuses_a_program_it_says_why(tmp_path: Path) -> None:
    names = ("firewall", "blocklist")  # which has a trie
    programs = [{"name": name, "object": str(EXAMPLES / f"{name}.bpf.o")} for name in names]
    edge = {"from": "firewall", "on": ["XDP_PASS"], "to": "blocklist"}
    file = tmp_path / "refused.yaml"
    file.write_text(json.dumps({"schema": 1, "programs": programs, "edges": [edge]}))
    found = guarantees(file, "--trust", targets="agilio-cx-2x40,ebpf")
    for unit in ("bit/s", "packets/s"):
        one = found["agilio-cx-2x40", unit]
        assert (one["before"], one["after"]) == (None, None)
        for when, reason in zip(("before", "after"), one["reasons"], strict=True):
            assert reason.startswith(f"{when}: section xdp, instruction ")
            assert "map blocked is of type lpm_trie" in reason
    counts = found["ebpf", "instructions"]
    assert counts["after"] < counts["before"]


def test_what_the_card_runs_it_runs_when_rewritten(tmp_path: Path) -> None:
    # The firewall alone is rewritten, because it loads constants that it stored before.
    object_file = EXAMPLES / "firewall.bpf.o"
    run = slowpath(
        *("chain", "optimize", object_file, "--trust", "--packets", "0", "--format", "json"),
        *("--target", "agilio-cx-2x40", "-o", tmp_path),
    )
    (firewall,) = json.loads(run.stdout)["programs"]
    assert firewall["proved"]
    assert len(firewall["guarantees"]) == 2
    for one in firewall["guarantees"]:
        assert one["exact"]
        assert one["after"] >= one["before"]
    alone = slowpath(
        *("bound", tmp_path / "firewall.bpf.o", "--target", "agilio-cx-2x40", "--format", "json")
    )
    (result,) = json.loads(alone.stdout)["results"]
    assert result["guarantee"]["bitrate_bps"] == firewall["guarantees"][0]["after"]


def test_there_is_a_line_for_each() -> None:
    run = slowpath("chain", "optimize", CHAIN, "--packets", "0", "--target", "ebpf,linux-xdp")
    lines = [line for line in run.stdout.splitlines() if line.startswith("load_balancer: on ")]
    assert len(lines) == 5
    assert lines[0].startswith("load_balancer: on ebpf, at most ")
    assert lines[0].endswith(" instructions after (exact)")
    assert any("on linux-xdp, estimated " in line for line in lines)


def test_nothing_is_guaranteed_where_it_was_not_asked_for() -> None:
    run = slowpath("chain", "optimize", CHAIN, "--packets", "0", "--format", "json")
    assert all(one["guarantees"] == [] for one in json.loads(run.stdout)["programs"])


def test_a_device_has_a_target_of_its_own(tmp_path: Path) -> None:
    names = {"firewall": "edge", "counter": "server"}
    programs = [
        {"name": name, "object": str(EXAMPLES / f"{name}.bpf.o"), "device": device}
        for name, device in names.items()
    ]
    edges = [{"from": "firewall", "on": ["XDP_PASS"], "to": "counter"}]
    devices = {"server": "ebpf"}
    file = tmp_path / "devices.yaml"
    text = {"schema": 1, "devices": devices, "programs": programs, "edges": edges}
    file.write_text(json.dumps(text))
    found = guarantees(file, targets="linux-xdp")
    assert {target for target, _ in found} == {"ebpf"}


@pytest.mark.parametrize(
    ("targets", "message"),
    [("ebpf,ebbf", "'ebbf' is not a target"), ("ebpf,ebpf", "ebpf is named twice")],
)
def test_wrong_targets_are_named(targets: str, message: str) -> None:
    run = slowpath("chain", "optimize", CHAIN, "--target", targets)
    assert run.returncode == 2
    assert message in run.stderr


def test_what_takes_too_long_is_not_known() -> None:
    words = ("chain", "optimize", CHAIN, "--packets", "0", "--format", "json")
    run = slowpath(*words, "--target", "ebpf", "--deadline", "0.001")
    # Every guarantee without a value has a reason, no matter when the deadline ended the work.
    for program in json.loads(run.stdout or '{"programs": []}')["programs"]:
        for one in program["guarantees"]:
            assert one["after"] is not None or one["reasons"]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("rules", {"any": 53, "given": 52, "guard": 39, "trust": 36}),
        ("backends", {"any": 83, "given": 83, "guard": 77, "trust": 74}),
    ],
)
def test_maps_as_given_are_what_guarantees_are_about(name: str, counts: dict[str, int]) -> None:
    # docs/explanation/chains-accuracy.md has these counts for a known configuration.
    example, maps = EXAMPLES / f"{name}.bpf.o", EXAMPLES / f"{name}.toml"
    assert most(example) == counts["any"]
    assert most(example, "--maps", str(maps)) == counts["given"]
    for mode in ("guard", "trust"):
        words = ["--target", "ebpf", "--format", "json", "--packets", "0"]
        words += [] if mode == "guard" else ["--trust"]
        run = slowpath("chain", "optimize", example, "--maps", maps, *words)
        assert (run.returncode, run.stderr) == (0, "")
        (program,) = json.loads(run.stdout)["programs"]
        found = program["guarantees"][0]
        assert found["exact"]
        assert (found["before"], found["after"]) == (counts["given"], counts[mode])
        frozen = ", ".join(one["map"] for one in program["frozen"])
        generation = ["generation zero"] if mode == "guard" else []
        assert found["about"] == [f"the given content of maps {frozen}", *generation]


def test_what_a_program_writes_may_hold_anything(tmp_path: Path) -> None:
    maps = tmp_path / "maps.toml"
    maps.write_text("blocked = []")
    words = ("chain", "optimize", EXAMPLES / "blocklist.bpf.o", "--trust", "--packets", "0")
    both = []
    for known in ([], ["--maps", str(maps)]):
        run = slowpath(*words, *known, "--target", "ebpf", "--format", "json")
        (program,) = json.loads(run.stdout)["programs"]
        both.append(program["guarantees"])
    assert both[0] == both[1]
    assert all(one["about"] == [] for one in both[1])


@MODES
def test_packets_as_assumed_are_what_guarantees_are_about(mode: list[str]) -> None:
    # For IPv6, the program reads only the EtherType.
    words = ("--fact", "bytes 12-13 = 86dd", "--target", "ebpf", "--format", "json")
    example = EXAMPLES / "rules.bpf.o"
    run = slowpath("chain", "optimize", example, *words, *mode, "--packets", "0")
    assert (run.returncode, run.stderr) == (0, "")
    (program,) = json.loads(run.stdout)["programs"]
    found = program["guarantees"][0]
    assert found["about"] == ["the assumed facts about packets"]
    assert found["exact"]
    assert found["after"] <= found["before"] < most(example) / 3


def test_a_file_that_describes_no_target_is_an_error() -> None:
    file = EXAMPLES / "rules.toml"
    run = slowpath("chain", "optimize", CHAIN, "--target", file)
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr.startswith(f"error: {file}: ")
