"""Compares the BPF code that llvmlite generates from LLVM IR with the code of clang.

Also tests functions that LLVM's BPF back end rejects.
"""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compiler import needs_clang
from insights_counted import error_of
from slowpath.core.errors import StoppedError
from slowpath.core.programs.sources import Clang
from slowpath.insights.blocks import backend
from slowpath.insights.blocks.backend import assembler, layout
from slowpath.insights.blocks.lowering import (
    Described,
    Machine,
    Prepared,
    described,
    legal,
    lower,
    machine_of,
)
from slowpath.insights.blocks.predicted import NOTHING, Costs, TreeModel, shipped_tree
from slowpath.insights.source.bpf_steps import compile_to_ir, lowered
from support import ROOT
from test_insights_blocks import blocks_of, predicted

llvm = pytest.importorskip("llvmlite.binding")
HEAD = 'target datalayout = "e-m:e-p:64:64-i64:64-i128:128-n32:64-S128"\ntarget triple = "bpf"\n'
GOOD = "define i32 @good(i32 %x) {\nentry:\n  %y = add i32 %x, 7\n  ret i32 %y\n}\n"
FLOATS = "define double @bad(double %x) {\nentry:\n  %y = fadd double %x, 1.5\n  ret double %y\n}\n"
MANY = """
declare i32 @other(i32, i32, i32, i32, i32, i32, i32)
define i32 @many(i32 %a, i32 %b, i32 %c, i32 %d, i32 %e, i32 %f, ptr %g) {
entry:
  %h = load i32, ptr %g, align 4
  %x = call i32 @other(i32 %a, i32 %b, i32 %c, i32 %d, i32 %e, i32 %f, i32 %h)
  ret i32 %x
}
"""


def learnt(file: Path | str, *options: str) -> dict[str, Any]:
    """Return the learnt model's prediction for the only program in a source."""
    [program] = predicted(file, "--model", "learnt", *options)["programs"]
    assert program["model"] == "learnt"
    for block in blocks_of(program):
        assert 0 <= block["low"] <= block["instructions"] <= block["high"]
    return dict(program)


def operations(machine: Machine, function: str) -> list[str]:
    """Return the first token of each BPF instruction in a function, which names the operation."""
    [(name, rows)] = described(machine, function, [], {})
    assert name == function
    return [one.words[0] for one in rows]


@pytest.mark.parametrize("name", ["alaw2ulaw", "chain/counter", "count_min", "flow_monitor"])
def test_both_back_ends_nearly_agree(name: str) -> None:
    """Check that blocks have nearly equal sizes in the BPF code of llvmlite and of clang.

    The versions of LLVM may differ; at most one instruction in fifty is in another block.
    """
    needs_clang()
    file = str(ROOT / f"examples/{name}.bpf.c")
    text = compile_to_ir(file, Clang())
    ours = lower(file, Prepared(text, for_bpf=True)).functions
    theirs = layout(lowered(file, text, Clang()).assembler)
    assert ours.keys() == theirs.keys()
    total = differ = 0
    for function in theirs:
        one, other = (Counter(at.block for at in made[function]) for made in (theirs, ours))
        total += one.total()
        differ += sum(abs(one[block] - other[block]) for block in one | other)
    assert differ <= total / 50


def test_functions_that_the_back_end_refuses_are_omitted() -> None:
    made = assembler("x.c", HEAD + GOOD + FLOATS)
    assert set(made.refused) == {"bad"}
    assert made.refused["bad"]
    assert operations(machine_of("x.c", HEAD + GOOD, made), "good") == ["move", "+", "exit"]
    assert lower("x.c", Prepared(HEAD + GOOD + FLOATS, for_bpf=True)).functions.keys() == {"good"}


def test_invalid_text_refuses_all_functions() -> None:
    made = assembler("x.c", f"{HEAD}{GOOD}nonsense\n")
    assert set(made.refused) == {"good"}


def test_lowering_stops_at_its_deadline() -> None:
    with pytest.raises(StoppedError):
        assembler("x.c", HEAD + GOOD, time.monotonic() - 1)


def test_calls_and_functions_with_many_parameters() -> None:
    text = legal(HEAD + MANY)
    assert "@other(i32 %a, i32 %b, i32 %c, i32 %d, i32 %e)\n" in text
    llvm.parse_assembly(text).verify()
    made = assembler("x.c", text)
    assert not made.refused
    assert operations(machine_of("x.c", text, made), "many").count("call") == 1


def test_copies_of_unknown_length_are_calls() -> None:
    text = HEAD + (
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
        "define void @copy(ptr %a, ptr %b, i64 %n) {\nentry:\n"
        "  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %a, ptr align 1 %b, i64 %n, i1 false)\n"
        "  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %a, ptr align 8 %b, i64 16, i1 false)\n"
        "  ret void\n}\n"
    )
    machine = lower("x.c", Prepared(text, for_bpf=False))
    kinds = operations(machine, "copy")
    assert (kinds.count("call"), kinds.count("load"), kinds.count("store")) == (1, 2, 2)


def test_the_tree_uses_the_longest_known_context() -> None:
    tree = TreeModel(
        {
            "nodes": {"load": [3, 0, 0, 1], "load / packet": [2, 1, 0, 0], "+": [1, 0, 0, 0]},
            "errors": [[4, 0.5, 2.0], [1e9, 0.9, 1.1]],
        }
    )
    assert tree.taken(["load", "packet", "never"]) == Costs(2, 1, 0, 0)
    assert tree.taken(["load", "element"]) == Costs(3, 0, 0, 1)
    assert tree.taken(["nothing"]) == NOTHING
    inside = [
        Described("b", ("load", "element"), 2, "element"),
        Described("b", ("load", "x"), 0, "unknown"),
        Described("b", ("+", "64"), 0, ""),
    ]
    assert tree.block(inside) == Costs(9, 0, 1, 1)
    assert tree.interval(2) == (2, 1, 4)
    assert tree.interval(10) == pytest.approx((10, 9, 11))


def test_shipped_tree_is_small_and_predicts_no_negative_cost() -> None:
    file = ROOT / "python/slowpath/insights/models/tree.json"
    assert file.stat().st_size < 1 << 18
    saved = json.loads(file.read_text())
    assert all(
        min(taken) >= 0 or words.startswith("copy") for words, taken in saved["nodes"].items()
    )
    tree = shipped_tree()
    assert tree.taken(["move", "register 64"]).instructions == 2
    assert tree.taken(["load", "packet", "shared", "32", "0", "bare"]) == Costs(1, 0, 0, 0)
    for bits in ("32", "64"):  # narrow factors cost the same in both widths
        assert tree.taken(["*", "half", bits, "register"]).instructions == 4
        assert tree.taken(["*", "word", bits, "register"]).instructions == 7


def test_plain_c_is_predicted() -> None:
    needs_clang()
    program = learnt("tests/advice/filter.c", "--entry", "process")
    assert all(b["bpf"] for one in program["functions"] for b in one["blocks"])
    [exact] = predicted("tests/advice/filter.c", "--entry", "process")["programs"]
    assert exact["model"] == "exact"
    accesses = [
        {b["name"]: b["accesses"] for one in each["functions"] for b in one["blocks"]}
        for each in (program, exact)
    ]
    assert accesses[0] == accesses[1]
    assert sum(one["state"] for one in accesses[0].values()) > 4


def test_functions_that_the_back_end_refuses_are_predicted_from_words(tmp_path: Path) -> None:
    needs_clang()
    file = tmp_path / "mean.c"
    file.write_text(
        "struct flow { double mean; unsigned packets; };\n"
        "__attribute__((noinline)) void add(struct flow *flow, double bytes) {\n"
        "  flow->mean += (bytes - flow->mean) / 16; }\n"
        "int f(struct flow *flow, const unsigned char *data, unsigned length) {\n"
        "  flow->packets++; add(flow, length); return data[12] == 8; }\n"
    )
    program = learnt(file, "--entry", "f")
    by_name = {one["name"]: one["blocks"] for one in program["functions"]}
    assert all(one["bpf"] is None for one in by_name["add"])
    assert all(one["instructions"] > 0 for one in by_name["add"])


def test_llvms_own_files_are_predicted(tmp_path: Path) -> None:
    file = tmp_path / "x.ll"
    for text in (GOOD, HEAD + GOOD):
        file.write_text(text)
        program = learnt(file, "--entry", "good")
        [block] = program["functions"][0]["blocks"]
        assert block["bpf"] == 3
    file.write_text(f"{HEAD}define nonsense")
    assert "x.ll:3:" in error_of("insights", "blocks", file, "--model", "learnt")
    assert block["instructions"] == pytest.approx(5, abs=1.5)


def test_refused_functions_are_found_without_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that functions that LLVM rejects are found without the help of its messages.

    In this case, each function is compiled separately.
    """
    attempt = backend._attempt

    def silent(text: str, file: str, until: float | None) -> tuple[tuple[str, bytes] | None, str]:
        return attempt(text, file, until)[0], ""

    monkeypatch.setattr(backend, "_attempt", silent)
    made = assembler("x.c", HEAD + GOOD + FLOATS)
    assert set(made.refused) == {"bad"}
    assert made.refused["bad"].startswith("LLVM's BPF back end")
    monkeypatch.setattr(backend, "_ALL_SECONDS", 0.0)
    made = assembler("x.c", HEAD + GOOD + FLOATS)
    assert set(made.refused) == {"good", "bad"}
