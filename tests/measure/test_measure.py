"""Tests `slowpath measure` in the running kernel: reports, packets, and clean-up.

Packets must take the analysed paths. No test depends on measured times.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import product
from pathlib import Path

import jsonschema
import pytest

import oracles
from running_kernel import HOT, held, measured, needs_kernel, paths_of, stayed
from slowpath.core.errors import ExitCode
from slowpath.core.schema.validation import schema
from support import CAMPAIGN, ROOT, slowpath, wait_until, without_codes

FIREWALL = ROOT / "examples/firewall.bpf.o"
CHANGES = ROOT / "crates/measure/tests/objects/changes.bpf.o"
FLOW_MONITOR = ROOT / "examples/flow_monitor.bpf.o"


@pytest.fixture(autouse=True)
def _kernel() -> None:
    needs_kernel()


def test_a_measurement_has_the_documented_shape() -> None:
    document = measured(FIREWALL)
    jsonschema.validate(document, schema("measure"))
    pace = document["environment"]["pace"]
    assert pace is None or pace["clock_hz"] > 0 < pace["instructions_per_cycle"]
    (program,) = document["results"]
    assert program["error"] is None
    assert program["complete"]
    assert program["loads"] >= 3
    assert program["discarded"] <= program["samples"]
    assert len(program["paths"]) > 2
    counts = [path["instructions"] for path in program["paths"]]
    assert counts == sorted(counts, reverse=True)
    oracles.compared("kernel", len(counts), "paths measured")


def test_intervals_contain_their_medians() -> None:
    for path in paths_of(measured(FIREWALL)):
        assert path["error"] is None
        assert path["low_ns"] <= path["measured_ns"] <= path["high_ns"]
        assert path["measured_ns"] > path["program_ns"]
        assert path["packetrate_pps"] == pytest.approx(1e9 / path["measured_ns"])
        assert path["runs"] > 0
        assert path["action"] in {"XDP_DROP", "XDP_PASS"}
        assert bytes.fromhex(path["packet"])


def test_a_path_that_changes_maps_is_restored() -> None:
    paths = list(paths_of(measured(FLOW_MONITOR, "--no-stretches")))
    restored = [path for path in paths if path["arrangement"] == "restored"]
    assert restored
    assert [path["error"] for path in paths if path["error"] is not None] == []


def test_further_packets_are_measured_apart_from_the_first() -> None:
    paths = list(paths_of(measured(FLOW_MONITOR, "--no-stretches")))
    # The first packet of a flow inserts the flow into a map; later packets find it.
    further = [(path, path["later"]) for path in paths if path["later"] is not None]
    assert further
    for path, later in further:
        assert path["arrangement"] == "restored"
        assert later["instructions"] != path["instructions"]
        assert later["action"] == "XDP_PASS"
        assert later["reason"] is None
        assert later["low_ns"] <= later["measured_ns"] <= later["high_ns"]
        assert later["spread_ns"] >= 0
    oracles.compared("kernel", len(further), "paths of further packets measured")


def test_further_packets_are_told_in_text_and_csv() -> None:
    words = ["measure", str(FLOW_MONITOR), "--paths", "1", "--seconds", "0.1", *HOT]
    lines = slowpath(*words).stdout.splitlines()
    (later,) = [line for line in lines if "the first such packet takes" in line]
    assert later.startswith("  path 1: ")
    assert "later ones" in later
    header, row = csv.reader(slowpath(*words, "--format", "csv").stdout.splitlines())
    fields = dict(zip(header, row, strict=True))
    assert f"({fields['later_instructions']} instructions, {fields['later_action']})" in later
    assert float(fields["later_ns"]) > 0
    assert fields["later_reason"] == ""


def test_live_packets_are_not_measured_as_further_ones() -> None:
    words = [str(FLOW_MONITOR), "--paths", "1", "--mode", "live", "--seconds", "0.1"]
    document = json.loads(slowpath("measure", *words, "--format", "json").stdout)
    jsonschema.validate(document, schema("measure"))
    (path,) = paths_of(document)
    assert path["later"]["measured_ns"] is None
    assert "--mode live" in path["later"]["reason"]


def test_ring_buffers_are_drained() -> None:
    names = ["-n", "output_small", "-n", "insert_and_tell", "-n", "reserve_most"]
    document = measured(CHANGES, *names, *HOT)
    jsonschema.validate(document, schema("measure"))
    paths = [
        (path["arrangement"], path["drained"], path["action"])
        for path in paths_of(document)
        if path["error"] is None
    ]
    assert sorted(paths) == [
        ("repeated", False, "XDP_DROP"),  # the ring buffer is full
        ("repeated", False, "XDP_DROP"),
        ("repeated", False, "XDP_PASS"),  # the map has the element
        ("repeated", True, "XDP_PASS"),
        ("restored", True, "XDP_TX"),
    ]
    (refused,) = (path for path in paths_of(document) if path["error"] is not None)
    assert "no room for the output of two runs" in refused["error"]


def test_the_slowest_paths_can_be_asked_for() -> None:
    (program,) = measured(FIREWALL, "--paths", "3", *HOT)["results"]
    assert [path["rank"] for path in program["paths"]] == [1, 2, 3]


def test_the_report_is_a_table_with_a_conclusion() -> None:
    # The other files, a listing and a missing file, do not stop the measurement of the program.
    listing = next((ROOT / "tests").rglob("*.asm"))
    words = [str(listing), str(FIREWALL), "missing.o", "--seconds", "0.1", *HOT]
    run = slowpath("measure", *words)
    assert run.returncode == ExitCode.INPUT, run.stderr
    assert f"{listing}: " in run.stderr
    assert "missing.o" in run.stderr
    first, empty, *lines = run.stdout.splitlines()
    assert (first, empty) == (f"{listing}:{listing.stem}: not measured", "")
    assert lines[0].startswith(f"{FIREWALL}:firewall: 8 of 32 paths")
    assert lines[1].split()[:4] == ["path", "instructions", "action", "ns/packet"]
    assert any("times as long as the fastest" in line for line in lines)
    assert "measured on CPU" in [line for line in lines if line and "warning: " not in line][-1]
    # The table ends with the warnings about the machine.
    warnings = [line for line in run.stderr.splitlines() if line.startswith("warning: ")]
    shown = [without_codes(line) for line in lines if line.startswith("warning: ")]
    assert shown == warnings


def test_a_cpu_that_is_not_there_is_refused() -> None:
    run = slowpath("measure", str(FIREWALL), "--cpu", "5000")
    assert run.returncode == ExitCode.USAGE
    assert "--cpu" in run.stderr


def test_a_program_is_compared_with_another_version() -> None:
    old, new = ROOT / "examples/alaw2ulaw.bpf.o", ROOT / "examples/alaw2ulaw_opt.bpf.o"
    words = ["measure", str(old), str(new), "--paths", "1", *HOT, "--format", "json"]
    # Allow much time, so that the comparison is decided even on a busy machine.
    words += ["--seconds", "60", "--precision", "100"]
    run = slowpath(*words, "--fail-on", "ratio > 1.0", "--fail-on", "ratio > 100")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    jsonschema.validate(document, schema("measure"))
    (compared,) = document["comparison"]
    slowest = compared["paths"][0]
    assert slowest["path"] == "slowest"
    assert slowest["low"] <= slowest["ratio"] <= slowest["high"] < 1
    assert slowest["significant"]
    assert len(document["results"]) == 2
    refused = slowpath(*words, "--fail-on", "ratio > 0.01")
    assert refused.returncode == ExitCode.FAILED
    assert "forbids this" in refused.stderr


def test_a_gate_needs_two_files_and_a_condition() -> None:
    assert slowpath("measure", FIREWALL, "--fail-on", "ratio > 1").returncode == ExitCode.USAGE
    words = ["measure", str(FIREWALL), str(FIREWALL), "--fail-on"]
    for text in ("ratio < 1", "ratio > x", "1 > ratio", "", "old_ns > 3"):
        assert slowpath(*words, text).returncode == ExitCode.USAGE


TEST_RUN = (str(FLOW_MONITOR),)
LIVE = (str(FIREWALL), "--paths", "2", "--mode", "live")


def test_nothing_stays_behind() -> None:
    before = held()
    assert slowpath("measure", *TEST_RUN, "--seconds", "0.1").returncode == 0
    assert stayed(before) == [0, 0, 0, 0]


def test_live_packets_are_reported_and_nothing_stays_behind() -> None:
    before = held()
    run = slowpath("measure", *LIVE, "--seconds", "0.1")
    assert run.returncode == 0, run.stderr
    title, head, *_ = run.stdout.splitlines()
    assert title.startswith(f"{FIREWALL}:firewall: 2 of ")
    assert title.endswith(", live packets, 64 at a time")
    words = "path action program ns spread baseline ns Mpps dropping lost"
    assert " ".join(head.split()) == words
    assert stayed(before) == [0, 0, 0, 0]


KILLED = [
    (TEST_RUN, signal.SIGKILL, 0.5),
    (TEST_RUN, signal.SIGTERM, 1.2),
    (TEST_RUN, signal.SIGINT, 0.1),
    (LIVE, signal.SIGKILL, 1.5),
    (LIVE, signal.SIGINT, 0.7),
]
if CAMPAIGN > 1:
    KILLED += [
        (TEST_RUN, signal.SIGKILL, 0.1),
        (TEST_RUN, signal.SIGKILL, 1.2),
        (TEST_RUN, signal.SIGTERM, 0.1),
        (TEST_RUN, signal.SIGTERM, 0.5),
        (TEST_RUN, signal.SIGINT, 0.5),
        (TEST_RUN, signal.SIGINT, 1.2),
        (LIVE, signal.SIGKILL, 0.7),
        (LIVE, signal.SIGINT, 1.5),
    ]
"""Arguments of a measurement, a signal, and its delay in seconds after the first map exists."""


def has_maps(process: int) -> bool:
    """Return true if a process has BPF maps: it has then begun to load its program."""
    with suppress(OSError):  # a file was closed, or the process ended meanwhile
        for link in Path(f"/proc/{process}/fd").iterdir():
            if str(link.readlink()) == "anon_inode:bpf-map":
                return True
    return False


@pytest.mark.parametrize(("words", "number", "delay"), KILLED)
def test_nothing_stays_behind_when_it_is_killed(
    words: tuple[str, ...], number: signal.Signals, delay: float
) -> None:
    before = held()
    process = subprocess.Popen(
        [sys.executable, "-m", "slowpath", "measure", *words, "--seconds", "30"],
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: process.poll() is not None or has_maps(process.pid))
    time.sleep(delay)
    assert process.poll() is None, "the measurement ended before the signal"
    process.send_signal(number)
    process.wait(60)
    assert stayed(before) == [0, 0, 0, 0]


HEADERS = "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
LICENCE = '\nchar _license[] SEC("license") = "GPL";\n'

CHEAP_LATER = """
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} seen_FIRST SEC(".maps");

SEC("xdp") int counts_FIRST(struct xdp_md *ctx)
{
    __u32 key = 0, *packets = bpf_map_lookup_elem(&seen_FIRST, &key);
    if (!packets)
        return XDP_ABORTED;
    if (*packets >= FIRST)
        return XDP_DROP;
    *packets += 1;
    volatile __u32 hash = 1;
    for (int i = 0; i < 60; i++)
        hash ^= hash >> 3;
    return XDP_DROP;
}
"""


def test_a_path_that_later_packets_leave_is_restored(tmp_path: Path) -> None:
    # After 100 runs or more, packets leave the path, so each run needs the restored state.
    source = tmp_path / "counts.bpf.c"
    programs = (CHEAP_LATER.replace("FIRST", first) for first in ("100", "500", "3000"))
    source.write_text(HEADERS + "".join(programs) + LICENCE)
    results = measured(source, *HOT)["results"]
    assert len(results) == 3
    for program in results:
        most = max(program["paths"], key=lambda path: path["instructions"])
        assert most["arrangement"] == "restored"
        assert most["measured_ns"] is not None


def test_a_path_that_depends_on_a_random_number_is_measured(tmp_path: Path) -> None:
    source = tmp_path / "draws.bpf.c"
    source.write_text(
        '#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\nSEC("xdp") int draws(void *ctx)\n'
        "{\n    volatile __u32 hash = bpf_get_prandom_u32();\n    if (hash & 1)\n"
        "        hash ^= hash >> 3;\n    return XDP_PASS;\n}\n"
    )
    paths = list(paths_of(measured(source, *HOT)))
    assert len({path["instructions"] for path in paths}) == 2
    for path in paths:
        assert path["measured_ns"] is not None, path["error"]
        assert path["answered"] == ["bpf_get_prandom_u32"]


# The test varies MAP, the type of the map, and FIELDS, which include a special field.
BUCKET = """
struct bucket_NUMBER { FIELDS };
struct {
    __uint(type, MAP);
    __uint(max_entries, 4);
    __type(key, __u32);
    __type(value, struct bucket_NUMBER);
} buckets_NUMBER SEC(".maps");

SEC("xdp") int limit_NUMBER(struct xdp_md *ctx)
{
    __u32 zero = 0;
    int action = XDP_DROP;
    struct bucket_NUMBER *b = bpf_map_lookup_elem(&buckets_NUMBER, &zero);
    if (!b)
        return XDP_ABORTED;
    LOCK;
    if (b->tokens) {
        b->tokens--;
        action = XDP_PASS;
    }
    UNLOCK;
    return action;
}
"""
LOCKED = ("bpf_spin_lock(&b->lock)", "bpf_spin_unlock(&b->lock)")
SPECIAL = (
    ("struct bpf_spin_lock lock; __u32 tokens;", LOCKED),
    ("__u64 before; __u32 tokens; struct bpf_spin_lock lock;", LOCKED),
    ("__u32 tokens; struct bpf_timer timer;", ("", "")),
)
"""Declared fields of a map value, and the statements before and after an access to its `tokens`."""


def test_special_fields_of_values_are_the_kernels_own(tmp_path: Path) -> None:
    # User space cannot access locks and timers, so their bytes are not compared.
    kinds = ("BPF_MAP_TYPE_ARRAY", "BPF_MAP_TYPE_HASH")
    programs = []
    for number, ((fields, calls), kind) in enumerate(product(SPECIAL, kinds)):
        text = BUCKET.replace("FIELDS", fields).replace("(type, MAP)", f"(type, {kind})")
        text = text.replace("UNLOCK;", f"{calls[1]};").replace("LOCK;", f"{calls[0]};")
        programs.append(text.replace("NUMBER", str(number)))
    source = tmp_path / "limit.bpf.c"
    source.write_text(HEADERS + "".join(programs) + LICENCE)
    results = measured(source, *HOT)["results"]
    assert [program["program"] for program in results] == [f"limit_{n}" for n in range(6)]
    for program in results:
        assert {path["action"] for path in program["paths"]} >= {"XDP_PASS", "XDP_DROP"}
        for path in program["paths"]:
            assert path["measured_ns"] is not None, (program["program"], path["error"])
        count = len(program["paths"])
        oracles.compared("kernel", count, "paths with special fields measured")


FULL = """
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, ENTRIES);
    __type(key, __u64);
    __type(value, __u64);
} flows SEC(".maps");
__u64 next;

SEC("xdp") int full(struct xdp_md *ctx)
{
    __u64 key = next++, one = 1;
    return bpf_map_update_elem(&flows, &key, &one, 0) ? XDP_DROP : XDP_PASS;
}
"""


def full(tmp_path: Path, entries: int) -> str:
    source = tmp_path / f"full{entries}.bpf.c"
    source.write_text(HEADERS + FULL.replace("ENTRIES", str(entries)) + LICENCE)
    return str(source)


def test_an_insertion_that_finds_no_room_is_made(tmp_path: Path) -> None:
    (program,) = measured(full(tmp_path, 1000), *HOT)["results"]
    drops = [path for path in program["paths"] if path["action"] == "XDP_DROP"]
    assert drops
    for path in drops:
        assert path["answered"] == path["omitted"] == []
        assert path["packetrate_pps"] > 0


def test_a_path_without_its_call_gets_no_verdict(tmp_path: Path) -> None:
    # The map is too large to be filled again for each load.
    source = full(tmp_path, 1 << 20)
    (program,) = measured(source, *HOT)["results"]
    (drop,) = [path for path in program["paths"] if path["action"] == "XDP_DROP"]
    assert drop["omitted"] == drop["answered"] == ["bpf_map_update_elem"]
    assert drop["measured_ns"] is not None
    assert drop["packetrate_pps"] is None
    assert program["conclusion"].startswith("The only path timed with all its calls takes ")
    assert any("timed without bpf_map_update_elem" in text for text in program["warnings"])
