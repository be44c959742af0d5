"""Tests the learnt model of instruction counts: its tokens, predictions, and training data."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compiler import needs_clang
from insights_counted import error_of, fewer_unless_campaign
from slowpath.insights.blocks.pointers import IrModule
from slowpath.insights.blocks.predicted import AdditiveModel, group, shipped_model
from slowpath.insights.blocks.predicted import shipped_tree as grown_tree
from slowpath.insights.blocks.tokens import Describer
from slowpath.insights.source.functions import functions_of
from support import ROOT, slowpath
from test_insights_blocks import blocks_of, predicted

llvm = pytest.importorskip("llvmlite.binding")
MODULE = """
%struct.xdp_md = type { i32, i32 }
@total = global i64 0
define i32 @f(ptr %ctx) {
entry:
  %end = getelementptr inbounds %struct.xdp_md, ptr %ctx, i64 0, i32 1
  %e = load i32, ptr %end, align 4
  %ee = zext i32 %e to i64
  %last = inttoptr i64 %ee to ptr
  %d = load i32, ptr %ctx, align 4
  %dd = zext i32 %d to i64
  %data = inttoptr i64 %dd to ptr
  %far = getelementptr i8, ptr %data, i64 20
  %short = icmp ugt ptr %far, %last
  br i1 %short, label %out, label %read
read:
  %p = getelementptr i8, ptr %data, i64 12
  %a = load i16, ptr %p, align 2
  %q = getelementptr i8, ptr %data, i64 14
  %b = load i8, ptr %q, align 1
  store i8 7, ptr %q, align 1
  %c = load i8, ptr %q, align 1
  %n = load i64, ptr @total, align 8
  %m = add i64 %n, 1
  store i64 %m, ptr @total, align 8
  %x = add i16 %a, 300
  %y = xor i16 %x, %a
  %z = zext i16 %y to i32
  br label %out
out:
  %r = phi i32 [ 1, %entry ], [ %z, %read ]
  ret i32 %r
}
"""


def words_of(text: str = MODULE) -> dict[str, tuple[tuple[str, ...], int, int]]:
    """Return tokens, packet accesses and state accesses of each basic block of the function `f`."""
    module = str(llvm.parse_assembly(text))
    functions = functions_of(llvm.parse_assembly(module))
    traced = IrModule(module, functions).traced("f", ["context"])["f"]
    return {one.block: (one.words, one.packet, one.state) for one in Describer(traced).said()}


def test_words_have_kinds_of_memory_and_no_names() -> None:
    words, packet, state = words_of()["read"]
    assert (packet, state) == (
        3,
        2,
    )  # one read also fetches the next field; after a write, none does
    assert "load packet 2" in words
    assert "load packet 1 again" in words
    assert "load packet 1" in words
    assert "store packet 1 small" in words
    assert "load state 8" in words
    assert "add 16 half kept" in words  # later code needs the operand that it overwrites
    assert "xor 16 value wide" in words
    assert not any("%" in word for word in words)
    entry, packet, state = words_of()["entry"]
    assert (packet, state) == (0, 0)
    assert entry[0] == "entry"
    assert "choose 32 small" in entry
    assert entry[-1].startswith("branch icmp")


def test_names_do_not_matter() -> None:
    other = MODULE
    for name in ("end", "far", "data", "short", "last"):
        for end in " ,\n":
            other = other.replace(f"%{name}{end}", f"%other.{name}{end}")
    assert words_of(other) == words_of()


def test_weights_are_added_up() -> None:
    model = AdditiveModel(
        {
            "weights": {"add 32 value": 1.0},
            "groups": {"add": 2.0},
            "errors": [[4, 0.5, 2.0], [1e9, 0.9, 1.1]],
        }
    )
    assert model.predict(["add 32 value"]) == (1.0, 0.5, 2.0)
    guess = model.predict(["add 32 value", "add 64 small", "add 64 small", "other"])
    assert guess == pytest.approx((6.6, 6.6 * 0.9, 6.6 * 1.1))
    assert group("load packet 4 again") == "load packet"
    assert group("add 32 value") == "add"


def test_shipped_model_is_small_and_knows_words() -> None:
    file = ROOT / "python/slowpath/insights/models/additive.json"
    assert file.stat().st_size < 1 << 20
    model = shipped_model()
    assert all(weight >= 0 for weight in model.weights.values())
    guess = model.predict(words_of()["read"][0])
    assert 0 <= guess.low <= guess.instructions <= guess.high


@pytest.mark.parametrize(
    "name", fewer_unless_campaign(["ddos_filter", "dns_cache", "count_min", "chain/port_filter"], 2)
)
def test_predictions_are_near_the_counts(name: str) -> None:
    """Check that the learnt model's predictions for blocks are near the exact counts."""
    needs_clang()
    sums, accesses, by_block = {}, {}, {}
    for model in ("exact", "learnt"):
        options = () if model == "exact" else ("--model", model)
        [program] = predicted(Path(f"examples/{name}.bpf.c"), *options)["programs"]
        assert program["model"] == model
        sums[model] = program["instructions"]
        blocks = blocks_of(program)
        accesses[model] = sum(one["accesses"]["state"] for one in blocks)
        by_block[model] = {one["name"]: one["instructions"] for one in blocks}
    assert sums["learnt"] == pytest.approx(sums["exact"], rel=0.1)
    assert accesses["learnt"] == pytest.approx(accesses["exact"], rel=0.05, abs=1)
    wrong = sum(abs(by_block["learnt"].get(k, 0) - v) for k, v in by_block["exact"].items())
    assert wrong <= 0.2 * sums["exact"]


def test_plain_functions_are_predicted(tmp_path: Path) -> None:
    needs_clang()
    file = tmp_path / "plain.c"
    file.write_text(
        "struct flow { unsigned packets, bytes; };\n"
        "int f(struct flow *flow, const unsigned char *data, unsigned length) {\n"
        "  flow->packets++; flow->bytes += length;\n"
        "  return data[12] == 8; }\n"
    )
    [program] = predicted(file, "--model", "learnt")["programs"]
    [block] = program["functions"][0]["blocks"]
    assert block["accesses"] == {"packet": 1, "state": 4, "unknown": 0}
    assert block["low"] <= block["instructions"] <= block["high"]
    run = slowpath("insights", "blocks", file)
    assert run.returncode == 0, run.stderr
    assert "(predicted by a learnt model)\n  not counted: " in run.stdout
    error = error_of("insights", "blocks", file, "--model", "exact")
    assert "parameter 2 (data) of f is neither a packet nor a length" in error


def pairs(file: str, folder: Path) -> list[list[Any]]:
    """Return the training data for a source: blocks and instructions, with their counts."""
    needs_clang()
    manifest, out = folder / "manifest.json", folder / "pairs.jsonl"
    manifest.write_text(json.dumps([{"name": "it", "file": file, "flags": []}]))
    words = ["bench/insights_blocks.py", "pairs", str(out), "--manifest", str(manifest)]
    run = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_variables_and_calls_are_predicted_exactly(tmp_path: Path) -> None:
    """Check that predictions for variables and calls follow the code generator's rules exactly."""
    file = tmp_path / "deep.bpf.c"
    kinds = ("bytes", "halves", "words", "longs")
    places = [f"d.{kind}[{at}]" for kind in kinds for at in (0, 3, 7, 11)]
    file.write_text(f"""
        #include <linux/bpf.h>
        #include <bpf/bpf_helpers.h>
        struct deep {{ __u8 bytes[37]; __u16 halves[13]; __u32 words[12]; __u64 longs[12]; }};
        static __attribute__((noinline)) __u64 mix(volatile struct deep *d, __u32 x) {{
            d->longs[3] += x; d->words[7] ^= x; d->halves[11] += 3; d->bytes[11] |= 1;
            return d->longs[11] + d->halves[3];
        }}
        static __attribute__((noinline)) __u32 twice(__u32 x) {{ return x * 2 + 5; }}
        SEC("xdp") int f(struct xdp_md *ctx) {{
            __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
            if (data + 64 > end)
                return XDP_ABORTED;
            volatile struct deep d;
            {" ".join(f"{one} = data[{at}];" for at, one in enumerate(places))}
            __u64 sum = mix(&d, data[40]) + {" + ".join(places)};
            return twice(sum) & 1 ? XDP_DROP : XDP_PASS;
        }}
        char _license[] SEC("license") = "GPL";
    """)
    rows = [row for row in pairs(str(file), tmp_path) if row[1] == "instruction"]
    predicted_by_rule = [
        (words, pieces, taken)
        for _, _, _, words, pieces, _, taken, *_, refused in rows
        if words in (["load", "stack"], ["store", "stack"], ["call", "own"]) and not refused
    ]
    assert [one for one in predicted_by_rule if one[1] != one[2]] == []
    assert len(predicted_by_rule) > 2 * len(places)
    assert {pieces for _, pieces, _ in predicted_by_rule} >= {1, 2, 3, 6, 7, 11}


def test_refusals_of_the_card_are_predicted(tmp_path: Path) -> None:
    """Check that the learnt model predicts rejected accesses and the cost of multiplications.

    It uses the code generator's rules for both.
    """
    file = tmp_path / "refused.bpf.c"
    file.write_text("""
        #include <linux/bpf.h>
        #include <bpf/bpf_helpers.h>
        struct entry { __u64 wide; __u32 word; __u16 half; };
        #define MAP(name) struct { __uint(type, BPF_MAP_TYPE_HASH); __type(key, __u32); \\
            __type(value, struct entry); __uint(max_entries, 64); } name SEC(".maps")
        MAP(one); MAP(other);
        struct odd { __u8 pad[1], bytes[64]; __u16 halves[8]; };
        static __attribute__((noinline)) __u32 far(volatile struct odd *o) {
            return o->bytes[3] + o->bytes[5] + o->halves[1] + o->bytes[63];
        }
        SEC("xdp") int f(struct xdp_md *ctx) {
            __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
            if (data + 64 > end)
                return XDP_ABORTED;
            __u32 key = data[1], second = data[2];
            struct entry *a = bpf_map_lookup_elem(&one, &key), *b = a;
            if (data[3] > 7)
                b = bpf_map_lookup_elem(&other, &second);
            if (!a || !b)
                return XDP_DROP;
            volatile struct odd odd = {};
            __u64 sum = (__u64)data[6] * data[7] + (__u64)b->word * data[9];
            __sync_fetch_and_add(&a->wide, end - data);
            return far(&odd) + b->half + sum > 77 ? XDP_DROP : XDP_PASS;
        }
        char _license[] SEC("license") = "GPL";
    """)
    rows = [row[2:] for row in pairs(str(file), tmp_path) if row[1] == "instruction"]
    tree = grown_tree().taken
    seen = Counter[str]()
    for _, words, pieces, pointee, taken, *accesses, refused in rows:
        guess = tree(words)
        seen["refused" if refused else " ".join(words[:2])] += 1
        if not refused and (words[0] in ("*", "atomic") or words[1:] == ["stack"]):
            assert guess.instructions + pieces == taken, words
        elif refused and words[0] in ("load", "store"):
            assert (guess.instructions, pieces) == (0, 0), words
            assert (pointee == "stack") == (accesses == [0, 0, 0]), words
    assert seen["refused"] == 3
    assert seen["load stack"] >= 4
    assert seen["* half"] == 1


def test_labels_add_up_to_the_counts(tmp_path: Path) -> None:
    """Check that training labels add up to the program's count, for instructions and for blocks."""
    file = "examples/flow_monitor.bpf.c"
    rows = pairs(file, tmp_path)
    [program] = predicted(Path(file))["programs"]
    assert {row[1] for row in rows} == {"block", "instruction"}
    for kind in ("block", "instruction"):  # column 6 is the label
        assert sum(row[6] for row in rows if row[1] == kind) == program["instructions"]


def test_predictions_have_the_same_order_in_every_process() -> None:
    needs_clang()
    source = str(ROOT / "examples/insights/web_generator.cc")
    words = ["insights", "blocks", source, "--model", "learnt", "--format", "json"]

    def report_with(seed: str) -> Any:
        run = subprocess.run(
            [sys.executable, "-m", "slowpath", *words],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        return json.loads(run.stdout)

    first, *others = map(report_with, ("1", "2"))
    assert len(first["programs"][0]["functions"]) > 5
    assert others == [first]
