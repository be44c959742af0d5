"""State that packets only read, and calls of one function that are counted apart."""

import json
from pathlib import Path
from typing import Any

import pytest

from insights_counted import EXAMPLES, FOLDER, counted, reported, structures, trace
from slowpath.insights.accelerators.harness.noise import noise_of

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

NAT = EXAMPLES / "nat.pcap"


def packets(count: int, seed: int) -> list[bytes]:
    """Frames of at least 34 bytes, half of them of protocol 17."""
    draw = noise_of(seed)
    found = []
    for _ in range(count):
        frame = bytearray(draw.randbytes(draw.randrange(34, 200)))
        frame[23] = draw.choice((6, 17))
        found.append(bytes(frame))
    return found


@pytest.mark.parametrize("flags", ["-DTABLE=static", "-DTABLE=static -DWRITER"])
def test_a_table_that_nothing_writes_is_counted(flags: str) -> None:
    rules, entry = FOLDER / "rules.c", ("--entry", "process")
    visible = counted(rules, NAT, *entry, "--cflags=-DTABLE=")
    hidden = counted(rules, NAT, *entry, f"--cflags={flags}")
    for key in ("blocks", "structures", "elsewhere", "fate"):
        assert hidden[key] == visible[key]
    each = hidden["traffic"]["packets"]
    assert structures(hidden) == {"rules": (16 * each, 0), "passed": (each, each)}


@pytest.mark.parametrize(
    ("flags", "idle"),
    [("-DTABLE=static", ""), ("-DWRITER", "; these functions did not run: set_rule")],
)
def test_state_that_nothing_filled_is_told(flags: str, idle: str) -> None:
    report = counted(FOLDER / "rules.c", NAT, "--entry", "process", f"--cflags={flags}")
    [note] = [one for one in report["notes"] if "never filled" in one]
    assert f"held zeros: rules (tests/counts/rules.c:12){idle}; --setup FUNCTION fills it" in note


def test_a_table_of_another_file_is_state() -> None:
    report = counted(FOLDER / "rules.c", NAT, "--entry", "process", "--cflags=-DTABLE=extern")
    each = report["traffic"]["packets"]
    assert structures(report) == {"rules": (16 * each, 0), "passed": (each, each)}


def test_calls_of_one_checksum_are_counted_apart(tmp_path: Path) -> None:
    traffic = trace(tmp_path, packets(60, 3))
    both = counted(FOLDER / "sums.c", traffic)
    lines = (FOLDER / "sums.c").read_text().splitlines()
    at = {lines[one["line"] - 1].rpartition("/*")[2].split()[0]: one for one in both["calls"]}
    assert set(at) == {"first", "second"}
    for left, gone in (("first", "SECOND"), ("second", "FIRST")):
        alone = counted(FOLDER / "sums.c", traffic, f"--cflags=-DWITHOUT_{gone}")
        assert alone["calls"] == [], "one line needs no table"
        inside = [one for one in alone["blocks"] if one["function"] == "checksum"]
        assert at[left]["instructions"] == sum(one["runs"] * one["instructions"] for one in inside)
        assert at[left]["calls"] == sum(one["runs"] for one in inside if not one["number"])


def test_advice_says_how_much_each_line_takes() -> None:
    def part(report: dict[str, Any]) -> dict[str, Any]:
        [found] = [one for one in report["advice"] if one["kind"] == "accelerator"]
        return dict(found)

    report = reported(FOLDER / "sums.c", "--traffic", NAT)
    because = part(report)["reason"]
    counts = counted(FOLDER / "sums.c", NAT)["calls"]
    for one in counts:
        assert f"{one['per_packet']:,g} LLVM instructions in line {one['line']}" in because
    assert part(report)["before"] == pytest.approx(sum(one["per_packet"] for one in counts))


@pytest.mark.parametrize("flags", ["-DHEAP", "-DHEAP -DWRAPPED"])
def test_nodes_that_are_allocated_are_state_as_those_of_a_pool(flags: str) -> None:
    entry = (FOLDER / "trie.c", NAT, "--entry", "process")
    pool, heap = counted(*entry), counted(*entry, f"--cflags={flags}")
    by_name = {one["structure"]: one for one in heap["structures"]}
    theirs = {one["structure"]: one for one in pool["structures"]}
    nodes, others = by_name["allocated node"], theirs["pool"]
    for key in ("reads", "writes", "entries", "entries_written", "members"):
        assert nodes[key] == others[key], key
    assert heap["elsewhere"] == pool["elsewhere"]
    assert heap["fate"] == pool["fate"]
    assert not [one for one in heap["notes"] if "no name" in one]


def test_allocated_nodes_get_a_memory(tmp_path: Path) -> None:
    placement = tmp_path / "placement.json"
    options = ("--entry", "process", "--cflags=-DHEAP", "--placement-out", placement)
    report = counted(FOLDER / "trie.c", NAT, *options)
    sizes = {one["structure"]: one["size_bytes"] for one in report["structures"]}
    [case] = json.loads(placement.read_text())["cases"]
    assert {one["name"]: one["size_bytes"] for one in case["structures"]} == sizes
    # One node for each prefix of the routes: 20 bits that differ in the last 6 and the first 2.
    routes = {f"{0x0A000000 + (at << 12):032b}"[:20] for at in range(64)}
    routes |= {f"{at:02b}" for at in range(4)}
    prefixes = {one[:length] for one in routes for length in range(len(one) + 1)}
    assert sizes["allocated node"] == 24 * len(prefixes)
