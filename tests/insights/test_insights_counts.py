"""Compares the counts of `insights counts` on traces with independent counts of these accesses."""

import json
import re
import shutil
import struct
import subprocess
from collections import Counter
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from insights_counted import (
    CONFIGURATIONS,
    EXAMPLES,
    FOLDER,
    calls,
    counted,
    element,
    example,
    frames_of,
    sent,
    structures,
    trace,
)
from oracles import missing
from slowpath.insights.accelerators.proofs.harness import noise_of
from slowpath.insights.trace import execution
from slowpath.insights.trace.running import run
from support import GOLDEN, ROOT, check_golden, slowpath

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

NAT = EXAMPLES / "nat.pcap"
MEANS = (
    "\nCounts are means over the packets of the trace. For the worst case of an XDP program, run "
    "slowpath bound.\n"
)


def frames(count: int, seed: int) -> list[bytes]:
    draw = noise_of(seed)
    return [draw.randbytes(draw.randrange(1, 200)) for _ in range(count)]


def test_accesses_match_the_source(tmp_path: Path) -> None:
    packets = frames(50, 1)
    report = counted(FOLDER / "histogram.c", trace(tmp_path, packets))
    size = sum(map(len, packets))
    large = sum(one[0] > 127 for one in packets)
    assert structures(report) == {
        "weights": (size, 0),
        "histogram": (size, size),
        "total": (size, size),
        "large": (large, large),
    }
    by_name = {one["structure"]: one for one in report["structures"]}
    different = len(set(b"".join(packets)))
    assert by_name["histogram"]["entries"] == by_name["histogram"]["entries_written"] == different
    assert (by_name["histogram"]["size_bytes"], by_name["weights"]["entries_written"]) == (1024, 0)
    lines = (FOLDER / "histogram.c").read_text().splitlines()
    for name, one in by_name.items():
        assert name in lines[one["line"] - 1]
    assert report["elsewhere"] == [{"what": "packet", "reads": size + len(packets), "writes": 0}]
    odd = Counter(len(one) & 1 for one in packets)
    assert report["fate"]["results"] == [
        {"result": result, "packets": odd[result]} for result in sorted(odd)
    ]
    loop = [one for one in report["blocks"] if one["runs"] == size]
    assert loop, "the body of the loop runs once for each byte"
    assert all(one["per_packet"] == round(one["runs"] / 50, 6) for one in report["blocks"])


@pytest.mark.parametrize("seed", [1, 2])
def test_counts_equal_those_of_a_self_counting_twin(tmp_path: Path, seed: int) -> None:
    compiler = next((name for name in ("gcc", "cc", "clang-16") if shutil.which(name)), None)
    if compiler is None:
        missing("compiler", "there is no C compiler")
    packets = frames(120, seed)
    twin = tmp_path / "twin"
    source = FOLDER / "branches.c"
    subprocess.run([compiler, "-DTWIN", "-O0", "-o", twin, source], check=True)
    data = b"".join(struct.pack("<I", len(one)) + one for one in packets)
    printed = subprocess.run([twin], input=data, capture_output=True, check=True).stdout.split()
    *steps, reads, writes, results = map(int, printed)
    report = counted(source, trace(tmp_path, packets), "--entry", "process")
    found = calls(report)
    assert [found.get(f"step{at}", 0) for at in range(10)] == steps
    assert found["process"] == len(packets)
    assert structures(report) == {"state": (reads, writes)}
    (state,) = report["structures"]
    assert [(one["member"], one["reads"], one["writes"]) for one in state["members"]] == [
        ("[]", reads, writes)
    ]
    assert sum(one["result"] * one["packets"] for one in report["fate"]["results"]) == results


def test_counts_distinguish_tables_and_members() -> None:
    """Compare the counts for the NAT example with counts that the test computes from the trace."""
    report = example("nat").report
    fate, found = report["fate"], structures(report)
    outputs = sent(report)
    packets = report["traffic"]["packets"]
    assert sum(outputs.values()) + fate["killed"] == packets
    outside, flows = Counter[bytes](), set[bytes]()
    for packet in frames_of(NAT):
        inside = packet[26:29] == bytes((10, 0, 0))
        outside[b"out" if inside else b"in"] += 1
        if inside:
            flows.add(packet[26:38])
    assert (outputs[0], outputs[1]) == (outside[b"out"], outside[b"in"])
    assert found["NAT::_translated"] == (packets, packets)
    by_name = {one["structure"]: one for one in report["structures"]}
    assert by_name["NAT::_flows"]["entries_written"] == len(flows)
    assert by_name["NAT::_mappings"]["entries"] == len(flows)
    members = {one["member"]: one for one in by_name["NAT::_mappings"]["members"]}
    assert members["[].created"]["writes"] == len(flows)
    assert members["[].last_seen"]["writes"] == packets
    assert members["[].packets"]["reads"] == packets
    assert members["[].packets"]["writes"] == packets + len(flows)
    assert list(members)[:3] == ["[].created", "[].inside._addr", "[].inside_port"]
    looked = "nic::Table<IPFlowID, unsigned short, 1024U, 4U>::look_up"
    assert calls(report)[looked] == outside[b"out"]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_reports_are_inputs_of_placement_and_coalescing(name: str) -> None:
    report, placement, coalescing = example(name)
    assert report["notes"] == []
    run = slowpath("insights", "placement", placement, "--format", "json")
    assert run.returncode == 0, run.stderr
    (case,) = json.loads(run.stdout)["results"]
    placed = {one["structure"]: one["size_bytes"] for one in case["structures"]}
    assert placed == {one["structure"]: one["size_bytes"] for one in report["structures"]}
    run = slowpath("insights", "coalescing", coalescing, "--format", "json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["results"]


CONFIGURED = re.findall(
    r"^\| `(\w+)\.cc` \| [^|`]+ \| `([^`]+)` \|$",
    (ROOT / "examples/README.md").read_text(),
    re.MULTILINE,
)


def test_the_examples_name_the_configuration_of_each_element() -> None:
    assert {name for name, _ in CONFIGURED} == {file.stem for file in EXAMPLES.glob("*.cc")}
    tutorial = (ROOT / "docs/tutorials/smartnic.md").read_text()
    assert f"udp_counter.cc --config '{dict(CONFIGURED)['udp_counter']}'" in tutorial


@pytest.mark.parametrize(("name", "config"), CONFIGURED)
def test_each_element_takes_its_named_configuration(name: str, config: str) -> None:
    report = counted(EXAMPLES / f"{name}.cc", EXAMPLES / f"{name}.pcap", "--config", config)
    assert report["traffic"]["packets"] > 0
    assert "is not" not in str(report["notes"])


def test_advised_layouts_have_the_announced_accesses(tmp_path: Path) -> None:
    """Check that the NAT makes the announced number of accesses after a change of member order.

    The order is the advised one.
    """
    source, name = (EXAMPLES / "nat.cc").read_text(), "NAT::_mappings (Mapping)"

    def advised(out: Path) -> dict[str, object]:
        run = slowpath("insights", "coalescing", out, "--format", "json")
        assert run.returncode == 0, run.stderr
        found = {one["element"]: one for one in json.loads(run.stdout)["results"]}
        element: dict[str, object] = found[name]
        return element

    before = advised(example("nat").coalescing)
    members = [one["variable"] for one in before["members"]]  # type: ignore[attr-defined]
    start = source.index("struct Mapping {\n") + len("struct Mapping {\n")
    end = source.index("};", start)
    lines = source[start:end].splitlines()
    order = sorted(lines, key=lambda line: members.index(line.split()[-1].rstrip(";")))
    assert order != lines
    ported = tmp_path / "ported.cc"
    ported.write_text(source[:start] + "\n".join(order) + "\n" + source[end:])
    out = tmp_path / "coalescing.json"
    counted(ported, NAT, "--config", CONFIGURATIONS["nat"], "--coalescing-out", out)
    after = advised(out)
    compared = {one["layout"]: one["accesses"] for one in after["compared"]}  # type: ignore[attr-defined]
    assert compared["source"] == pytest.approx(before["accesses"])
    earlier = {one["layout"]: one["accesses"] for one in before["compared"]}  # type: ignore[attr-defined]
    assert compared["source"] < earlier["source"]


def test_reports_for_people_and_tables() -> None:
    traffic = ("--pcap", "examples/insights/nat.pcap")
    words = ("insights", "counts", "tests/counts/histogram.c", *traffic)
    for form, extension in (("table", "txt"), ("csv", "csv")):
        run = slowpath(*words, "--format", form)
        assert (run.returncode, run.stderr) == (0, "")
        shown = run.stdout.partition("\ncompiled by ")[0]
        assert (MEANS in shown) == (form == "table")
        check_golden(GOLDEN / f"insights_counts.{extension}", shown)


def test_notes_name_unknown_data(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    cut.write_bytes(head + 2 * (struct.pack("<IIII", 1, 2, 20, 60) + bytes(20)))
    report = counted(FOLDER / "histogram.c", cut, "--packets", "1")
    assert report["notes"] == [
        "the trace has more packets than the 1 that ran; run more with --packets",
        "1 packets were captured only in part; zeros replace the missing bytes",
    ]
    assert report["traffic"] == {
        "file": str(cut),
        "packets": 1,
        "truncated": 1,
        "timeless": 0,
        "more": True,
    }
    assert structures(report)["histogram"] == (60, 60)
    source = element(
        tmp_path,
        "Keeper",
        "struct Node { Node *next; int n; }; Keeper() : _first(0) {}\n"
        "void push(int, Packet *p) { Node *made = (Node *) malloc(sizeof(Node));\n"
        "made->next = _first; made->n = p->length(); _first = made; }\n"
        "Node *_first;",
    )
    report = counted(source, cut)
    notes = report["notes"]
    assert "the function allocates memory 2 times, which a card cannot do" in notes
    [nodes] = [one for one in report["structures"] if one["structure"] == "allocated Node"]
    assert (nodes["writes"], nodes["size_bytes"], nodes["entries_written"]) == (4, 32, 2)
    assert any(one.startswith("the function kept 2 packets, but") for one in notes)


def test_clang_flags_set_table_sizes() -> None:
    """Check that a flag for clang can set the size of the NAT's flow table.

    With two buckets, the table has eight slots, too few for most flows.
    """
    flags = "--cflags=-DSLOWPATH_BUCKETS=2"
    report = counted(EXAMPLES / "nat.cc", NAT, "--config", CONFIGURATIONS["nat"], flags)
    by_name = {one["structure"]: one for one in report["structures"]}
    assert by_name["NAT::_flows"]["entries"] == by_name["NAT::_flows"]["entries_written"] == 8
    refused = report["fate"]["refused"]
    assert report["fate"]["killed"] >= refused > 0
    lost = (
        f"{refused:,} entries found no free slot, and 0 were evicted from tables, because the "
        "tables are too small"
    )
    assert any(one.startswith(lost) for one in report["notes"])


def test_malloc_and_new_allocate(tmp_path: Path) -> None:
    source = tmp_path / "both.cc"
    source.write_text(
        "#include <stdlib.h>\n#include <string.h>\n"
        "struct Node { int n; virtual ~Node() {} };\n"
        "int process(const unsigned char *data, unsigned length) {\n"
        "Node *one = new Node(); char *two = (char *) malloc(length); int *three = new int[4];\n"
        "memcpy(two, data, length); one->n = two[length - 1]; three[3] = one->n;\n"
        "int found = three[3]; delete one; free(two); delete[] three; return found; }\n"
    )
    report = counted(source, trace(tmp_path, [b"\1\2\3", b"\4\5"]), "--entry", "process")
    assert report["fate"]["results"] == [
        {"result": 3, "packets": 1},
        {"result": 5, "packets": 1},
    ]
    assert any(one.startswith("the function allocates memory") for one in report["notes"])


def test_aligned_allocations_are_aligned(tmp_path: Path) -> None:
    """Check that allocated memory has the alignment that a packet requests.

    Other alignments and freed memory of the same size must not disturb this.
    """
    source = tmp_path / "aligned.c"
    source.write_text(
        "#include <stdint.h>\n#include <stdlib.h>\n"
        "struct line { uint64_t words[512]; };\n"
        "int process(const unsigned char *data, unsigned length) {\n"
        "size_t alignment = 1ul << data[0];\n"
        "struct line *other = malloc(sizeof *other);\n"
        "struct line *first = aligned_alloc(alignment, 4096), *line;\n"
        "free(other); free(first);\n"
        "line = aligned_alloc(alignment, 4096);\n"
        "if (!line || !first) return 2;\n"
        "line->words[0] = length;\n"
        "return ((uintptr_t) line | (uintptr_t) first) % alignment == 0; }\n"
    )
    packets = [bytes([power]) for power in range(17)]
    report = counted(source, trace(tmp_path, packets), "--entry", "process")
    assert report["fate"]["results"] == [{"result": 1, "packets": 17}]
    by_name = structures(report)
    assert by_name["allocated line"] == (0, 17)


def test_alignments_that_are_no_power_of_two_fail(tmp_path: Path) -> None:
    source = tmp_path / "aligned.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "int process(const unsigned char *data, unsigned length) {\n"
        "char *block = aligned_alloc(data[0], 48);\n"
        "int found = !block; free(block); return found; }\n"
    )
    packets = [bytes([alignment]) for alignment in (0, 24, 48)]
    report = counted(source, trace(tmp_path, packets), "--entry", "process")
    assert report["fate"]["results"] == [{"result": 1, "packets": 3}]


def test_timestamps_come_from_the_trace(tmp_path: Path) -> None:
    source = element(
        tmp_path,
        "Clock",
        "int process(Packet *p) {\n"
        "int ok = p->timestamp_anno() == Timestamp::now();\n"
        "p->kill(); return ok * Timestamp::now().usec(); }\n"
        "void push(int, Packet *p) { process(p); }",
    )
    report = counted(source, NAT, "--entry", "Clock::process", "--packets", "3")
    assert [one["result"] for one in report["fate"]["results"]] == [0, 250, 500]


HEAD = "#include <stdint.h>\n"
PROCESS = "int process(const uint8_t *p, int n) {\n"


def in_c(folder: Path, text: str, *options: str | Path) -> dict[str, Any]:
    """Count a C source, the text `text` below common headers, over the trace of the NAT example."""
    file = folder / "nf.c"
    file.write_text(HEAD + text)
    return counted(file, NAT, *options)


def test_variables_of_the_same_name_get_numbers(tmp_path: Path) -> None:
    placement = tmp_path / "placement.json"
    text = (
        "__attribute__((noinline)) static int a(int n) { static uint32_t count; "
        "return count += n; }\n"
        f"{PROCESS}static uint32_t count; return a(n) + (count += p[0]); }}\n"
    )
    report = in_c(tmp_path, text, "--entry", "process", "--placement-out", placement)
    packets = report["traffic"]["packets"]
    assert structures(report) == {"count #1": (packets, packets), "count #2": (packets, packets)}
    assert slowpath("insights", "placement", placement).returncode == 0


def test_bits_are_members_together(tmp_path: Path) -> None:
    source = element(
        tmp_path,
        "Bits",
        "Packet *simple_action(Packet *p) { _odd = p->length() & 1; _n += _odd; return p; }\n"
        "bool _active : 1; bool _odd : 1; uint32_t _n;",
    )
    report = counted(source, NAT)
    assert set(structures(report)) == {"Bits::_active:1+_odd:1", "Bits::_n"}


@pytest.mark.parametrize(("options", "outputs"), [((), 1), (("--cflags=-DSLOWPATH_OUTPUTS=3",), 3)])
def test_elements_have_the_ports_that_they_declare(
    tmp_path: Path, options: tuple[str, ...], outputs: int
) -> None:
    source = element(
        tmp_path,
        "T",
        'const char *port_count() const { return "1/1-"; }\n'
        "void push(int, Packet *p) { for (int i = 1; i < noutputs(); i++)\n"
        "if (Packet *q = p->clone()) output(i).push(q);\n"
        "output(0).push(p); }",
    )
    assert list(sent(counted(source, NAT, *options))) == list(range(outputs))


@pytest.mark.parametrize(("options", "unmade"), [((), 5), (("--cflags=-DSLOWPATH_PACKETS=32",), 0)])
def test_flags_set_the_number_of_buffers(
    tmp_path: Path, options: tuple[str, ...], unmade: int
) -> None:
    source = element(
        tmp_path,
        "T",
        "void push(int, Packet *p) { Packet *made[20]; int i;\n"
        "for (i = 0; i < 20; i++) made[i] = p->clone();\n"
        "for (i = 0; i < 20; i++) if (made[i]) made[i]->kill();\n"
        "p->kill(); }",
    )
    report = counted(source, NAT, "--packets", "1", *options)
    assert report["fate"]["unmade"] == unmade
    note = (
        f"{unmade} packets could not be created or cloned, because the buffers are too few; "
        "enlarge their number with --cflags=-DSLOWPATH_PACKETS="
    )
    assert any(one.startswith(note) for one in report["notes"]) == (unmade > 0)


@pytest.mark.parametrize(
    ("text", "touched"),
    [
        # An access to an array's entry does not cover the array.
        (
            "struct { uint32_t n; uint32_t e[64]; uint32_t m; } t;",
            "t.n++; t.e[p[0] & 63]++; t.m++;",
        ),
        # Members of a packed structure are not at the offsets that C chooses.
        (
            "struct __attribute__((packed)) { uint8_t a; uint64_t b; uint32_t c; } t;",
            "t.a++; t.c++;",
        ),
        # Source code cannot state an order of members without names.
        ("struct { uint32_t n; union { uint32_t x; float y; }; uint32_t m; } t;", "t.n++; t.m++;"),
    ],
)
def test_coalescing_omits_structures_without_plain_layout(
    tmp_path: Path, text: str, touched: str
) -> None:
    out = tmp_path / "coalescing.json"
    file = tmp_path / "nf.c"
    file.write_text(f"{HEAD}static {text}\n{PROCESS}{touched} return n; }}\n")
    words = ("insights", "counts", file, "--pcap", NAT)
    run = slowpath(*words, "--coalescing-out", out, timeout=300)
    assert not out.exists(), run.stdout


def test_notes_name_uncounted_library_functions(tmp_path: Path) -> None:
    report = in_c(
        tmp_path,
        "#include <string.h>\n"
        f"char name[32];\n{PROCESS}name[0] = p[0]; return strrchr(name, n) != 0; }}\n",
    )
    assert any("strrchr" in one for one in report["notes"])


def test_only_the_most_frequent_results_are_printed(tmp_path: Path) -> None:
    file = tmp_path / "nf.c"
    file.write_text(f"{HEAD}static int seen;\n{PROCESS}return seen++; }}\n")
    run = slowpath("insights", "counts", file, "--pcap", NAT, timeout=300)
    assert run.returncode == 0
    assert "returned one of" in run.stdout


def test_loops_of_a_crc_stay_loops(tmp_path: Path) -> None:
    report = in_c(
        tmp_path,
        "uint16_t last;\n"
        f"{PROCESS}uint16_t crc = 0xffff;\n"
        "for (int at = 0; at < 8; at++) { crc ^= (uint16_t)(p[at] << 8);\n"
        "for (int bit = 0; bit < 8; bit++)\n"
        "crc = crc & 0x8000 ? (uint16_t)(crc << 1) ^ 0x1021 : (uint16_t)(crc << 1); }\n"
        "last = crc; return n; }\n",
    )
    packets = report["traffic"]["packets"]
    assert structures(report) == {"last": (0, packets)}
    assert max(one["runs"] for one in report["blocks"]) == 64 * packets


def test_headers_of_the_kernel_may_have_inline_assembly(tmp_path: Path) -> None:
    """Check that a source can include kernel headers with inline assembly.

    No function that contains it is called.
    """
    report = in_c(
        tmp_path,
        "#include <linux/ip.h>\n#include <string.h>\nuint32_t lengths;\n"
        f"{PROCESS}struct iphdr ip; memcpy(&ip, p + 14, 20); return lengths += ip.tot_len; }}\n",
        *("--entry", "process"),
    )
    packets = report["traffic"]["packets"]
    assert structures(report) == {"lengths": (packets, packets)}


def test_notes_count_packets_emptied_by_strip(tmp_path: Path) -> None:
    frames = [bytes(size) for size in (14, 15, 60, 10)]
    file = trace(tmp_path, frames)
    source = tmp_path / "nf.c"
    source.write_text(f"{HEAD}uint32_t seen;\n{PROCESS}if (n) seen += p[0]; return n; }}\n")
    notes = counted(source, file, "--strip", "14")["notes"]
    assert notes == ["2 packets are empty after --strip removed 14 bytes"]


def test_a_deadline_ends_the_run_with_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the report covers seven packets if the deadline passes before the eighth."""
    readings = count(1)

    def clock() -> float:
        return 0.0 if next(readings) <= 8 else 1e12

    monkeypatch.setattr(execution, "time", SimpleNamespace(monotonic=clock))
    found = run(str(FOLDER / "histogram.c"), str(NAT))
    assert found.report["traffic"]["packets"] == 7
    assert found.report["traffic"]["more"]
    assert found.report["notes"][-1] == "the run stopped at --deadline, before the end of the trace"
    same = counted(FOLDER / "histogram.c", NAT, "--packets", "7")
    assert found.report["structures"] == same["structures"]
    assert found.report["blocks"] == same["blocks"]
