"""Compares XDP programs that `insights` runs on traces with the kernel, and known counts."""

import json
import re
from pathlib import Path

import pytest

from insights_counted import (
    EXAMPLES,
    calls,
    counted,
    error_of,
    fewer_unless_campaign,
    reported,
    structures,
    trace,
)
from insights_xdp import HERE, orders, ran, requests, traffic
from running_kernel import needs_kernel
from slowpath.core.engine import MapsFile
from slowpath.core.programs.packet import write_pcap
from slowpath.core.programs.sources import Clang
from slowpath.insights.trace.xdp_map_contents import made_up
from slowpath.insights.trace.xdp_sources import load_runnable
from support import ROOT, slowpath
from xdp_compared import EVICTING, compare

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")
SHOWN = ROOT / "examples"
PROGRAMS = {path.name.removesuffix(".bpf.c") for path in SHOWN.glob("*.bpf.c")}
SIMILAR = {
    "alaw2ulaw_opt": "alaw2ulaw",
    "ipv6_lb": "tunnel",
    "path_explosion": "count_min",
    "quic_lb_ipv6": "quic_lb",
}
"""Examples compared only in campaigns: another example has the same helpers, loops or map types."""
COMPARED = fewer_unless_campaign(
    [*sorted(PROGRAMS - SIMILAR.keys()), *sorted(SIMILAR)], len(PROGRAMS - SIMILAR.keys())
)
_BLOCKED = (b"\x0a\0\0\3", b"\x0a\0\0\7")


@pytest.mark.parametrize("name", COMPARED)
def test_examples_behave_as_in_the_kernel(tmp_path: Path, name: str) -> None:
    compare(SHOWN / f"{name}.bpf.c", traffic(300, 1), tmp_path)


def test_examples_left_out_are_similar_to_compared_ones() -> None:
    assert SIMILAR.keys() <= PROGRAMS
    assert set(SIMILAR.values()) <= PROGRAMS - SIMILAR.keys()
    types = {name: _map_types(name) for name in PROGRAMS}
    compared = set[str]().union(*(types[name] for name in PROGRAMS - SIMILAR.keys()))
    assert compared == set[str]().union(*types.values())


def _map_types(name: str) -> set[str]:
    """Return the types of maps that the source of an example names."""
    return set(re.findall(r"BPF_MAP_TYPE_\w+", (SHOWN / f"{name}.bpf.c").read_text()))


def test_helpers_behave_as_in_the_kernel(tmp_path: Path) -> None:
    compare(HERE / "helpers.bpf.c", requests(3000, 2), tmp_path)
    compare(HERE / "rounds.bpf.c", orders(300, 5), tmp_path)  # loops


def test_filled_maps_behave_as_in_the_kernel(tmp_path: Path) -> None:
    source, maps = HERE / "rules.bpf.c", HERE / "rules.toml"
    answers = compare(source, traffic(300, 3), tmp_path, maps)
    assert {one.result for one in answers} == {1, 2, 3, 4}
    empty = compare(source, traffic(300, 3), tmp_path)
    assert {one.result for one in empty} == {0}


def test_tail_calls_behave_as_in_the_kernel(tmp_path: Path) -> None:
    packets = orders(300, 4)
    answers = compare(HERE / "steps.bpf.c", packets, tmp_path, HERE / "steps.toml", "first")
    assert {one.result for one in answers} == {0, 1, 2, 3}
    added = [
        (after.packet[16] - before[16]) % 256
        for before, after in zip(packets, answers, strict=True)
        if len(before) > 24 and before[14] == 2
    ]
    assert set(added) == {33}  # the kernel's limit on tail calls
    compare(HERE / "steps.bpf.c", packets, tmp_path, None, "first")


def test_queues_behave_as_in_the_kernel(tmp_path: Path) -> None:
    drained = bytes([2] * 8 + [6] * 6)
    packets = orders(300, 6, drained)
    compare(HERE / "lines.bpf.c", packets, tmp_path)
    compare(HERE / "lines.bpf.c", packets, tmp_path, HERE / "lines.toml")
    compare(HERE / "lines.bpf.c", orders(0, 7, drained), tmp_path, HERE / "lines.toml")


def test_lru_maps_of_any_size_refuse_nothing_as_in_the_kernel(tmp_path: Path) -> None:
    answers = compare(HERE / "recent.bpf.c", orders(300, 11), tmp_path)
    assert {one.result for one in answers} == {3}


def test_lru_maps_of_any_size_lose_entries_and_refuse_none(tmp_path: Path) -> None:
    packets = orders(300, 11)
    report = counted(HERE / "recent.bpf.c", trace(tmp_path, packets))
    assert report["fate"]["results"] == [{"result": 3, "packets": 300, "action": "XDP_TX"}]
    assert report["fate"]["refused"] == 0
    assert report["fate"]["evicted"] > 300
    kept = ran(HERE / "recent.bpf.c", packets).maps
    assert {name: len(kept[name].entries) for name in EVICTING} == EVICTING


def frames(kinds: bytes) -> list[bytes]:
    return [bytes(14) + bytes([kind]) + bytes(10) for kind in kinds]


def test_counts_match_the_source(tmp_path: Path) -> None:
    kinds = bytes(at * at % 23 for at in range(200))
    short = [bytes(14)] * 5
    report = counted(HERE / "table.bpf.c", trace(tmp_path, frames(kinds) + short))
    different, odd = len(set(kinds)), sum(kind & 1 for kind in kinds)
    assert structures(report)["total"] == (200, 200)
    assert structures(report)["verdicts"] == (200, 200)
    by_name = {one["structure"]: one for one in report["structures"]}
    members = {one["member"]: one for one in by_name["kinds"]["members"]}
    assert members["[].value.packets"]["reads"] == 200 - different
    assert members["[].value.packets"]["writes"] == 200  # new entries are written as a whole
    assert members["[].value.bytes"]["reads"] == 0
    assert members["[].tag"]["writes"] == different
    assert by_name["kinds"]["entries_written"] == different
    assert by_name["kinds"]["size_bytes"] == 1024 * 32
    lines = (HERE / "table.bpf.c").read_text().splitlines()
    assert "kinds" in lines[by_name["kinds"]["line"] - 1]
    assert calls(report)["bpf_map_lookup_elem"] == 400
    assert calls(report)["bpf_map_update_elem"] == different
    assert report["fate"]["results"] == [
        {"result": 1, "packets": 5, "action": "XDP_DROP"},
        {"result": 2, "packets": 200 - odd, "action": "XDP_PASS"},
        {"result": 3, "packets": odd, "action": "XDP_TX"},
    ]


def test_styles_of_published_sources(tmp_path: Path) -> None:
    kinds = bytes([1, 2, 3, 7, 7, 1, 2, 4])
    report = counted(HERE / "styles.bpf.c", trace(tmp_path, frames(kinds)))
    by_name = {one["structure"]: one for one in report["structures"]}
    assert by_name["odd"]["entries_written"] == 3
    assert by_name["even"]["entries_written"] == 2
    assert by_name["odd"]["size_bytes"] == by_name["even"]["size_bytes"] == 128 * 16
    assert calls(report)["bpf_map_update_elem"] == 5
    assert calls(report)["bpf_trace_printk"] == 2
    assert report["fate"]["results"] == [{"result": 2, "packets": 8, "action": "XDP_PASS"}]
    assert report["notes"] == [
        "the output of bpf_trace_printk is discarded, but the calls are counted"
    ]


@pytest.mark.parametrize(
    "name", fewer_unless_campaign(["firewall", "flow_monitor", "count_min"], 1)
)
def test_reports_advise_on_maps(name: str) -> None:
    report = reported(SHOWN / f"{name}.bpf.c", "--pcap", EXAMPLES / "udp_counter.pcap")
    assert report["traffic"]["unit"] == "instructions of the card"
    assert {"cores", "placement"} <= {one["kind"] for one in report["advice"]}
    sizes = {one["structure"]: one["size_bytes"] for one in report["structures"]}
    maps = {"flow_monitor": "flows", "firewall": "rules", "count_min": "sketch"}
    assert sizes[maps[name]] > 1024


def test_counts_with_filled_maps(tmp_path: Path) -> None:
    packets = [one for one in traffic(300, 8) if one[12:14] == b"\x08\x00" and len(one) > 34]
    file, maps = trace(tmp_path, packets), HERE / "rules.toml"
    report = counted(HERE / "rules.bpf.c", file, "--maps", maps)
    blocked = sum(one[26:30] in _BLOCKED for one in packets)
    to = [one[30:34] for one in packets if one[26:30] not in _BLOCKED]
    routed = sum(one in (b"\xc0\0\2\0", b"\xc0\0\2\1") or one[:1] == b"\x0a" for one in to)
    by_name = {one["structure"]: one for one in report["structures"]}
    members = {
        (name, one["member"]): one["writes"]
        for name in ("blocked", "routes")
        for one in by_name[name]["members"]
    }
    assert members["blocked", "[].value"] == blocked
    assert members["routes", "[].value.weight"] == routed
    results = {one["action"]: one["packets"] for one in report["fate"]["results"]}
    assert results["XDP_DROP"] == blocked
    assert results["XDP_REDIRECT"] + results["XDP_PASS"] == routed
    said = "maps have entries at the start: blocked 6, ports 1, routes 4, seen 2, settings 2"
    assert report["notes"] == [f"{said} (from {maps})"]


def test_notes_name_unfilled_maps(tmp_path: Path) -> None:
    packets = [one for one in traffic(100, 8) if one[12:14] == b"\x08\x00" and len(one) > 34]
    file, maps, count = trace(tmp_path, packets), tmp_path / "maps.toml", len(packets)
    maps.write_text('seen = [{ key = "01020304", value = 1 }]\n')
    told = [
        f"the map {name} was always empty, so that all {count} lookups missed; fill it "
        "with --maps FILE"
        for name in ("blocked", "seen", "routes")
    ]
    assert counted(HERE / "rules.bpf.c", file)["notes"] == told
    notes = counted(HERE / "rules.bpf.c", file, "--maps", maps)["notes"]
    assert notes == [f"maps have entries at the start: seen 1 (from {maps})", *told[::2]]
    assert reported(HERE / "rules.bpf.c", "--pcap", file)["traffic"]["notes"] == told


def test_notes_count_tail_calls_without_a_program(tmp_path: Path) -> None:
    source, maps = tmp_path / "jumps.bpf.c", tmp_path / "maps.toml"
    source.write_text(
        "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
        "struct { __uint(type, 3); __uint(max_entries, 4); __uint(key_size, 4);\n"
        '\t__uint(value_size, 4); } jumps SEC(".maps");\n'
        "struct { __uint(type, 1); __uint(max_entries, 4); __uint(key_size, 4);\n"
        '\t__uint(value_size, 4); } gone SEC(".maps");\n'
        'SEC("xdp") int other(struct xdp_md *ctx) { return XDP_TX; }\n'
        'SEC("xdp") int first(struct xdp_md *ctx)\n{\n'
        "\t__u8 *data = (void *)(long)ctx->data;\n\t__u32 key = 0;\n"
        "\tif (data + 15 > (__u8 *)(long)ctx->data_end) return XDP_DROP;\n"
        "\tbpf_map_lookup_elem(&gone, &key);\n"
        "\tif (!bpf_map_update_elem(&gone, &key, &key, 0)) bpf_map_delete_elem(&gone, &key);\n"
        "\tbpf_tail_call(ctx, &jumps, data[14]);\n\treturn XDP_ABORTED;\n}\n"
    )
    maps.write_text('jumps = [{ key = 1, program = "other" }]\n')
    file = trace(tmp_path, frames(bytes([0, 1, 1, 3, 4, 255])))
    said = "bpf_tail_call found no program in the array jumps"
    report = counted(source, file, "--entry", "first")
    assert report["notes"] == [f"{said}, 6 of 6 times; fill it with --maps FILE"]
    report = counted(source, file, "--entry", "first", "--maps", maps)
    assert report["notes"] == [
        f"maps have entries at the start: jumps 1 (from {maps})",
        f"{said}, 4 of 6 times; fill it with --maps FILE",
    ]
    results = {one["action"]: one["packets"] for one in report["fate"]["results"]}
    assert results == {"XDP_TX": 2, "XDP_ABORTED": 4}


def test_a_report_has_maps_and_tail_called_programs(tmp_path: Path) -> None:
    """Check that a report counts the instructions of all programs that tail calls reach."""
    file = trace(tmp_path, orders(200, 9))
    sums = []
    for maps in ((), ("--maps", HERE / "steps.toml")):
        report = reported(HERE / "steps.bpf.c", "--pcap", file, "--entry", "first", *maps)
        assert report["traffic"]["unit"] == "instructions of the card"
        lines = {one["line"]: one["instructions_per_packet"] for one in report["lines"]}
        text = (HERE / "steps.bpf.c").read_text().splitlines()
        called = {
            at for at, one in enumerate(text, 1) if "data[16]++" in one or "data[17]++" in one
        }
        assert called <= {at for at, instructions in lines.items() if instructions > 0}
        sums.append(report["traffic"]["instructions"])
    assert sums[1] > sums[0]


WRONG_MAPS = {
    "map nowhere: unknown map": "nowhere = []",
    "line 1: neither TOML nor JSON": "blocked = [",
    "map blocked: entry 1: `key` has 2 hexadecimal digits, not 8": (
        'blocked = [{ key = "00", value = 0 }]'
    ),
    "map ports: programs on devices and CPUs do not run here": (
        "ports = [{ key = 1, value = [1, 7] }]"
    ),
    "map routes: entry 2: `key` has a prefix of 40 bits, and its keys have 32": (
        'routes = [{ key = "18000000 c0000200", value = 1 },'
        ' { key = "28000000 c0000200", value = 1 }]'
    ),
    "map .bss: variables get their values from the source": "'.bss' = [{ key = 0, value = 1 }]",
    "map calls: entry 1: `program`: the object has no program": (
        'calls = [{ key = 1, program = "nobody" }]'
    ),
}


@pytest.mark.parametrize("said", fewer_unless_campaign(list(WRONG_MAPS), 4))
def test_wrong_content_of_maps_is_refused(tmp_path: Path, said: str) -> None:
    source, maps = tmp_path / "wrong.bpf.c", tmp_path / "maps.toml"
    source.write_text(
        "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
        "#define MAP(kind, size) __uint(type, kind); __uint(max_entries, 4); \\\n"
        "\t__uint(key_size, 4); __uint(value_size, size)\n"
        'struct { MAP(1, 8); } blocked SEC(".maps");\n'
        'struct { MAP(14, 8); } ports SEC(".maps");\n'
        'struct { MAP(3, 4); } calls SEC(".maps");\n'
        "struct { __uint(type, 11); __uint(max_entries, 4); __uint(map_flags, 1);\n"
        '\t__uint(key_size, 8); __uint(value_size, 8); } routes SEC(".maps");\n'
        "struct inner { MAP(2, 4); };\n"
        'struct { MAP(12, 4); __array(values, struct inner); } inside SEC(".maps");\n'
        "__u32 variable;\n"
        'SEC("xdp") int wrong(struct xdp_md *ctx)\n{\n\t__u32 key = variable++;\n'
        "\tbpf_tail_call(ctx, &calls, key);\n"
        "\tbpf_redirect_map(&ports, key, 0);\n"
        "\t__u64 address = 32;\n\tbpf_map_lookup_elem(&routes, &address);\n"
        "\treturn bpf_map_lookup_elem(&blocked, &key) ? 1 : 2;\n}\n"
    )
    maps.write_text(WRONG_MAPS[said])
    file = trace(tmp_path, frames(b"1"))
    error = error_of("insights", "counts", source, "--pcap", file, "--maps", maps)
    assert f"{maps}: {said}" in error
    assert error.count("\n") == 1


def test_errors_say_why_maps_cannot_be_read(tmp_path: Path) -> None:
    source, maps = tmp_path / "deep.bpf.c", tmp_path / "maps.toml"
    text = (HERE / "table.bpf.c").read_text()
    large = "\tvolatile __u8 large[600];\n\n\tfor (int at = 0; at < 600; at++) large[at] = at;\n"
    source.write_text(text.replace("\ttotal++;\n", f"{large}\ttotal++;\n"))
    maps.write_text("kinds = [{ others = 1 }]\n")
    file = trace(tmp_path, frames(b"1"))
    words = ("insights", "counts", source, "--pcap", file)
    error = error_of(*words, "--maps", maps)
    said = (
        "clang cannot compile the source for BPF, so the possible content of its maps is "
        "unknown: clang: "
    )
    assert f"error: {source}: {said}" in error
    assert "stack limit" in error
    assert error.count("\n") == 1
    assert slowpath(*words).returncode == 0


def test_maps_of_a_source_without_any(tmp_path: Path) -> None:
    source, maps = tmp_path / "none.bpf.c", tmp_path / "maps.toml"
    source.write_text(
        "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
        'SEC("xdp") int none(struct xdp_md *ctx) { return XDP_DROP; }\n'
    )
    maps.write_text("kinds = [{ others = 1 }]\n")
    file = trace(tmp_path, frames(b"1"))
    error = error_of("insights", "counts", source, "--pcap", file, "--maps", maps)
    assert f"{maps}: map kinds: unknown map" in error


def test_an_object_is_compiled_only_to_read_maps() -> None:
    plain = str(HERE / "table.bpf.c")
    assert load_runnable(plain, Clang()).object == b""
    assert load_runnable(plain, Clang(), filled=True).object
    for name in ("steps", "nested"):  # they have program arrays and maps of maps
        assert load_runnable(str(HERE / f"{name}.bpf.c"), Clang()).object


KEYS = {4: "few", 8: "words", 13: "odd"}
"""Names of hash maps, by the size of their keys in bytes."""


def test_synthetic_keys_are_those_of_measure(tmp_path: Path) -> None:
    """Check that `insights` and `measure` fill maps with the same synthetic keys.

    A packet must find an entry in both or in neither.
    """
    needs_kernel()
    source, maps, file = tmp_path / "keys.bpf.c", tmp_path / "maps.toml", tmp_path / "keys.pcap"
    maps_, looks = "", ""
    for size, name in KEYS.items():
        maps_ += (
            f"struct {{ __uint(type, 1); __uint(max_entries, 16); __uint(key_size, {size});\n"
            f'\t__uint(value_size, 4); }} {name} SEC(".maps");\n'
        )
        looks += (
            f"\tif (data[14] == {size}) {{\n\t\t__builtin_memcpy(key, data + 15, {size});\n"
            f"\t\treturn bpf_map_lookup_elem(&{name}, key) ? XDP_TX : XDP_DROP;\n\t}}\n"
        )
    source.write_text(
        f"#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n{maps_}"
        'SEC("xdp") int keys(struct xdp_md *ctx)\n{\n\t__u8 *data = (void *)(long)ctx->data;\n'
        "\t__u8 key[16] = {};\n\tif (data + 40 > (__u8 *)(long)ctx->data_end)"
        f" return XDP_ABORTED;\n{looks}\treturn XDP_PASS;\n}}\n"
        'char LICENSE[] SEC("license") = "GPL";\n'
    )
    maps.write_text("".join(f"{name} = [{{ others = 4 }}]\n" for name in KEYS.values()))
    requests_ = [(size, number) for size in KEYS for number in (3, 4)]
    frames_ = [
        bytes(14) + bytes([size]) + made_up(number, size) + bytes(45 - size)
        for size, number in requests_
    ]
    # The program writes no map, so all packets find the initial entries.
    answers = ran(source, frames_, MapsFile(str(maps), maps.read_text())).answers
    for (size, number), frame, here in zip(requests_, frames_, answers, strict=True):
        write_pcap(str(file), [frame])
        words = ("measure", source, "--pcap", file, "--maps", maps, "--format", "json")
        quick = ("--seconds", "0.1", "--cache", "hot", "--no-stretches")
        run = slowpath(*words, *quick, timeout=300)
        traced = json.loads(run.stdout)["results"][0]["trace"]
        [path] = traced["paths"] or [{"action": ""}]
        # The interpreter has no synthetic entries, so finding one in the kernel is a disagreement.
        found = path["action"] == "XDP_TX" or traced["disagreements"] == 1
        assert found == (number < 4), (size, number)
        assert (here.result == 3) == found


def test_notes_count_entries_without_a_slot(tmp_path: Path) -> None:
    maps = tmp_path / "full.toml"
    maps.write_text("blocked = [{ others = 64 }]\nseen = [{ others = 64 }]\n")
    report = counted(HERE / "rules.bpf.c", trace(tmp_path, frames(b"1")), "--maps", maps)
    lost = [one for one in report["notes"] if "found no slot or lost it" in one]
    assert [one.split(" for ")[1].split()[0] for one in lost] == ["blocked", "seen"]
    assert report["fate"]["refused"] == report["fate"]["evicted"] == 0


def test_one_entry_is_one_entry(tmp_path: Path) -> None:
    maps, kinds = tmp_path / "full.toml", tmp_path / "one.bpf.c"
    maps.write_text("blocked = [{ others = 34 }]\n")
    report = counted(HERE / "rules.bpf.c", trace(tmp_path, frames(b"1")), "--maps", maps)
    said = f"1 entry of {maps} for blocked found no slot or lost it"
    assert f"{said}, because max_entries is too small" in report["notes"]
    table = (HERE / "table.bpf.c").read_text().replace("max_entries, 1024", "max_entries, 4")
    kinds.write_text(table)
    report = counted(kinds, trace(tmp_path, frames(b"12345")))
    said = "1 entry found no free slot, and 0 were evicted from tables"
    why = "because the tables are too small (enlarge them with max_entries)"
    assert report["notes"] == [f"{said}, {why}"]


def test_maps_are_for_xdp_programs(tmp_path: Path) -> None:
    file = trace(tmp_path, frames(b"1"))
    plain = ROOT / "tests/advice/filter.c"
    for words in (("insights", "counts", plain), ("insights", plain)):
        error = error_of(*words, "--pcap", file, "--maps", HERE / "rules.toml", code=2)
        assert "'--maps': the option applies only to XDP programs in C" in error
    run = slowpath("insights", HERE / "rules.bpf.c", "--maps", HERE / "rules.toml")
    assert (
        "'--maps': the option needs a run of the function; give a trace with --pcap" in run.stderr
    )


def test_accelerators_of_a_source_for_bpf_only(tmp_path: Path) -> None:
    run = slowpath("insights", "accelerators", HERE / "only.bpf.c", "--format", "json", timeout=300)
    assert run.returncode == 0, run.stderr
    [proved] = json.loads(run.stdout)["proved"]
    assert (proved["function"], proved["kind"]) == ("castagnoli", "crc")
    file = trace(tmp_path, orders(50, 10))
    report = reported(HERE / "only.bpf.c", "--pcap", file)
    assert report["traffic"]["unit"] == "instructions of the card"
    advised = [one for one in report["advice"] if one["certainty"] == "proved"]
    assert "Use the CRC engine for castagnoli" in [one["title"] for one in advised]


REFUSED = {
    "the code calls bpf_fib_lookup, which slowpath does not provide; supported helpers: "
    "map_lookup_elem": (
        "char room[64];",
        "return bpf_fib_lookup(ctx, room, sizeof(room), 0);",
    ),
    "the code calls bpf_map_lookup_elem of a map of type 22 (odd), which slowpath does not": (
        'struct { __uint(type, 22); __uint(max_entries, 4); } odd SEC(".maps");',
        "return bpf_map_lookup_elem(&odd, ctx) != 0;",
    ),
    "the code calls bpf_for_each_map_elem of a map of type 11 (odd), which slowpath does not": (
        "struct { __uint(type, 11); __uint(max_entries, 4); __uint(key_size, 8);"
        '__uint(value_size, 4); __uint(map_flags, 1); } odd SEC(".maps");'
        "static long none(void *map, void *key, void *value, void *all) { return 0; }",
        "return bpf_for_each_map_elem(&odd, none, 0, 0);",
    ),
    "packet 1 of the trace: the code accesses memory at an invalid": (
        "int unused;",
        "return *(char *)(long)ctx->data_end;",
    ),
    "endless loop: one packet ran more basic blocks than --blocks allows": (
        "volatile int turns;",
        "for (;;) turns++;",
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_refused_operations_are_named_with_their_line(tmp_path: Path, said: str) -> None:
    before, inside = REFUSED[said]
    source = tmp_path / "wrong.bpf.c"
    source.write_text(
        "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
        f'{before}\nSEC("xdp") int wrong(struct xdp_md *ctx)\n{{\n{inside}\n}}\n'
    )
    run = slowpath("insights", "counts", source, "--pcap", trace(tmp_path, frames(b"1")))
    assert run.returncode != 0
    assert said in run.stderr
    assert "wrong.bpf.c:6: wrong: packet 1" in run.stderr
    assert run.stderr.count("\n") == 1


def test_a_truncated_source_is_compiled_for_bpf(tmp_path: Path) -> None:
    """Check that errors about a source without any program name BPF as the target.

    The source ends before its first program, but its includes show that it is for the kernel.
    """
    text = (HERE / "table.bpf.c").read_text()
    source, file = tmp_path / "cut.c", trace(tmp_path, frames(b"1"))
    source.write_text(f"{text[: text.index('SEC(')]}\nstatic int half(")
    for words in (
        ("insights", "counts", source, "--pcap", file),
        ("insights", source),
        ("insights", "accelerators", source),
        ("insights", "blocks", source),
    ):
        error = error_of(*words)
        assert "cut.c:" in error
        assert "-target bpf" in error, error
        assert error.count("\n") == 1


def test_file_names_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    """Check that errors name the source file correctly although clang runs in another folder.

    File names in clang's debug information depend on that folder.
    """
    (tmp_path / "here").mkdir()
    source = tmp_path / "wrong.bpf.c"
    source.write_text(
        "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
        'SEC("xdp") int wrong(struct xdp_md *ctx)\n{\n'
        "\treturn *(char *)(long)ctx->data_end;\n}\n"
    )
    words = ("insights", "counts", source, "--pcap", trace(tmp_path, frames(b"1")))
    run = slowpath(*words, cwd=tmp_path / "here")
    assert f"{source}:5: wrong: packet 1" in run.stderr


def test_helpers_are_not_functions_of_the_user(tmp_path: Path) -> None:
    file = trace(tmp_path, frames(b"123"))
    report = counted(HERE / "table.bpf.c", file)
    assert {one["function"] for one in report["blocks"] if not one["support"]} == {"table"}
    helpers = {one["function"] for one in report["functions"] if one["support"]}
    assert helpers == {"bpf_map_lookup_elem", "bpf_map_update_elem"}
    advised = reported(HERE / "table.bpf.c", "--pcap", file)
    assert advised["loops"] == []
    state = {one["structure"] for one in advised["structures"]}
    assert state == {"kinds", "verdicts", "total"}  # without the licence
    assert {one["function"] for one in advised["accesses"]} == {"table"}
    run = slowpath("insights", "counts", HERE / "table.bpf.c", "--pcap", file, "--entry", "no")
    assert "does not have a function 'no'; it has table" in run.stderr


def test_one_of_several_programs_is_named(tmp_path: Path) -> None:
    source = tmp_path / "two.bpf.c"
    source.write_text(
        "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
        'SEC("xdp") int first(struct xdp_md *ctx) { return XDP_DROP; }\n'
        'SEC("xdp") int second(struct xdp_md *ctx) { return XDP_TX; }\n'
    )
    file = trace(tmp_path, frames(b"12"))
    run = slowpath("insights", "counts", source, "--pcap", file)
    assert "has 2 XDP programs; name one with --entry: first, second" in run.stderr
    run = slowpath("insights", "counts", source, "--pcap", file, "--entry", "second")
    assert "2 returned XDP_TX" in run.stdout
