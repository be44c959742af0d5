"""Tests chains of programs on devices with different targets: a SmartNIC before or after a host."""

import json
from pathlib import Path
from typing import Any

import pytest

from support import ROOT, slowpath
from test_chain import failure
from test_schema import check

EXAMPLES = ROOT / "examples/chain"
CARD, HOST = "agilio-cx-2x40", "linux-xdp"


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    return tmp_path / "upstream.yaml"


def described(devices: dict[str, str], *, behind: str = "load_balancer_card", **more: Any) -> str:
    """Return the description of a chain: the firewall on one device, `behind` on the next one.

    `devices` gives the target of each device, `more` further keys of the description.
    """
    names = {"front": "firewall", "behind": behind}
    programs = [
        {"name": name, "object": str(EXAMPLES / f"{name}.bpf.o"), "device": device}
        for device, name in names.items()
    ]
    network = {"changes": ["ethernet_addresses", "ttl"]}
    edge = {"from": "firewall", "on": ["XDP_PASS"], "to": behind, "network": network}
    description = {"schema": 1, "devices": devices, "programs": programs, "edges": [edge]}
    return json.dumps(description | more)


def results(*words: str | Path) -> list[dict[str, Any]]:
    run = slowpath(*words, "--format", "json")
    assert (run.returncode, run.stderr) == (0, "")
    check("bound", run.stdout)
    found: list[dict[str, Any]] = json.loads(run.stdout)["results"]
    return found


def test_a_card_in_front_of_a_host(chain: Path) -> None:
    chain.write_text(described({"front": CARD, "behind": HOST}))
    front, behind = results("chain", "bound", chain)
    assert [front["program"], behind["program"]] == ["upstream@front", "upstream@behind"]
    assert [front["target"], behind["target"]] == [CARD, HOST]
    # The card is the first device, so its program is as fast as without the chain.
    (alone,) = results("bound", EXAMPLES / "firewall.bpf.o", "--target", CARD)
    assert front["guarantee"] == alone["guarantee"]
    # The count is that of a chain of two hosts, on condition that the card moves packets as the
    # kernel does.
    chain.write_text(described({"front": HOST, "behind": HOST}))
    (_, same) = results("chain", "bound", chain)
    assert behind["guarantee"]["counts"] == same["guarantee"]["counts"]
    assert (behind["guarantee"]["verdict"], same["guarantee"]["verdict"]) == (
        "conditional",
        "exact",
    )
    (condition,) = behind["assumptions"]
    assert condition.startswith("on the device of firewall, the program moves the packet's start ")


def test_a_card_behind_a_host_gets_what_the_host_lets_through(chain: Path) -> None:
    chain.write_text(described({"front": HOST, "behind": CARD}))
    front, behind = results("chain", "bound", chain)
    assert [front["target"], behind["target"]] == [HOST, CARD]
    (alone,) = results("bound", EXAMPLES / "load_balancer_card.bpf.o", "--target", CARD)
    guarantee = behind["guarantee"]
    # The shortest packets, and packets without a mark, do not reach the load balancer.
    assert guarantee["bitrate_bps"] > 1.4 * alone["guarantee"]["bitrate_bps"]
    assert (guarantee["verdict"], guarantee["exact"]) == ("bound", False)
    assert guarantee["stopped"] == "arriving packets are known by facts only"
    assert behind["paths"] == []


def test_a_program_in_front_that_passes_all_packets_gives_no_facts(chain: Path) -> None:
    text = json.loads(described({"behind": CARD}))
    text["programs"][0] |= {
        "object": str(ROOT / "crates/bpf/tests/data/run_config.bpf.o"),
        "program": "silent",
    }
    chain.write_text(json.dumps(text))
    _, behind = results("chain", "bound", chain)
    (alone,) = results("bound", EXAMPLES / "load_balancer_card.bpf.o", "--target", CARD)
    assert behind["guarantee"]["bitrate_bps"] == alone["guarantee"]["bitrate_bps"]
    assert behind["guarantee"]["verdict"] == "bound"


def test_a_program_that_no_packet_reaches_has_no_guarantee(chain: Path) -> None:
    text = described({"front": HOST, "behind": CARD}).replace("XDP_PASS", "XDP_TX")
    chain.write_text(text)
    run = slowpath("chain", "bound", chain, "--format", "json")
    assert run.returncode == 3
    assert "earlier programs pass no packets here" in run.stderr
    (_, behind) = json.loads(run.stdout)["results"]
    assert behind["guarantee"] is None


def test_devices_without_a_target_are_of_the_one_that_is_named(chain: Path) -> None:
    chain.write_text(described({"front": CARD}, behind="port_filter"))
    found = results("chain", "bound", chain, "--target", "ebpf")
    assert [one["target"] for one in found] == [CARD, "ebpf"]


def test_options_are_for_devices_that_have_them(chain: Path) -> None:
    chain.write_text(described({"front": CARD, "behind": HOST}, behind="port_filter"))
    found = results("chain", "bound", chain, "--metric", "packetrate", "--cores", "25")
    assert [(one["metric"], one["cores"]) for one in found] == [
        ("packetrate", 25),
        ("instructions", None),
    ]
    run = slowpath("chain", "bound", chain, "--metric", "colour")
    assert run.returncode == 2


def test_targets_are_described_in_files_beside_the_chain(chain: Path) -> None:
    described_target = slowpath("targets", "show", "ebpf").stdout
    (chain.parent / "mine.toml").write_text(described_target)
    chain.write_text(described({"behind": "mine.toml"}, behind="port_filter"))
    _, behind = results("chain", "bound", chain, "--target", "ebpf")
    assert behind["target"] == "ebpf"


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ({"front": "agilo"}, "line 1: device front: 'agilo' is not a target; choose one of "),
        ({"nic": CARD}, "line 1: no program runs on device nic"),
    ],
)
def test_wrong_devices_are_named(chain: Path, devices: dict[str, str], message: str) -> None:
    assert failure(chain, described(devices)).startswith(message)


def test_a_card_runs_one_program_and_no_listing(chain: Path) -> None:
    text = json.loads(described({"front": CARD}))
    for program in text["programs"]:
        program["device"] = "front"
    del text["edges"][0]["network"]
    message = failure(chain, json.dumps(text))
    assert message.startswith("line 1: device front: ")
    assert "target agilio-cx-2x40 runs a single program, not a chain of several" in message
    for command in ("facts", "optimize"):
        run = slowpath("chain", command, chain)
        assert (run.returncode, run.stdout) == (3, "")
        assert run.stderr == f"error: {chain}: {message}\n"
    text["programs"][1]["object"] = str(ROOT / "examples/counter_loop.asm")
    message = failure(chain, json.dumps(text))
    assert "counter_loop.asm is an NFP listing, not an object; " in message
    assert message.endswith("; a chain consists of BPF objects")


def test_facts_and_rewriting_are_about_the_programs_wherever_they_run(chain: Path) -> None:
    found = []
    for devices in ({"front": HOST, "behind": HOST}, {"front": CARD, "behind": HOST}):
        chain.write_text(described(devices))
        run = slowpath("chain", "optimize", chain, "--packets", "0", "--format", "json")
        assert run.returncode == 0
        (_, balancer) = json.loads(run.stdout)["programs"]
        found.append(balancer)
    same, behind = found
    assert same["proved"]
    assert same["facts"] == behind["facts"]
    assert same["instructions_after"] == behind["instructions_after"]
    assert same["assumptions"] == []
    assert len(behind["assumptions"]) == 1
