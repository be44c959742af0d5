"""XDP programs over traces: as in the running kernel, and counts that are known."""

import json
from pathlib import Path

import pytest

from insights_counted import EXAMPLES, calls, counted, structures, trace
from insights_xdp import HERE, ran, requests, traffic
from oracles import compared
from running_kernel import needs_kernel
from slowpath.insights.porting.xdp.maps import ARRAY, HASH, LRU
from slowpath.programs.clang import compile_c
from slowpath.programs.sources import Clang
from support import ROOT, slowpath
from xdp_kernel import Loaded

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")
SHOWN = ROOT / "examples"
PROGRAMS = sorted(path.name for path in SHOWN.glob("*.bpf.c"))
_TIMED = {"flows": 16}
"""By map, the first bytes of values that do not depend on the clock."""


def compare(source: Path, packets: list[bytes], folder: Path) -> None:
    """Runs packets here and in the kernel: results, packets and maps are the same."""
    needs_kernel()
    here = ran(source, packets)
    made = folder / "program.o"
    made.write_bytes(compile_c(str(source), Clang()))
    kernel = Loaded(made, here.program)
    try:
        for number, (one, found) in enumerate(zip(packets, here.answers, strict=True)):
            assert found == kernel.run(one), f"packet {number}: {one.hex()}"
        for name, kept in here.maps.items():
            if kept.kind in (HASH, LRU, ARRAY):
                size = _TIMED.get(name, kept.value)
                wanted = kernel.entries(name, kept.key, kept.value)
                assert _cut(kept.entries, size) == _cut(wanted, size), name
    finally:
        kernel.close()
    compared("kernel", len(packets), "packets of XDP programs")


def _cut(entries: dict[bytes, bytes], size: int) -> dict[bytes, bytes]:
    return {key: value[:size] for key, value in entries.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_do_what_they_do_in_the_kernel(tmp_path: Path, name: str) -> None:
    compare(SHOWN / name, traffic(300, 1), tmp_path)


def test_helpers_do_what_they_do_in_the_kernel(tmp_path: Path) -> None:
    packets = requests(3000, 2)
    compare(HERE / "helpers.bpf.c", packets, tmp_path)


def frames(kinds: bytes) -> list[bytes]:
    return [bytes(14) + bytes([kind]) + bytes(10) for kind in kinds]


def test_counts_are_those_of_the_source(tmp_path: Path) -> None:
    kinds = bytes(at * at % 23 for at in range(200))
    short = [bytes(14)] * 5
    report = counted(HERE / "table.bpf.c", trace(tmp_path, frames(kinds) + short))
    different, odd = len(set(kinds)), sum(kind & 1 for kind in kinds)
    assert structures(report)["total"] == (200, 200)
    assert structures(report)["verdicts"] == (200, 200)
    by_name = {one["structure"]: one for one in report["structures"]}
    members = {one["member"]: one for one in by_name["kinds"]["members"]}
    assert members["[].value.packets"]["reads"] == 200 - different
    assert members["[].value.packets"]["writes"] == 200  # new ones are written as a whole
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


def test_what_sources_in_the_wild_have(tmp_path: Path) -> None:
    kinds = bytes([1, 2, 3, 7, 7, 1, 2, 4])
    report = counted(HERE / "styles.bpf.c", trace(tmp_path, frames(kinds)))
    by_name = {one["structure"]: one for one in report["structures"]}
    assert by_name["odd"]["entries_written"] == 3
    assert by_name["even"]["entries_written"] == 2
    assert by_name["odd"]["size_bytes"] == by_name["even"]["size_bytes"] == 128 * 16
    assert calls(report)["bpf_map_update_elem"] == 5
    assert calls(report)["bpf_trace_printk"] == 2
    assert report["fate"]["results"] == [{"result": 2, "packets": 8, "action": "XDP_PASS"}]
    assert report["notes"] == ["bpf_trace_printk: nobody reads here what is written; calls count"]


@pytest.mark.parametrize("name", ["flow_monitor", "firewall", "count_min"])
def test_reports_advise_on_maps(name: str) -> None:
    traffic_ = EXAMPLES / "udp_counter.pcap"
    run = slowpath(
        *("insights", SHOWN / f"{name}.bpf.c", "--traffic", traffic_, "--format", "json"),
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["traffic"]["unit"] == "instructions of the card"
    assert {"cores", "placement"} <= {one["kind"] for one in report["advice"]}
    sizes = {one["structure"]: one["size_bytes"] for one in report["structures"]}
    maps = {"flow_monitor": "flows", "firewall": "rules", "count_min": "sketch"}
    assert sizes[maps[name]] > 1024


REFUSED = {
    "bpf_fib_lookup is called, which is not there; helpers that are: map_lookup_elem": (
        "char room[64];",
        "return bpf_fib_lookup(ctx, room, sizeof(room), 0);",
    ),
    "bpf_map_lookup_elem of a map of type 22 (odd) is called": (
        'struct { __uint(type, 22); __uint(max_entries, 4); } odd SEC(".maps");',
        "return bpf_map_lookup_elem(&odd, ctx) != 0;",
    ),
    "packet 1 of the trace: memory that is not there is accessed": (
        "int unused;",
        "return *(char *)(long)ctx->data_end;",
    ),
    "a loop does not end": (
        "volatile int turns;",
        "for (;;) turns++;",
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_done_is_said_with_its_line(tmp_path: Path, said: str) -> None:
    before, inside = REFUSED[said]
    source = tmp_path / "wrong.bpf.c"
    source.write_text(
        "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
        f'{before}\nSEC("xdp") int wrong(struct xdp_md *ctx)\n{{\n{inside}\n}}\n'
    )
    run = slowpath("insights", "counts", source, "--traffic", trace(tmp_path, frames(b"1")))
    assert run.returncode != 0
    assert said in run.stderr
    assert "wrong.bpf.c:6: wrong: packet 1" in run.stderr
    assert run.stderr.count("\n") == 1


def test_one_of_several_programs_is_named(tmp_path: Path) -> None:
    source = tmp_path / "two.bpf.c"
    source.write_text(
        "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
        'SEC("xdp") int first(struct xdp_md *ctx) { return XDP_DROP; }\n'
        'SEC("xdp") int second(struct xdp_md *ctx) { return XDP_TX; }\n'
    )
    file = trace(tmp_path, frames(b"12"))
    run = slowpath("insights", "counts", source, "--traffic", file)
    assert "has 2 XDP programs; name one with --entry: first, second" in run.stderr
    run = slowpath("insights", "counts", source, "--traffic", file, "--entry", "second")
    assert "2 returned XDP_TX" in run.stdout
