"""Tests that plain C functions and Click elements are counted, after wrapping as BPF programs."""

import os
import re
import subprocess
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

from compiler import accepted_compilers, needs_clang
from insights_counted import EXAMPLES, error_of, fewer_unless_campaign
from slowpath.core.errors import StoppedError
from slowpath.core.jobs import Stopping
from slowpath.core.programs.sources import Clang
from slowpath.insights.blocks import run as blocks_run
from slowpath.insights.blocks.documents import Question
from slowpath.insights.blocks.report import blocks_text
from slowpath.insights.source.unit import UnitWorker
from support import CAMPAIGN, slowpath
from test_insights_blocks import blocks_of, predicted

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")
ELEMENTS = fewer_unless_campaign(("nat", "udp_counter", "dns_proxy", "web_generator"), 2)
"""Names of examples in the manner of Click."""
HEADERS = """
    #include <linux/bpf.h>
    #include <linux/types.h>
"""
BODY = """
    __u32 sum = 0;
    if (data + 42 > data_end)
        return 1;
    if (data[12] != 8 || data[13] != 0)
        return 2;
    for (int at = 14; at < 34; at += 2)
        sum += data[at] << 8 | data[at + 1];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    if (sum != 0xffff)
        return 1;
    if (data[23] == 17 && data[36] == 0)
        data[22]--;
    return data[23] == 6 ? 2 : 3;
"""


def test_a_function_costs_as_much_as_its_twin_program(tmp_path: Path) -> None:
    program, plain = tmp_path / "twin.bpf.c", tmp_path / "twin.c"
    program.write_text(
        f'{HEADERS}\n__attribute__((section("xdp"), used)) int f(struct xdp_md *ctx) {{\n'
        "    unsigned char *data = (void *)(long)ctx->data;\n"
        f"    unsigned char *data_end = (void *)(long)ctx->data_end;\n{BODY}}}\n"
    )
    plain.write_text(
        "#include <stdint.h>\ntypedef uint32_t __u32;\n"
        f"int f(unsigned char *data, unsigned char *data_end) {{\n{BODY}}}\n"
    )
    [one], [other] = predicted(program)["programs"], predicted(plain)["programs"]
    assert other["model"] == "exact"
    first, *rest = blocks_of(one)
    entry, *body = blocks_of(other)

    def taken(blocks: list[dict[str, Any]]) -> list[tuple[object, ...]]:
        return [
            (re.sub(r"\d+", "", one["name"]), one["instructions"], one["accesses"], one["refused"])
            for one in blocks
        ]

    assert taken(body) == taken(rest)
    assert len(body) > 8
    assert entry["accesses"] == first["accesses"]
    assert entry["instructions"] <= first["instructions"]  # `first` also reads the packet's ends
    assert other["wrapper"] > 0
    framework = sum(block["call_instructions"] for block in blocks_of(other))
    assert other["instructions"] + framework + other["wrapper"] + other["around"] == other["total"]


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_are_counted(name: str) -> None:
    file = EXAMPLES / f"{name}.cc"
    [program] = predicted(file)["programs"]
    assert (program["model"], program["why"]) == ("exact", None)
    blocks = blocks_of(program)
    counted = [one for one in blocks if one["instructions"]]
    assert len(counted) > len(blocks) / 2
    lines = file.read_text().splitlines()
    here = [one for one in blocks if one["file"].endswith(f"{name}.cc")]
    assert here
    assert all(lines[one["line"] - 1].strip() for one in here)
    called = {call["what"] for one in blocks for call in one["calls"]}
    assert called & {"Packet::kill", "Element::Port::push"}
    assert sum(one["accesses"]["packet"] for one in blocks) > 0
    assert sum(one["accesses"]["state"] for one in blocks) > 0


@pytest.mark.parametrize("name", ELEMENTS)
def test_the_model_classifies_accesses_of_elements(name: str) -> None:
    """Compare the accesses to elements and packets in the learnt model with the exact counts."""
    [exact] = predicted(EXAMPLES / f"{name}.cc")["programs"]
    [learnt] = predicted(EXAMPLES / f"{name}.cc", "--model", "learnt")["programs"]
    assert exact["model"] == "exact"
    assert not any("Packet" in one["name"] for one in learnt["functions"])  # framework calls
    counted = {one["name"]: one for one in exact["functions"][0]["blocks"]}
    guessed = {one["name"]: one for one in learnt["functions"][0]["blocks"]}
    both = counted.keys() & guessed.keys()
    assert len(both) > len(guessed) / 2
    # The model predicts from BPF instructions, not from LLVM IR.
    assert all(guessed[one]["bpf"] is not None for one in both)
    sure = [one for one in both if not counted[one]["accesses"]["unknown"]]
    accesses = [(counted[one]["accesses"], guessed[one]["accesses"]) for one in sure]
    same = [one["packet"] == other["packet"] for one, other in accesses]
    assert sum(same) >= 0.9 * len(same)
    assert sum(one["state"] for one, _ in accesses) == pytest.approx(
        sum(other["state"] for _, other in accesses), rel=0.25
    )


def test_state_and_calls_of_a_plain_function_are_listed() -> None:
    [program] = predicted("tests/advice/filter.c", "--entry", "process")["programs"]
    assert program["model"] == "exact"
    reasons = {each["what"] for one in blocks_of(program) for each in one["refused"]}
    assert any("global variable" in one for one in reasons)
    assert sum(one["accesses"]["state"] for one in blocks_of(program)) > 4


def test_functions_without_packets_are_predicted_with_a_reason() -> None:
    report = predicted("tests/accelerators/crc.c")
    models = {one["entry"]: (one["model"], one["why"]) for one in report["programs"]}
    assert {model for model, _ in models.values()} == {"exact", "learnt"}
    assert all((model == "exact") == (why is None) for model, why in models.values())
    strict = predicted("tests/accelerators/crc.c", "--model", "exact")
    assert {one["entry"] for one in strict["programs"]} == {
        name for name, (model, _) in models.items() if model == "exact"
    }
    assert {one["entry"]: one["reason"] for one in strict["uncounted"]} == {
        name: why for name, (_, why) in models.items() if why is not None
    }


TWO = """
    #include <linux/bpf.h>
    #include <bpf/bpf_helpers.h>
    SEC("xdp") int fine(struct xdp_md *ctx) { return ctx->data_end - ctx->data > 60; }
    SEC("xdp") int deep(struct xdp_md *ctx) {
        volatile __u64 much[64] = {};
        much[ctx->data & 63] = 1;
        return much[(ctx->data >> 8) & 63];
    }
"""


def test_one_program_that_cannot_be_counted_does_not_end_the_others(tmp_path: Path) -> None:
    file = tmp_path / "two.bpf.c"
    file.write_text(TWO)
    report = predicted(file, "--model", "exact")
    assert [one["entry"] for one in report["programs"]] == ["fine"]
    [left] = report["uncounted"]
    assert left["entry"] == "deep"
    text = "".join(f"{line.text}\n" for line in blocks_text(report))  # type: ignore[arg-type]
    assert "Functions that were neither counted nor predicted:\n  deep: " in text
    run = slowpath("insights", "blocks", file, "--model", "exact", "--format", "csv")
    assert run.stdout.splitlines()[-1].startswith("deep,,")
    both = predicted(file)["programs"]
    assert [(one["entry"], one["model"]) for one in both] == [("fine", "exact"), ("deep", "learnt")]
    assert both[1]["why"] == left["reason"]
    error = error_of("insights", "blocks", file, "--model", "exact", "--entry", "deep")
    assert left["reason"] in error


def test_wrong_sources_are_named_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "broken.cc"
    file.write_text("#include <click/element.hh>\nint f() { return x; }\n")
    assert "broken.cc:2" in error_of("insights", "blocks", file)
    file.write_text("int f(const unsigned char *data, int length) { return data[length]; }\n")
    error = error_of("insights", "blocks", file, "--entry", "g")
    assert "does not have a function 'g'; it has f" in error


UNCOUNTED = {
    "int f(const unsigned char *data, int length) "
    "{ return data[0] * 0.5f; }": "clang cannot compile the source for BPF",
    "static int (*g)(int);\nint f(const unsigned char *data, int length)\n"
    "{ g = g ? g : (int (*)(int)) (long) length; return g(data[0]); }": "an indirect call",
    "int f(const unsigned char *data, int length)\n"
    "{ unsigned char x[length]; x[data[0]] = 1; return x[data[1]]; }": "dynamic stack allocation",
    "int f(const unsigned char *data, int length)\n"
    "{ unsigned __int128 x = *(const unsigned long long *) data; return x * x >> 90; }": "__multi3",
}


@pytest.mark.parametrize("source", UNCOUNTED, ids=list(UNCOUNTED.values()))
def test_uncountable_functions_are_predicted_with_a_reason(source: str, tmp_path: Path) -> None:
    file = tmp_path / "f.c"
    file.write_text(source)
    [program] = predicted(file)["programs"]
    assert program["model"] == "learnt"
    assert UNCOUNTED[source] in program["why"]
    assert UNCOUNTED[source] in error_of("insights", "blocks", file, "--model", "exact")


@pytest.mark.parametrize("kind", [("-S", "ll"), ("-c", "bc")], ids=lambda kind: kind[1])
def test_modules_are_counted_as_their_sources(kind: tuple[str, str], tmp_path: Path) -> None:
    """Check that LLVM IR and bitcode files have the same counts as their C source.

    Their blocks, values and parameters have numbers instead of names.
    """
    source, module = tmp_path / "hits.c", tmp_path / f"hits.{kind[1]}"
    source.write_text(
        "static unsigned hits[4];\n"
        "int process(unsigned char *data, unsigned length)\n"
        "{ if (length < 34) return 0; hits[data[20] & 3]++; return hits[0] & 1; }\n"
    )
    words = ("-O1", "-g", kind[0], "-emit-llvm", str(source), "-o", str(module))
    subprocess.run([*needs_clang(), *words], check=True)
    [one], [other] = predicted(source)["programs"], predicted(module)["programs"]
    assert other["model"] == "exact"
    assert other["instructions"] == one["instructions"]
    assert [block["accesses"] for block in blocks_of(other)] == [
        block["accesses"] for block in blocks_of(one)
    ]


NEWER = """define i32 @process(ptr %0, i32 %1) {
  %3 = icmp ult i32 %1, 20
  br i1 %3, label %7, label %4

4:
  %5 = getelementptr nuw i8, ptr %0, i64 3
  %6 = load i8, ptr %5, align 1
  %x = zext nneg i8 %6 to i32
  br label %7

7:
  %8 = phi i32 [ 0, %2 ], [ %x, %4 ]
  ret i32 %8
}
"""


def test_modules_of_newer_compilers_are_predicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that LLVM IR that is too new for the installed clang is predicted by the learnt model.

    The test uses the oldest installed clang that slowpath accepts.
    """
    file = tmp_path / "newer.ll"
    file.write_text(NEWER)
    needs_clang()
    if "CLANG" not in os.environ and (accepted := accepted_compilers()):
        monkeypatch.setenv("CLANG", accepted[-1])
    reads = [*needs_clang(), "-x", "ir", "-c", "-o", os.devnull, str(file)]
    if subprocess.run(reads, capture_output=True, check=False).returncode == 0:
        pytest.skip(
            "all compilers here read `getelementptr nuw`; a clang of 16 to 18 would not "
            "(apt install clang-16)"
        )
    [program] = predicted(file)["programs"]
    assert program["model"] == "learnt"
    assert len(blocks_of(program)) == 3
    assert re.match(r"clang: .*newer\.ll:6:\d+: error: ", program["why"])
    assert "the command" not in program["why"]
    assert predicted(file, "--model", "learnt")["programs"] == [{**program, "why": None}]
    assert "newer.ll:6" in error_of("insights", "blocks", file, "--model", "exact")


def test_a_module_that_nothing_reads_is_named(tmp_path: Path) -> None:
    file = tmp_path / "newer.ll"
    file.write_text("define i32 @process(\n")
    assert "newer.ll: clang: " in error_of("insights", "blocks", file)


LIKE_PROGRAMS = {
    "comment": '/* ported from SEC("xdp") with struct xdp_md */ // SEC("xdp")\n',
    "quotes": 'static const char *const two[] = {"/* \\" ", "*/"};\n',
    "section": 'static unsigned seen __attribute__((section("mine"), used));\n',
    "declared": "struct xdp_md;\n",
}


WAYS = ("auto", "exact", "learnt")


@pytest.mark.parametrize(
    ("above", "way"),
    list(
        product(LIKE_PROGRAMS, WAYS)
        if CAMPAIGN > 1
        else zip(LIKE_PROGRAMS, cycle(WAYS), strict=False)
    ),
)
def test_words_of_programs_do_not_make_one(above: str, way: str, tmp_path: Path) -> None:
    file = tmp_path / "plain.c"
    file.write_text(
        f"#ifdef __bpf__\n#error no BPF\n#endif\n{LIKE_PROGRAMS[above]}"
        "int f(const unsigned char *data, int length) { return length > 3 ? data[3] : 0; }\n"
    )
    [program] = predicted(file, "--model", way)["programs"]
    assert program["entry"] == "f"
    assert program["model"] == ("learnt" if way == "learnt" else "exact")


@pytest.mark.parametrize("way", fewer_unless_campaign(["auto", "learnt", "exact"], 2))
def test_programs_that_do_not_compile_are_named_with_their_lines(way: str, tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(
        "#include <linux/bpf.h>\n#ifdef __bpf__\n#error no BPF\n#endif\n"
        '__attribute__((section("xdp"), used)) int f(struct xdp_md *ctx) { return 2; }\n'
    )
    assert "program.c:3" in error_of("insights", "blocks", file, "--model", way)


@pytest.mark.parametrize("folder", ["include", "include/x/bits"])
def test_functions_are_the_source_s_wherever_it_lies(folder: str, tmp_path: Path) -> None:
    file = tmp_path / folder / "two.c"
    file.parent.mkdir(parents=True)
    (file.parent / "beside.h").write_text(
        "static inline int never(const unsigned char *data, int length) { return data[length]; }\n"
    )
    file.write_text(
        '#include <stdlib.h>\n#include "beside.h"\n'
        "int one(const unsigned char *data, int length) { return length > 3 ? data[3] : 0; }\n"
        "int two(const unsigned char *data, int length) { return length > 4 ? data[4] : 0; }\n"
    )
    for way in ("exact", "learnt"):
        programs = predicted(file, "--model", way)["programs"]
        assert {one["entry"] for one in programs} == {"one", "two"}
        assert all(one["functions"][0]["blocks"] for one in programs)


def test_inline_assembly_is_named(tmp_path: Path) -> None:
    file = tmp_path / "assembly.c"
    file.write_text(
        "int f(const unsigned char *data, int length) { int x = data[3];\n"
        '__asm__ volatile ("" : "+r"(x)); return x & 1; }\n'
        "int g(int (*asm_)(int), int x) { return asm_(x); }\n"
    )
    programs = predicted(file)["programs"]
    calls = {
        one["entry"]: [call for block in blocks_of(one) for call in block["calls"]]
        for one in programs
    }
    assert calls == {
        "f": [{"what": "inline assembly", "times": 1}],
        "g": [{"what": "through a pointer", "times": 1}],
    }


def test_without_time_for_any_program_the_command_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the error if the worker process stops at the deadline before any result."""
    monkeypatch.setattr(UnitWorker, "run", lambda *_: "total deadline")
    question = Question("f.c", None, "call", Clang(), "auto")
    with pytest.raises(StoppedError, match="deadline before a function was predicted"):
        blocks_run.examine(question, 1.0, None, Stopping())


def test_calls_without_a_body_are_listed_separately(tmp_path: Path) -> None:
    """Check that a call of an external function does not change the counts of other blocks."""
    source = """
        #include <stdint.h>
        #include <string.h>
        void meter(int port);
        static uint8_t kept[64];
        int f(const uint8_t *data, const uint8_t *data_end) {
            if (data + 40 > data_end)
                return 0;
            if (data[12] == 8) {
                %s;
            }
            return data[30] == 7;
        }
    """
    rows = []
    for call in ("meter(data[13])", "memcpy(kept, data, data[13])"):
        file = tmp_path / "f.c"
        file.write_text(source % call)
        [program] = predicted(file)["programs"]
        rows.append({one["name"]: one for one in blocks_of(program)})
    calls = [(name, one["calls"]) for row in rows for name, one in row.items() if one["calls"]]
    assert [call for _, call in calls] == [
        [{"what": "meter", "times": 1}],
        [{"what": "memcpy", "times": 1}],
    ]
    within = {name for name, _ in calls}
    same = [
        {name: one["instructions"] for name, one in row.items() if name not in within}
        for row in rows
    ]
    assert same[0].keys() == same[1].keys()
    assert len(same[0]) > 2
    assert rows[0][calls[0][0]]["call_instructions"] > 0


def test_pointers_from_calls_have_an_unknown_kind(tmp_path: Path) -> None:
    """Check that accesses through a pointer from an external function count as unsupported.

    The placeholder for the call returns a number, so the kind of the pointer is unknown.
    """
    file = tmp_path / "f.c"
    file.write_text("""
        #include <stdint.h>
        uint32_t *counter(uint32_t key);
        int f(const uint8_t *data, const uint8_t *data_end) {
            if (data + 40 > data_end)
                return 0;
            uint32_t *found = counter(data[12]);
            if (found)
                ++*found;
            return data[30] == 7;
        }
    """)
    [program] = predicted(file)["programs"]
    reasons = [each["what"] for one in blocks_of(program) for each in one["refused"]]
    assert reasons == [
        "a pointer of unknown kind: from memory, from a call, or of different kinds on different "
        "paths"
    ]


def test_an_element_that_pulls_has_the_packet(tmp_path: Path) -> None:
    file = tmp_path / "pulls.cc"
    file.write_text(
        "#include <click/config.h>\n#include <click/element.hh>\n"
        "class Pulls : public Element { public:\n"
        '  const char *class_name() const { return "Pulls"; }\n'
        "  Packet *pull(int);\n  uint64_t _seen; };\n"
        "Packet *Pulls::pull(int) {\n"
        "  Packet *p = input(0).pull();\n"
        "  if (p && p->ip_header()->ip_p == 17)\n    _seen++;\n  return p; }\n"
        "EXPORT_ELEMENT(Pulls)\n"
    )
    [program] = predicted(file, "--model", "exact")["programs"]
    blocks = blocks_of(program)
    assert [one["calls"] for one in blocks if one["calls"]] == [
        [{"what": "Element::Port::pull", "times": 1}]
    ]
    assert sum(one["accesses"]["packet"] for one in blocks) == 1
    assert {one["what"] for block in blocks for one in block["refused"]} == {
        "a write to an element of a map"
    }


def test_engine_functions_are_listed_as_calls(tmp_path: Path) -> None:
    file = tmp_path / "engine.c"
    file.write_text(
        "#include <nic/engine.h>\n"
        "int f(const unsigned char *data, int length)"
        " { return nic_engine_checksum(data, length) == 7; }\n"
    )
    [program] = predicted(file, "--model", "exact")["programs"]
    [function] = program["functions"]
    assert function["name"] == "f"
    calls = [one["calls"] for one in function["blocks"] if one["calls"]]
    assert calls == [[{"what": "nic_engine_checksum", "times": 1}]]


def test_a_function_of_the_source_is_never_an_engine(tmp_path: Path) -> None:
    named = [tmp_path / "engine.c", tmp_path / "other.c"]
    for file, name in zip(named, ("nic_engine_sum", "other_sum"), strict=True):
        file.write_text(
            f"static __attribute__((noinline)) int {name}(const unsigned char *at, int length)"
            " { int sum = 0; while (length--) sum += *at++; return sum; }\n"
            f"int f(const unsigned char *data, int length) {{ return {name}(data, length) == 7; }}"
            "\n"
        )
    [one], [other] = (predicted(file, "--model", "exact")["programs"] for file in named)
    assert [each["name"] for each in one["functions"]] == ["f", "nic_engine_sum"]
    assert [each["blocks"] for each in other["functions"]] == [
        [{**block, "file": str(named[1])} for block in each["blocks"]] for each in one["functions"]
    ]


def test_a_callee_of_main_gets_the_packets(tmp_path: Path) -> None:
    file = tmp_path / "tried.c"
    file.write_text(
        "#include <stdint.h>\n#include <stddef.h>\n"
        "int process(const uint8_t *data, size_t length) { return length > 34 ? data[23] : -1; }\n"
        "int main(void) { uint8_t packet[64] = {0}; return process(packet, 64); }\n"
    )
    [program] = predicted(file)["programs"]
    assert program["entry"] == "process"
    run = slowpath("insights", "counts", str(file), "--pcap", str(EXAMPLES / "nat.pcap"))
    assert run.returncode == 0
    assert "process receives the packets, because no other function calls it" in run.stderr


@pytest.mark.parametrize("kind", fewer_unless_campaign(["uint16_t", "uint8_t", "int16_t"], 2))
def test_a_small_result_may_be_zero(kind: str, tmp_path: Path) -> None:
    """Check that code after a test of an 8-bit or 16-bit result is not removed as unreachable.

    In BPF, callees do not extend small results, so the code must not assume that they do.
    """
    file = tmp_path / "small.c"
    file.write_text(
        "#include <stdint.h>\n#include <stddef.h>\n"
        f"__attribute__((noinline)) {kind} rest(const uint8_t *at, size_t length) {{\n"
        "  uint32_t sum = 0;\n  for (size_t i = 0; i < length; i++) sum += at[i];\n"
        "  sum = (sum & 0xffff) + (sum >> 16);\n  return ~(sum + (sum >> 16));\n}\n"
        "int f(const uint8_t *data, size_t length) {\n"
        "  if (length < 34) return 0;\n"
        "  if (rest(data, data[14] & 15)) return 1;\n"
        "  return data[23] == 17 ? 2 : 3;\n}\n"
    )
    [program] = predicted(file, "--model", "exact")["programs"]
    last = [one for one in blocks_of(program) if one["line"] == 12]
    assert sum(one["instructions"] for one in last) > 0
    assert sum(one["accesses"]["packet"] for one in last) == 1
    assert not any(one["refused"] for one in last)
