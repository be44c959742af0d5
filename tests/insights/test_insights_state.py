"""Tests counts of state that packets only read, of allocated state, and of calls by source line."""

import json
from pathlib import Path
from typing import Any

import pytest

from insights_counted import EXAMPLES, FOLDER, counted, reported, structures, trace
from slowpath.core.quantities import number
from slowpath.insights.accelerators.proofs.harness import noise_of

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

NAT = EXAMPLES / "nat.pcap"


def packets(count: int, seed: int) -> list[bytes]:
    """Return random frames of at least 34 bytes; about half of them are UDP by byte 23."""
    draw = noise_of(seed)
    found = []
    for _ in range(count):
        frame = bytearray(draw.randbytes(draw.randrange(34, 200)))
        frame[23] = draw.choice((6, 17))
        found.append(bytes(frame))
    return found


@pytest.mark.parametrize("flags", ["-DTABLE=static", "-DTABLE=static -DWRITER"])
def test_unwritten_tables_are_counted(flags: str) -> None:
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
def test_notes_name_unfilled_state(flags: str, idle: str) -> None:
    report = counted(FOLDER / "rules.c", NAT, "--entry", "process", f"--cflags={flags}")
    [note] = [one for one in report["notes"] if "never written" in one]
    assert (
        f"held zeros: rules (tests/counts/rules.c:12){idle}; fill it with --setup FUNCTION" in note
    )


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

    report = reported(FOLDER / "sums.c", "--pcap", NAT)
    because = part(report)["reason"]
    counts = counted(FOLDER / "sums.c", NAT)["calls"]
    for one in counts:
        assert f"{number(one['per_packet'])} LLVM instructions in line {one['line']}" in because
    assert part(report)["before"] == pytest.approx(sum(one["per_packet"] for one in counts))


@pytest.mark.parametrize("flags", ["-DHEAP", "-DHEAP -DWRAPPED"])
def test_allocated_nodes_count_like_pool_nodes(flags: str) -> None:
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
    # One node for each prefix of the routes: 64 routes of 20 bits, and four of 2 bits.
    routes = {f"{0x0A000000 + (at << 12):032b}"[:20] for at in range(64)}
    routes |= {f"{at:02b}" for at in range(4)}
    prefixes = {one[:length] for one in routes for length in range(len(one) + 1)}
    assert sizes["allocated node"] == 24 * len(prefixes)


def test_setup_functions_run_first(tmp_path: Path) -> None:
    source = tmp_path / "made.c"
    source.write_text(
        "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
        "static int limit[4]; static char name[8];\n"
        "void make_table(int first) {\n"
        'for (int at = 0; at < 4; at++) limit[at] = first + 7; snprintf(name, 8, "x"); }\n'
        "int process(const uint8_t *data, size_t length) { return limit[data[0] & 3]; }\n"
    )
    traffic = trace(tmp_path, packets(9, 5))
    entry = ("--entry", "process")
    without = counted(source, traffic, *entry)
    assert without["fate"]["results"] == [{"result": 0, "packets": 9}]
    assert any("did not run: make_table; " in one for one in without["notes"])
    report = counted(source, traffic, *entry, "--setup", "make_table")
    assert report["fate"]["results"] == [{"result": 7, "packets": 9}]
    assert not [one for one in report["notes"] if "never written" in one]
    assert structures(report) == {"limit": (9, 0)}


@pytest.mark.parametrize("base", ["Counting", "ClassifyElement<ByLength>"])
def test_a_base_class_may_define_push(tmp_path: Path, base: str) -> None:
    source = tmp_path / "derived.cc"
    source.write_text(
        "#include <click/config.h>\n#include <click/batchelement.hh>\nCLICK_DECLS\n"
        "class Counting : public BatchElement { public: Counting() {}\n"
        "void push(int, Packet *p) override { output(classify(p)).push(p); }\n"
        "virtual int classify(Packet *) = 0; };\n"
        f"class ByLength : public {base} {{ public: ByLength() {{}}\n"
        'const char *class_name() const override { return "ByLength"; }\n'
        'const char *port_count() const override { return "1/2"; }\n'
        "int classify(Packet *p) { return p->length() > 100; } };\n"
        "CLICK_ENDDECLS\nEXPORT_ELEMENT(ByLength)\n"
    )
    frames = packets(40, 7)
    report = counted(source, trace(tmp_path, frames))
    long = sum(len(one) > 100 for one in frames)
    assert report["entry"].endswith("::push")
    assert report["fate"]["outputs"] == [
        {"output": 0, "packets": 40 - long},
        {"output": 1, "packets": long},
    ]
