"""Compares instruction counts by basic block with the listing of the whole program.

The BPF instructions are compared with clang's object.
"""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from insights_counted import error_of
from slowpath.core.engine import objects
from slowpath.core.jobs import Stopping
from slowpath.core.programs.clang import compile_c
from slowpath.core.programs.sources import Clang
from slowpath.insights.blocks.backend import BpfInstruction, layout, slots_of
from slowpath.insights.blocks.report import blocks_text
from slowpath.insights.source.bpf_steps import compile_to_ir, lowered
from support import GOLDEN, ROOT, check_golden, remembered, slowpath

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")
EXAMPLES = sorted(
    path.relative_to(ROOT)
    for folder in ("examples", "examples/chain")
    for path in (ROOT / folder).glob("*.bpf.c")
)


def predicted(file: Path | str, *options: str) -> dict[str, Any]:
    """Run `slowpath insights blocks` on a file, and return the JSON report."""
    words = ("insights", "blocks", file, "--format", "json", *options)
    read: dict[str, Any] = json.loads(remembered(*words))
    return read


def instructions_of(file: str, data: bytes) -> list[str]:
    """Return the instructions of an object's program as text."""
    view = objects.View([0], None, listing=True, deadline_seconds=60, memory_bytes=None)
    shown = json.loads(objects.show(file, objects.read_object(file, data), view, Stopping()).text)
    return [one["text"] for one in shown["programs"][0]["listing"]]


def blocks_of(program: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for function in program["functions"] for block in function["blocks"]]


@pytest.mark.parametrize("file", EXAMPLES, ids=str)
def test_blocks_add_up_to_the_listing(file: Path) -> None:
    """Check that the counts of all blocks add up to the listing that `slowpath compile` writes."""
    [program] = predicted(file)["programs"]
    blocks = blocks_of(program)
    made = slowpath("compile", file, "--map-abi", "call", "--format", "json")
    assert (made.returncode == 0) == (program["total"] is not None), made.stderr
    if program["total"] is None:
        assert any(block["refused"] for block in blocks)
        return
    listing = json.loads(made.stdout)
    assert program["total"] == len(listing["instructions"])
    framework = sum(block["call_instructions"] for block in blocks)
    assert program["instructions"] + framework + program["around"] == program["total"]
    memory = [one["text"] for one in listing["instructions"] if one["text"].startswith("mem[")]
    accesses = Counter[str]()
    for block in blocks:
        accesses.update(block["accesses"])
    assert accesses["packet"] + accesses["state"] == len(memory)
    assert accesses["state"] == sum("<<8" in text for text in memory)
    called = sum(one["text"].startswith("call bpf_") for one in listing["bpf"])
    assert sum(call["times"] for block in blocks for call in block["calls"]) == called
    assert sum(block["bpf"] for block in blocks) == len(listing["bpf"])


def test_separate_steps_make_the_object_of_clang() -> None:
    for name in ("flow_monitor", "header_parser", "tunnel"):
        file = str(ROOT / f"examples/{name}.bpf.c")
        clang = Clang()
        stepwise = lowered(file, compile_to_ir(file, clang), clang)
        instructions = [
            instructions_of(file, data) for data in (stepwise.object, compile_c(file, clang))
        ]
        assert instructions[0] == instructions[1] != []


def test_variables_may_have_names_of_unnamed_values(tmp_path: Path) -> None:
    source = tmp_path / "n.bpf.c"
    source.write_text(
        "#include <linux/bpf.h>\n"
        '__attribute__((section("xdp"))) int f(struct xdp_md *x) {\n'
        "  unsigned char *at = (void *)(long)x->data, *end = (void *)(long)x->data_end;\n"
        "  short n = 0;\n"
        "  for (int i = 0; i < 40 && at + i + 1 <= end; i++)\n"
        "    if (at[i] & 1) n++; else if (at[i] & 2) n += 3;\n"
        "  return n;\n"
        "}\n"
    )
    [program] = predicted(source)["programs"]
    assert program["model"] == "exact"
    assert program["total"] is not None


def test_unsupported_operations_do_not_change_other_blocks(tmp_path: Path) -> None:
    """Check that an unsupported operation does not change the counts of other basic blocks."""
    source = """
        #include <linux/bpf.h>
        #include <bpf/bpf_helpers.h>
        struct { __uint(type, BPF_MAP_TYPE_%s); __type(key, __u32); __type(value, __u64);
                 __uint(max_entries, 64); } counts SEC(".maps");
        SEC("xdp") int count(struct xdp_md *ctx) {
            __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
            if (data + 60 > end)
                return XDP_ABORTED;
            __u32 key = data[23];
            __u64 *found = bpf_map_lookup_elem(&counts, &key);
            if (found)
                %s;
            return data[30] == 7 ? XDP_DROP : XDP_PASS;
        }
        char _license[] SEC("license") = "GPL";
    """
    rows = {}
    for kind, statement in (("HASH", "__sync_fetch_and_add(found, 1)"), ("LRU_HASH", "*found = 1")):
        file = tmp_path / f"{kind}.bpf.c"
        file.write_text(source % (kind, statement))
        [program] = predicted(file)["programs"]
        rows[kind] = {block["name"]: block for block in blocks_of(program)}
    assert rows["HASH"].keys() == rows["LRU_HASH"].keys()
    differ = [
        name
        for name in rows["HASH"]
        if rows["HASH"][name]["instructions"] != rows["LRU_HASH"][name]["instructions"]
    ]
    [look_up, store] = [name for name in rows["LRU_HASH"] if rows["LRU_HASH"][name]["refused"]]
    assert rows["LRU_HASH"][look_up]["refused"] == [
        {"what": "the map counts of type lru_hash is counted as hash", "times": 1}
    ]
    assert set(differ) <= {store}
    assert rows["LRU_HASH"][store]["refused"] == [
        {"what": "a write to an element of a map", "times": 1},
    ]
    assert rows["LRU_HASH"][store]["accesses"] == {"packet": 0, "state": 1, "unknown": 0}
    assert rows["HASH"][store]["accesses"] == {"packet": 0, "state": 1, "unknown": 0}


GLOBALS = """
    #include <linux/bpf.h>
    #include <bpf/bpf_helpers.h>
    __u32 total, table[64];
    SEC("xdp") int count(struct xdp_md *ctx) {
        __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
        if (data + 120 > end)
            return XDP_ABORTED;
        total += data[12];
        %s
        return table[data[14] & 63] > 9 ? XDP_DROP : XDP_PASS;
    }
    char _license[] SEC("license") = "GPL";
"""


def test_accesses_to_global_variables_are_named(tmp_path: Path) -> None:
    """Check that accesses to global variables count as state, although the card has no globals.

    Placeholders for the addresses of variables must not change the kinds of accesses.
    """
    file = tmp_path / "globals.bpf.c"
    file.write_text(GLOBALS % "table[data[13] & 63]++;")
    [program] = predicted(file)["programs"]
    blocks = blocks_of(program)
    assert {each["what"] for one in blocks for each in one["refused"]} == {
        "a global variable: the card has no global data"
    }
    accesses = Counter[str]()
    for block in blocks:
        accesses.update(block["accesses"])
    assert (accesses["state"], accesses["unknown"]) == (5, 0)
    assert accesses["packet"] >= 1


def test_accesses_through_merged_pointers_are_classified() -> None:
    """Check that an access through a pointer into one of two maps counts as state.

    The block reads six bytes at once.
    """
    [program] = predicted(Path("examples/quic_lb.bpf.c"))["programs"]
    rows = {block["name"]: block for block in blocks_of(program)}
    block = rows["if.end73"]
    assert [one["times"] for one in block["refused"]] == [2]
    assert block["accesses"] == {"packet": 8, "state": 2, "unknown": 0}


def test_stand_ins_leave_all_blocks_reachable() -> None:
    """Check that placeholders for unsupported operations do not make any block unreachable.

    The code generator does not know their values, so it cannot decide a branch by them.
    """
    for name in ("tunnel", "flow_monitor", "ddos_filter", "dns_cache"):
        [program] = predicted(f"examples/{name}.bpf.c")["programs"]
        for block in blocks_of(program):
            nothing = not block["instructions"] and not block["call_instructions"]
            assert not (block["bpf"] and nothing and not block["refused"]), (name, block["name"])


def test_lines_exist_in_the_source() -> None:
    [program] = predicted("examples/count_min.bpf.c")["programs"]
    lines = (ROOT / "examples/count_min.bpf.c").read_text().splitlines()
    [function] = program["functions"]
    assert "count_min" in lines[function["line"] - 1]
    for block in function["blocks"]:
        if block["file"].endswith("count_min.bpf.c"):
            assert lines[block["line"] - 1].strip()


def test_csv_agrees_with_json() -> None:
    run = slowpath("insights", "blocks", "examples/chain/counter.bpf.c", "--format", "csv")
    rows = list(csv.DictReader(run.stdout.splitlines()))
    blocks = blocks_of(predicted("examples/chain/counter.bpf.c")["programs"][0])
    assert [row["block"] for row in rows] == [block["name"] for block in blocks]
    assert [int(row["instructions"]) for row in rows] == [one["instructions"] for one in blocks]
    assert [row["refused"] for row in rows if row["refused"]] == [
        "the map counts of type percpu_array is counted as array",
        "a write to an element of a map x 2",
    ]


def test_wrong_input_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.bpf.c"
    broken.write_text("#include <linux/bpf.h>\nint f(void) { return x; }\n")
    assert "broken.bpf.c:2" in error_of("insights", "blocks", broken)
    words = ("insights", "blocks", "examples/count_min.bpf.c")
    assert "a program 'other'; its programs are count_min;" in error_of(*words, "--entry", "other")


def test_inline_assembly_counts_for_its_block(tmp_path: Path) -> None:
    file = tmp_path / "assembly.bpf.c"
    file.write_text(
        '__attribute__((section("xdp"), used)) int f(void *ctx)\n'
        '{ long r; asm volatile("%0 = 1; r2 = 3" : "=r"(r) : : "r2"); return r; }\n'
    )
    [program] = predicted(file)["programs"]
    [block] = blocks_of(program)
    assert block["bpf"] == 3
    assert program["total"] == program["around"] + block["instructions"]


def test_report() -> None:
    report = json.loads((GOLDEN / "insights_blocks.json").read_text())
    lines = "".join(f"{line.text}\n" for line in blocks_text(report))
    check_golden(GOLDEN / "insights_blocks.txt", lines)


ASSEMBLER = """
main:                                   # @main
.Lfunc_begin0:
# %bb.0:                                # %entry
\t.loc\t0 1 2
\tr1 = map ll
\tr2 = third ll
\tcall 1
\tif r0 == 0 goto LBB0_2
# %bb.1:                                # %if.then
\tcall second
LBB0_2:                                 # %if.end
\t#DEBUG_VALUE: x <- 1
\tcall first
\texit
.Lfunc_end0:
first:                                  # @first
# %bb.0:
                                        #   in Loop: Header=BB0_1 Depth=1
\texit
.Lfunc_end1:
second:                                 # @second
# %bb.0:                                # %entry
\tcall third
\texit
.Lfunc_end2:
third:                                  # @third
# %bb.0:                                # %entry
\texit
"""


def test_layout_of_assembler() -> None:
    functions = layout(ASSEMBLER)
    assert functions["main"] == [
        BpfInstruction("entry", 2, "map"),
        BpfInstruction("entry", 2, "third"),
        BpfInstruction("entry", 1, None),
        BpfInstruction("entry", 1, None),
        BpfInstruction("if.then", 1, "second"),
        BpfInstruction("if.end", 1, "first"),
        BpfInstruction("if.end", 1, None),
    ]
    assert functions["first"] == [BpfInstruction("", 1, None)]
    slots = [(name, slot) for name, slot, _ in slots_of(functions)]
    assert slots[:4] == [("main", 0), ("main", 2), ("main", 4), ("main", 5)]
