"""XDP programs with iterators, maps in maps, bloom filters, and tail calls in functions."""

import json
from collections import Counter
from pathlib import Path

import pytest

from insights_counted import counted, structures, trace
from insights_xdp import HERE, orders, ran
from slowpath.engine.errors import MapsFile
from support import slowpath
from xdp_compared import compare

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


def test_open_coded_iterators_do_what_they_do_in_the_kernel(tmp_path: Path) -> None:
    answers = compare(HERE / "turns.bpf.c", orders(400, 21), tmp_path)
    assert {one.result for one in answers} >= {1, 3}
    codes = {one.packet[28] for one in answers if len(one.packet) >= 40}
    assert codes == {0, 256 - 7, 256 - 22}  # fine, too many turns, and an end before the start


def test_loops_by_iterators_are_counted_for_the_card(tmp_path: Path) -> None:
    """The kernel's functions are not the card's, and what is around them is."""
    file = trace(tmp_path, orders(100, 21))
    words = ("insights", HERE / "turns.bpf.c", "--traffic", file, "--format", "json")
    run = slowpath(*words, timeout=300)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["traffic"]["unit"] == "instructions of the card"
    text = (HERE / "turns.bpf.c").read_text().splitlines()
    inside = next(at for at, one in enumerate(text, 1) if "sum * 31" in one)
    lines = {one["line"]: one["instructions_per_packet"] for one in report["lines"]}
    assert lines[inside] > 0
    run = slowpath("insights", "blocks", HERE / "turns.bpf.c", "--format", "json")
    [program] = json.loads(run.stdout)["programs"]
    blocks = [one for function in program["functions"] for one in function["blocks"]]
    lacks = {one["what"] for block in blocks for one in block["refused"]}
    for name in ("new", "next", "destroy"):
        assert f"bpf_iter_num_{name}, which the card does not have" in lacks
    calls = Counter(one["what"] for block in blocks for one in block["calls"])
    assert calls["bpf_iter_num_next"] >= 3


def test_maps_of_maps_do_what_they_do_in_the_kernel(tmp_path: Path) -> None:
    source, packets = HERE / "nested.bpf.c", orders(400, 22)
    for maps in (None, HERE / "nested.toml"):
        answers = compare(source, packets, tmp_path, maps)
        assert {one.result for one in answers} >= {1, 3}


def test_bloom_filters_do_what_they_do_in_the_kernel(tmp_path: Path) -> None:
    answers = compare(HERE / "filters.bpf.c", orders(400, 23), tmp_path)
    assert {one.result for one in answers} >= {1, 3}


def test_tail_calls_in_functions_do_what_they_do_in_the_kernel(tmp_path: Path) -> None:
    packets = orders(400, 24)
    answers = compare(HERE / "within.bpf.c", packets, tmp_path)
    whole = [(x, y) for x, y in zip(packets, answers, strict=True) if len(x) >= 24]
    # Called once for the packet, until there may be no more, with all that is in between.
    deep = {after.packet[18] - x[18] & 0xFF for x, after in whole if x[14] == x[15] & 7 == 1}
    assert deep == {33}
    assert {y.packet[22] for x, y in whole if x[14] == 2} == {42}  # there is no such program
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
    [said] = [one for one in report["notes"] if one.startswith("maps hold")]
    assert "tables 3" in said
    assert "tables#1 2, tables#3 1, tables#2 3" in said


def test_sizes_of_maps_in_maps_are_those_of_the_file(tmp_path: Path) -> None:
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


def test_maps_of_maps_that_hold_nothing_are_told(tmp_path: Path) -> None:
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
        "nothing was ever in few: all 7 look-ups missed",
        "nothing was ever in outer: all 7 look-ups missed; --maps FILE fills it",
    ]
    assert report["fate"]["results"] == [{"result": 1, "packets": 7, "action": "XDP_DROP"}]


WRONG = {
    "map outer: nothing says what": (
        OUTER.replace(" __array(values, struct inner);", ""),
        'outer = [{ key = 0, map = "outer#1" }]',
    ),
    "map outer: it holds outer#1, of type 7, which does not run there": (
        OUTER.replace("__uint(type, 2)", "__uint(type, 7)").replace(
            "__uint(value_size, 4)", "__uint(value_size, 8)"
        ),
        'outer = [{ key = 0, map = "outer#1" }]',
    ),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_maps_of_maps_cannot_hold_is_said(tmp_path: Path, said: str) -> None:
    source, maps = tmp_path / "wrong.bpf.c", tmp_path / "maps.toml"
    before, content = WRONG[said]
    source.write_text(
        f'{HEAD}{before}SEC("xdp") int wrong(struct xdp_md *ctx)\n{{\n\t__u32 key = 0;\n'
        "\treturn bpf_map_lookup_elem(&outer, &key) ? XDP_PASS : XDP_DROP;\n}\n"
    )
    maps.write_text(f"{content}\n")
    words = ("insights", "counts", source, "--traffic", trace(tmp_path, orders(3, 1)))
    run = slowpath(*words, "--maps", maps)
    assert run.returncode == 3
    assert said in run.stderr
    assert run.stderr.count("\n") == 1


def programs(*names: str, called: str = "jumps") -> str:
    """A source whose last program calls others by an array."""
    declared = "".join(f"int {one}(struct xdp_md *ctx);\n" for one in ("behind", "last"))
    bodies = "".join(
        f'SEC("xdp") int {one}(struct xdp_md *ctx) {{ return XDP_TX; }}\n' for one in names
    )
    start = (
        'SEC("xdp") int start(struct xdp_md *ctx)\n{\n'
        f"\tbpf_tail_call(ctx, &{called}, 2);\n\treturn XDP_DROP;\n}}\n"
    )
    return f"{HEAD}{declared}{JUMPS}{bodies}{start}"


def test_the_only_program_that_no_array_has_is_taken(tmp_path: Path) -> None:
    source, file = tmp_path / "chain.bpf.c", trace(tmp_path, orders(5, 1))
    source.write_text(programs("behind", "last"))
    report = counted(source, file)
    assert report["entry"] == "start"
    assert report["notes"] == [
        "start got the packets, as no array of programs has it; --entry names another one"
    ]
    assert report["fate"]["results"] == [{"result": 3, "packets": 5, "action": "XDP_TX"}]
    named = counted(source, file, "--entry", "behind")
    assert (named["entry"], named["notes"]) == ("behind", [])
    run = slowpath("insights", source, "--traffic", file, "--format", "json", timeout=300)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["traffic"]["unit"] == "instructions of the card"


def test_of_several_programs_that_no_array_has_one_is_named(tmp_path: Path) -> None:
    source, file = tmp_path / "chains.bpf.c", trace(tmp_path, orders(5, 1))
    source.write_text(programs("behind", "last", "beside"))
    run = slowpath("insights", "counts", source, "--traffic", file)
    assert run.returncode == 3
    said = "has 2 XDP programs that no array of programs has; name one with --entry: beside, start"
    assert said in run.stderr
    maps = tmp_path / "maps.toml"
    maps.write_text(
        'jumps = [{ key = 0, program = "behind" }, { key = 2, program = "last" },'
        ' { key = 1, program = "beside" }]\n'
    )
    run = slowpath("insights", "counts", source, "--traffic", file, "--maps", maps)
    assert run.returncode == 0, run.stderr
    assert "start over 5 packets" in run.stdout
