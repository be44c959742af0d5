"""Tests XDP programs with iterators, maps in maps, bloom filters, and nested tail calls."""

import re
from collections import Counter
from pathlib import Path

import pytest

from insights_counted import counted, error_of, reported, structures, trace
from insights_xdp import HERE, orders, ran
from running_kernel import needs_kernel
from slowpath.core.engine import MapsFile
from slowpath.core.programs.clang import compile_c
from slowpath.core.programs.sources import Clang
from slowpath.insights.accelerators.proofs.harness import noise_of
from support import slowpath
from test_insights_blocks import blocks_of, predicted
from xdp_compared import compare
from xdp_kernel import loads

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")
HEAD = "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
JUMPS = (
    "struct { __uint(type, 3); __uint(max_entries, 4); __uint(key_size, 4);\n"
    '\t__array(values, int(void *)); } jumps SEC(".maps") = { .values = {\n'
    "\t[0] = (void *)&behind, [2] = (void *)&last } };\n"
)
OUTER = (
    "struct inner { __uint(type, 2); __uint(max_entries, 4); __uint(key_size, 4);"
    " __uint(value_size, 4); };\n"
    "struct { __uint(type, 12); __uint(max_entries, 4); __uint(key_size, 4);"
    ' __array(values, struct inner); } outer SEC(".maps");\n'
)
OTHER = (
    "struct { __uint(type, 2); __uint(max_entries, 8); __uint(key_size, 4);"
    ' __uint(value_size, 4); } held SEC(".maps");\n'
)
FILTERS = HERE / "filters.toml"


def test_open_coded_iterators_behave_as_in_the_kernel(tmp_path: Path) -> None:
    answers = compare(HERE / "turns.bpf.c", orders(400, 21), tmp_path)
    assert {one.result for one in answers} >= {1, 3}
    codes = {one.packet[28] for one in answers if len(one.packet) >= 40}
    assert codes == {0, 256 - 7, 256 - 22}  # success, too many iterations, end before start


def test_loops_by_iterators_are_counted_for_the_card(tmp_path: Path) -> None:
    """Check the counts of loops with `bpf_iter_num_next`, a function that the card lacks.

    The calls are reported as unsupported; the code around them is counted.
    """
    file = trace(tmp_path, orders(100, 21))
    report = reported(HERE / "turns.bpf.c", "--pcap", file)
    assert report["traffic"]["unit"] == "instructions of the card"
    text = (HERE / "turns.bpf.c").read_text().splitlines()
    inside = next(at for at, one in enumerate(text, 1) if "sum * 31" in one)
    lines = {one["line"]: one["instructions_per_packet"] for one in report["lines"]}
    assert lines[inside] > 0
    [program] = predicted(HERE / "turns.bpf.c")["programs"]
    blocks = blocks_of(program)
    lacks = {one["what"] for block in blocks for one in block["refused"]}
    for name in ("new", "next", "destroy"):
        assert f"bpf_iter_num_{name}, which the card does not have" in lacks
    calls = Counter(one["what"] for block in blocks for one in block["calls"])
    assert calls["bpf_iter_num_next"] >= 3


def test_maps_of_maps_behave_as_in_the_kernel(tmp_path: Path) -> None:
    source, packets = HERE / "nested.bpf.c", orders(400, 22)
    for maps in (None, HERE / "nested.toml"):
        answers = compare(source, packets, tmp_path, maps)
        assert {one.result for one in answers} >= {1, 3}


def test_ports_in_maps_of_maps_behave_as_in_the_kernel(tmp_path: Path) -> None:
    source, maps = tmp_path / "ports.bpf.c", tmp_path / "ports.toml"
    source.write_text(
        f"{HEAD}struct ports {{ __uint(type, 14); __uint(max_entries, 4); __type(key, __u32);"
        ' __type(value, __u32); } loop SEC(".maps");\n'
        "struct { __uint(type, 12); __uint(max_entries, 2); __type(key, __u32);"
        ' __array(values, struct ports); } all SEC(".maps") = { .values = { [1] = &loop } };\n'
        'SEC("xdp") int sends(struct xdp_md *ctx)\n{\n'
        "\t__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;\n"
        "\t__u32 which;\n\tvoid *found;\n\tif (data + 16 > end) return XDP_PASS;\n"
        "\twhich = data[14] & 1;\n\tfound = bpf_map_lookup_elem(&all, &which);\n"
        "\treturn found ? bpf_redirect_map(found, data[15] & 7, XDP_TX) : XDP_DROP;\n}\n"
        'char LICENSE[] SEC("license") = "GPL";\n'
    )
    maps.write_text("loop = [{ key = 2, value = 1 }]\n")
    answers = compare(source, orders(60, 26), tmp_path, maps)
    assert {one.result for one in answers} >= {1, 3, 4}


def test_bloom_filters_behave_as_in_the_kernel(tmp_path: Path) -> None:
    source, packets = HERE / "filters.bpf.c", orders(400, 23)
    alone, filled = (compare(source, packets, tmp_path, maps) for maps in (None, FILTERS))
    for answers in (alone, filled):
        assert {one.result for one in answers} >= {1, 3}
    assert alone != filled


def test_notes_count_values_in_bloom_filters(tmp_path: Path) -> None:
    report = counted(HERE / "filters.bpf.c", trace(tmp_path, orders(50, 23)), "--maps", FILTERS)
    said = "maps have entries at the start: addresses 62, keys 300, pairs 2"
    assert report["notes"] == [f"{said} (from {FILTERS})"]  # these filters have no random seed


def test_bloom_filters_refuse_too_many_values(tmp_path: Path) -> None:
    maps, packets = tmp_path / "maps.toml", trace(tmp_path, orders(3, 1))
    maps.write_text("keys = [{ others = 1_000_000_000_000 }]\n")
    source = HERE / "filters.bpf.c"
    error = error_of("insights", "counts", source, "--pcap", packets, "--maps", maps)
    assert f"{maps}: map keys: a map can have at most 4,194,304 entries here; reduce" in error


def test_notes_estimate_false_positives_of_bloom_filters(tmp_path: Path) -> None:
    """Compare the reported fraction of false positives with that of a bloom filter with seed 0."""
    source, maps = tmp_path / "sieve.bpf.c", tmp_path / "maps.toml"
    source.write_text(
        f"{HEAD}struct {{ __uint(type, 30); __uint(max_entries, 60); __uint(map_extra, 2);"
        ' __type(value, __u64); } sieve SEC(".maps");\n'
        'SEC("xdp") int sieves(struct xdp_md *ctx)\n{\n'
        "\t__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;\n"
        "\t__u64 key;\n\tif (data + 22 > end) return XDP_ABORTED;\n"
        "\t__builtin_memcpy(&key, data + 14, 8);\n"
        "\treturn bpf_map_peek_elem(&sieve, &key) ? XDP_DROP : XDP_PASS;\n}\n"
    )
    maps.write_text("sieve = [{ others = 40 }]\n")
    draw, count = noise_of(5), 4000
    packets = [bytes(12) + b"\x88\xb5" + draw.randbytes(8) for _ in range(count)]
    report = counted(source, trace(tmp_path, packets), "--maps", maps)
    results = {one["action"]: one["packets"] for one in report["fate"]["results"]}
    [note] = [one for one in report["notes"] if "random in the kernel" in one]
    found = re.search(r"hash seed of sieve is 0, .*: ([\d.]+) % of absent values", note)
    assert found is not None, note
    share, seen = float(found[1]) / 100, results["XDP_PASS"] / count
    assert 0.01 < share < 0.5
    assert abs(seen - share) < 4 * (share / count) ** 0.5 + 0.005


def test_tail_calls_in_functions_behave_as_in_the_kernel(tmp_path: Path) -> None:
    packets = orders(400, 24)
    answers = compare(HERE / "within.bpf.c", packets, tmp_path)
    whole = [(x, y) for x, y in zip(packets, answers, strict=True) if len(x) >= 24]
    # The program calls itself up to the kernel's limit on tail calls.
    deep = {after.packet[18] - x[18] & 0xFF for x, after in whole if x[14] == x[15] & 7 == 1}
    assert deep == {33}
    assert {y.packet[22] for x, y in whole if x[14] == 2} == {42}  # the slot is empty
    assert {y.packet[22] for x, y in whole if x[14] == 0} == {3}


def test_maps_in_maps_are_structures_with_entries(tmp_path: Path) -> None:
    file, maps = trace(tmp_path, orders(200, 25)), HERE / "nested.toml"
    report = counted(HERE / "nested.bpf.c", file, "--maps", maps)
    sizes = {one["structure"]: one["size_bytes"] for one in report["structures"]}
    assert sizes["leaves"] == 4 * 8
    assert sizes["one"] == sizes["two"] == 4 * 8
    assert sizes["tables#1"] == sizes["tables#2"] == sizes["tables#3"] == 512 * 16
    assert sizes["known"] == 512 * 16
    assert structures(report)["leaves"][0] > 0
    [said] = [one for one in report["notes"] if one.startswith("maps have entries at the start")]
    assert "tables 3" in said
    assert "tables#1 2, tables#3 1, tables#2 3" in said


def test_sizes_of_inner_maps_come_from_the_file(tmp_path: Path) -> None:
    maps = tmp_path / "maps.toml"
    text = (
        (HERE / "nested.toml")
        .read_text()
        .replace("others = 3, max_entries = 512", "others = 3, max_entries = 8")
    )
    maps.write_text(text)
    found = ran(HERE / "nested.bpf.c", [], MapsFile(str(maps), text))
    assert len(found.maps["tables#2"].entries) == 3
    report = counted(HERE / "nested.bpf.c", trace(tmp_path, orders(200, 25)), "--maps", maps)
    sizes = {one["structure"]: one["size_bytes"] for one in report["structures"]}
    assert sizes["tables#2"] == 8 * 16


def test_notes_name_empty_maps_of_maps(tmp_path: Path) -> None:
    source = tmp_path / "none.bpf.c"
    source.write_text(
        f"{HEAD}{OUTER}"
        "struct { __uint(type, 30); __uint(max_entries, 4); __uint(value_size, 4); }"
        ' few SEC(".maps");\n'
        'SEC("xdp") int none(struct xdp_md *ctx)\n{\n\t__u32 key = 0;\n'
        "\tif (!bpf_map_peek_elem(&few, &key)) return XDP_TX;\n"
        "\treturn bpf_map_lookup_elem(&outer, &key) ? XDP_PASS : XDP_DROP;\n}\n"
    )
    report = counted(source, trace(tmp_path, orders(7, 1)))
    assert report["notes"] == [
        "the map few was always empty, so that all 7 lookups missed; fill it with --maps FILE",
        "the map outer was always empty, so that all 7 lookups missed; fill it with --maps FILE",
    ]
    assert report["fate"]["results"] == [{"result": 1, "packets": 7, "action": "XDP_DROP"}]


def test_functions_with_tail_calls_are_counted_for_the_card(tmp_path: Path) -> None:
    """Check the counts of a program that makes tail calls to itself from within a function.

    It runs 33 times, which is the kernel's limit, and each run counts.
    """
    source = HERE / "within.bpf.c"
    found = {one["entry"]: one for one in predicted(source)["programs"]}
    assert found.keys() == {"other", "deeper", "fixed", "first"}
    own = {
        (program, function["name"]): function["blocks"]
        for program, one in found.items()
        for function in one["functions"]
    }
    assert own["deeper", "inside"] == own["first", "inside"]
    lacks = {each["what"] for block in own["first", "inside"] for each in block["refused"]}
    assert "bpf_tail_call, which the card does not have" in lacks
    sums = []
    for slot in (1, 2):  # the program itself, and an empty slot
        packet = bytes(14) + bytes([1, slot]) + bytes(10)
        file = trace(tmp_path, [packet] * 3)
        report = reported(source, "--pcap", file)
        assert report["traffic"]["unit"] == "instructions of the card"
        sums.append(report["traffic"]["instructions"])
    # Then the limit is reached: `beside` continues after its call, and `other` does not run.
    rest = own["first", "beside"][-1]["instructions"]
    difference = 32 * found["deeper"]["instructions"] + rest - found["other"]["instructions"]
    assert sums[0] - sums[1] == pytest.approx(difference)


SLOT = 'struct inner held SEC(".maps");\n'
UNFIT = {
    "held is in slot 5, beyond max_entries (4)": OUTER.replace(
        'outer SEC(".maps");', 'outer SEC(".maps") = { .values = { [5] = &held } };'
    ).replace("struct {", f"{SLOT}struct {{"),
    "it holds held: max_entries is 8, but 4 in the definition": (
        OUTER.replace("struct {", f"{OTHER}struct {{").replace(
            'outer SEC(".maps");', 'outer SEC(".maps") = { .values = { [1] = (void *)&held } };'
        )
    ),
}


@pytest.mark.parametrize("said", UNFIT)
def test_programs_that_the_kernel_refuses_are_refused(tmp_path: Path, said: str) -> None:
    source = tmp_path / "unfit.bpf.c"
    source.write_text(
        f'{HEAD}{UNFIT[said]}SEC("xdp") int unfit(struct xdp_md *ctx)\n{{\n\t__u32 key = 0;\n'
        "\treturn bpf_map_lookup_elem(&outer, &key) ? XDP_PASS : XDP_DROP;\n}\n"
        'char LICENSE[] SEC("license") = "GPL";\n'
    )
    error = error_of("insights", "counts", source, "--pcap", trace(tmp_path, orders(3, 1)))
    assert f"{source}:5: map outer: {said}" in error
    needs_kernel()
    made = tmp_path / "unfit.o"
    made.write_bytes(compile_c(str(source), Clang()))
    assert not loads(made)
    sound = source.read_text().replace("[5]", "[3]").replace("max_entries, 8", "max_entries, 4")
    source.write_text(sound)
    made.write_bytes(compile_c(str(source), Clang()))
    assert loads(made)
    counted(source, trace(tmp_path, orders(3, 1)))


WRONG = {
    "map outer: the source lacks the definition of outer#1": (
        OUTER.replace(" __array(values, struct inner);", ""),
        'outer = [{ key = 0, map = "outer#1" }]',
    ),
    "map outer: it holds outer#1; inner maps of type 7 are not supported": (
        OUTER.replace("__uint(type, 2)", "__uint(type, 7)").replace(
            "__uint(value_size, 4)", "__uint(value_size, 8)"
        ),
        'outer = [{ key = 0, map = "outer#1" }]',
    ),
}


@pytest.mark.parametrize("said", WRONG)
def test_wrong_content_of_maps_of_maps_is_refused(tmp_path: Path, said: str) -> None:
    source, maps = tmp_path / "wrong.bpf.c", tmp_path / "maps.toml"
    before, content = WRONG[said]
    source.write_text(
        f'{HEAD}{before}SEC("xdp") int wrong(struct xdp_md *ctx)\n{{\n\t__u32 key = 0;\n'
        "\treturn bpf_map_lookup_elem(&outer, &key) ? XDP_PASS : XDP_DROP;\n}\n"
    )
    maps.write_text(f"{content}\n")
    words = ("insights", "counts", source, "--pcap", trace(tmp_path, orders(3, 1)))
    error = error_of(*words, "--maps", maps)
    assert said in error
    assert error.count("\n") == 1


def programs(*names: str) -> str:
    """Return the source of XDP programs with these names, and of `start`, which calls `last`.

    The call is a tail call.
    """
    declared = "".join(f"int {one}(struct xdp_md *ctx);\n" for one in ("behind", "last"))
    bodies = "".join(
        f'SEC("xdp") int {one}(struct xdp_md *ctx) {{ return XDP_TX; }}\n' for one in names
    )
    start = (
        'SEC("xdp") int start(struct xdp_md *ctx)\n{\n'
        "\tbpf_tail_call(ctx, &jumps, 2);\n\treturn XDP_DROP;\n}\n"
    )
    return f"{HEAD}{declared}{JUMPS}{bodies}{start}"


def test_the_only_program_outside_arrays_gets_the_packets(tmp_path: Path) -> None:
    source, file = tmp_path / "chain.bpf.c", trace(tmp_path, orders(5, 1))
    source.write_text(programs("behind", "last"))
    report = counted(source, file)
    assert report["entry"] == "start"
    assert report["notes"] == [
        "start receives the packets, because no program array holds it; select another function "
        "with --entry"
    ]
    assert report["fate"]["results"] == [{"result": 3, "packets": 5, "action": "XDP_TX"}]
    named = counted(source, file, "--entry", "behind")
    assert (named["entry"], named["notes"]) == ("behind", [])
    assert reported(source, "--pcap", file)["traffic"]["unit"] == "instructions of the card"


def test_several_programs_outside_arrays_need_an_entry(tmp_path: Path) -> None:
    source, file = tmp_path / "chains.bpf.c", trace(tmp_path, orders(5, 1))
    source.write_text(programs("behind", "last", "beside"))
    error = error_of("insights", "counts", source, "--pcap", file)
    said = "has 2 XDP programs outside program arrays; name one with --entry: beside, start"
    assert said in error
    maps = tmp_path / "maps.toml"
    maps.write_text(
        'jumps = [{ key = 0, program = "behind" }, { key = 2, program = "last" },'
        ' { key = 1, program = "beside" }]\n'
    )
    run = slowpath("insights", "counts", source, "--pcap", file, "--maps", maps)
    assert run.returncode == 0, run.stderr
    assert "start over 5 packets" in run.stdout
