"""Tests `bench/llvm_mca.py`, which compares estimates with LLVM's llvm-mca."""

import json

import llvm_mca
import pytest
from llvm_mca import parts, regions, separate, separated, totals

MEANING = {
    "aa": ["pushq %rbp", "movq %rsp, %rbp"],
    "bb": ["lock", "addq %rdi, 8(%rax)"],
    "cc": ["callq 64"],
    "dd": ["leave", "jmp -12"],
}


def test_pieces_are_told_from_each_other() -> None:
    given = separate(["c9", "4801f8"])
    assert given == "0xc9 0xf4\n0x48 0x01 0xf8 0xf4"
    written = """\t.text
\tleave
\thlt
\taddq\t%rdi, %rax                      # encoding
\tmovabsq\t$-5, %rdi           # imm = 0xFF
\thlt
"""
    assert separated(written) == [["leave"], ["addq %rdi, %rax", "movabsq $-5, %rdi"]]


def test_a_path_is_cut_where_calls_are() -> None:
    found = parts(["aa", None, None, "bb", "cc", "dd", ""], MEANING)
    assert found == [
        ("pushq %rbp", "movq %rsp, %rbp"),
        ("addq %rdi, 8(%rax)",),
        ("leave", "jmp -12"),
    ]
    assert parts([None, ""], MEANING) == []


def test_what_is_told_is_read_by_its_number() -> None:
    text = regions([("nop",), ("leave", "jmp -12")])
    assert text.splitlines()[4:] == ["leave", "jmp -12", "# LLVM-MCA-END"]
    output = [{"Name": str(n), "SummaryView": {"TotalCycles": 10 + n}} for n in (1, 0)]
    assert totals(json.dumps({"CodeRegions": output}), 2) == [10, 11]


def needs_llvm_mca() -> None:
    """Skip the test if llvm-mca is not installed. The reason names the package to install."""
    try:
        llvm_mca.tool("llvm-mca")
    except llvm_mca.MissingError as missing:
        pytest.skip(str(missing))


def test_a_chain_waits_and_a_row_does_not() -> None:
    needs_llvm_mca()
    chain, row = "480fafff", "480faff7"  # imulq %rdi, %rdi; imulq %rdi, %rsi
    waiting, call, neither = llvm_mca.cycles(
        [[chain] * 60, [chain] * 30 + [None] + [chain] * 30, ["89f8"] * 60], "znver4"
    )
    assert waiting.whole.latency >= 3 * 60
    assert waiting.parts == [waiting.whole]
    assert call.whole == waiting.whole
    first, second = call.parts
    assert first == second
    assert first.latency + second.latency > waiting.whole.latency, "each part begins anew"
    assert neither.whole.latency < waiting.whole.latency / 4
    [independent] = llvm_mca.cycles([["4889fe", row] * 30], "znver4")
    assert independent.whole.latency < waiting.whole.latency / 4
    assert waiting.whole.throughput < waiting.whole.latency / 2, "turns overlap"


def test_nothing_takes_nothing() -> None:
    needs_llvm_mca()
    nothing = llvm_mca.PathCycles(llvm_mca.Cycles(0, 0), [])
    assert llvm_mca.cycles([[None]], "znver4") == [nothing]
