"""Tests `slowpath measure` for tc programs in the running kernel: paths, fields, rejections."""

import csv
import json
from pathlib import Path

import jsonschema
import pytest

import oracles
from compiler import needs_clang
from running_kernel import HOT, measured, needs_kernel, paths_of
from slowpath.core.errors import ExitCode
from slowpath.core.programs.packet import pcap_bytes
from slowpath.core.schema.validation import schema
from slowpath.measure.documents import action_name
from support import ROOT, slowpath

MARK = ROOT / "tests/objects/tc_mark.bpf.o"
SKB = ROOT / "crates/measure/tests/objects/skb.bpf.o"


@pytest.fixture(autouse=True)
def _kernel() -> None:
    needs_kernel()


def test_paths_of_tc_programs_are_timed() -> None:
    document = measured(MARK)
    jsonschema.validate(document, schema("measure"))
    (program,) = document["results"]
    assert program["error"] is None
    assert program["predicted_for"] is None
    assert program["baseline_ns"] > 0
    paths = list(paths_of(document))
    assert paths[0]["action"] == "TC_ACT_REDIRECT"
    for path in paths:
        assert path["error"] is None
        assert path["low_ns"] <= path["measured_ns"] <= path["high_ns"]
        assert path["predicted_ns"] is None
    oracles.compared("kernel", len(paths), "paths of tc programs measured")


def test_fields_that_a_test_run_cannot_set_are_named() -> None:
    document = measured(SKB, "-n", "needs_index", "-n", "needs_cb", *HOT)
    by_name = {program["program"]: program["paths"] for program in document["results"]}
    reasons = {path["error"] for path in by_name["needs_index"]}
    assert reasons == {
        None,
        "the path needs tc_index = 5, which a test run cannot set (BPF_PROG_TEST_RUN with struct "
        "__sk_buff)",
    }
    assert {path["action"] for path in by_name["needs_cb"]} == {"TC_ACT_OK", "TC_ACT_STOLEN"}
    assert [path["error"] for path in by_name["needs_cb"]] == [None] * 3


@pytest.mark.parametrize("name", ["cgroup_policy", "socket_dns"])
def test_programs_of_sockets_are_not_measured(name: str) -> None:
    run = slowpath("measure", ROOT / f"tests/objects/{name}.bpf.o")
    assert run.returncode == ExitCode.INPUT
    assert "are not measured, only XDP and tc programs" in run.stderr


LOADS = """
#include <linux/bpf.h>

unsigned long long load_byte(void *skb, unsigned long long at) asm("llvm.bpf.load.byte");

__attribute__((section("tc"), used)) int short_ends(struct __sk_buff *skb)
{
    unsigned long long byte = load_byte(skb, 1000);

    asm volatile("%0 += 1; %0 += 2; %0 += 3; %0 += 4" : "+r"(byte));
    return byte & 1;
}
char gpl[] __attribute__((section("license"), used)) = "GPL";
"""


def test_packet_loads_that_end_the_program_end_the_count(tmp_path: Path) -> None:
    needs_clang()
    source = tmp_path / "loads.bpf.c"
    source.write_text(LOADS)
    paths = list(paths_of(measured(source)))
    assert [path["error"] for path in paths] == [None] * len(paths)
    assert {path["instructions"] for path in paths} > {2}
    oracles.compared("kernel", len(paths), "paths of tc programs measured")


def test_state_of_the_packet_is_restored() -> None:
    document = measured(SKB, "-n", "pushes", "-n", "takes_room", "-n", "hashes", *HOT)
    restored = {
        program["program"]
        for program in document["results"]
        for path in program["paths"]
        if path["arrangement"] == "restored" and path["measured_ns"] is not None
    }
    assert restored == {"pushes", "takes_room", "hashes"}


def test_packets_after_the_first_are_measured() -> None:
    paths = list(paths_of(measured(SKB, "-n", "first_of_flow", *HOT)))
    (later,) = [path["later"] for path in paths if path["later"] is not None]
    assert (later["action"], later["reason"]) == ("TC_ACT_OK", None)
    assert later["measured_ns"] > 0


def test_cold_caches_and_live_packets_are_refused() -> None:
    words = [str(MARK), "--paths", "1", "--seconds", "0.1", "--format", "json"]
    run = slowpath("measure", *words, "--mode", "live")
    assert run.returncode == ExitCode.INPUT
    (path,) = paths_of(json.loads(run.stdout))
    assert "only XDP programs run live" in path["error"]
    (path,) = paths_of(json.loads(slowpath("measure", *words, "--cache", "cold").stdout))
    assert "flows are written only for XDP programs" in path["cold_reason"]


def test_a_trace_runs_through_a_tc_program(tmp_path: Path) -> None:
    ip, udp = bytes(12) + b"\x08\x00\x45" + bytes(8), b"\x11" + bytes(36)
    packets = [ip + udp] * 5 + [bytes(12) + b"\x12\x34" + bytes(46)] * 3
    trace = tmp_path / "trace.pcap"
    trace.write_bytes(pcap_bytes(packets))
    (program,) = measured(MARK, "--pcap", trace, "--paths", "1", *HOT)["results"]
    found = [(path["packets"], path["action"], path["error"]) for path in program["trace"]["paths"]]
    assert found == [(5, "TC_ACT_OK", None), (3, "TC_ACT_OK", None)]
    assert all(path["measured_ns"] > 0 for path in program["trace"]["paths"])


def test_tc_results_have_their_names_in_csv() -> None:
    words = ["measure", str(MARK), "--paths", "1", "--seconds", "0.1", "--format", "csv", *HOT]
    header, row = csv.reader(slowpath(*words).stdout.splitlines())
    assert dict(zip(header, row, strict=True))["action"] == "TC_ACT_REDIRECT"
    assert action_name(0xFFFF_FFFF, "sched_cls") == "TC_ACT_UNSPEC"
    assert action_name(9, "sched_cls") == "9"
    assert action_name(2) == "XDP_PASS"
