"""Tests `slowpath bound` on BPF objects: selected programs, counts, maps and assumptions."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from compiler import needs_clang
from support import GOLDEN, ROOT, check_golden, slowpath
from test_golden import without_times

FILTER = "examples/ddos_filter.bpf.o"
MONITOR = "examples/flow_monitor.bpf.o"
FEATURES = "crates/bpf/tests/data/features.bpf.o"
LISTING = "examples/two_protocols.asm"


COUNT = ("--target", "ebpf")
CARD = ("--target", "agilio-cx-2x40")


def analyse(*arguments: str | Path) -> list[dict[str, Any]]:
    target = () if "--target" in arguments else COUNT
    run = slowpath("bound", *target, *arguments, "--format", "json")
    assert run.returncode == 0, run.stderr
    results: list[dict[str, Any]] = json.loads(run.stdout)["results"]
    return results


def refuse(*arguments: str | Path) -> str:
    """Run `slowpath bound` with wrong arguments, which must fail, and return the error message."""
    run = slowpath("bound", *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    return " ".join(run.stderr.split())


@pytest.mark.parametrize(
    ("name", "target"),
    [
        *((name, CARD) for name in ("alaw2ulaw_opt", "count_min.8")),
        *((name, COUNT) for name in ("ddos_filter", "firewall", "flow_monitor")),
    ],
)
def test_full_report(name: str, target: tuple[str, str]) -> None:
    run = slowpath("bound", f"examples/{name}.bpf.o", *target)
    assert (run.returncode, run.stderr) == (0, "")
    check_golden(GOLDEN / f"examples/{name}.txt", run.stdout)


def test_what_the_card_cannot_run() -> None:
    """Check the error messages for all examples that the card cannot run.

    Each must have one line with the reason and a remedy.
    """
    examples = sorted(path.relative_to(ROOT) for path in ROOT.glob("examples/*.bpf.o"))
    run = slowpath("bound", *examples, *CARD)
    assert run.returncode == 3
    for line in run.stderr.splitlines():  # further reasons are notes
        assert line.startswith(("error: ", "note: "))
        assert line.count("--target ebpf") == (1 if line.startswith("error: ") else 0)
        assert line.startswith("error: ") or ": also section " in line
    check_golden(GOLDEN / "examples/card.txt", run.stdout)
    check_golden(GOLDEN / "examples/card.stderr", run.stderr)


def test_all_that_the_card_lacks_is_listed() -> None:
    """Check that the JSON result lists all reasons why the card cannot run a program, each once."""
    run = slowpath("bound", FILTER, *CARD, "--format", "json")
    (result,) = json.loads(run.stdout)["results"]
    reasons = [refusal["reason"] for refusal in result["refusals"]]
    assert len(reasons) == len(set(reasons)) > 1
    first = result["refusals"][0]
    assert first["place"] in result["error"]
    assert first["reason"] in result["error"]
    assert run.stderr.count(": also ") == len(reasons) - 1
    compiled = slowpath("compile", FILTER).stderr
    shown = json.loads(slowpath("show", FILTER, "--format", "json").stdout)["results"][0]
    assert shown["programs"][0]["card"] == {"instructions": None, "refusals": result["refusals"]}
    annotated = slowpath("annotate", FILTER, *CARD).stderr
    for refusal in result["refusals"][1:]:
        for text in (run.stderr, compiled, annotated):
            assert f"also {refusal['place']}" in text
            assert refusal["reason"] in text
    assert slowpath("bound", FILTER, *COUNT, "--format", "json").stdout.count('"refusals":[]') == 1


def test_verbose_report() -> None:
    for target, name in ((CARD, "verbose"), (COUNT, "verbose-counts")):
        run = slowpath("bound", "examples/count_min.1.bpf.o", "-v", *target)
        check_golden(GOLDEN / f"examples/count_min.1.{name}.txt", without_times(run.stdout))


def test_table_of_counts() -> None:
    files = (FILTER, "examples/count_min.4.bpf.o", LISTING, "missing.bpf.o")
    run = slowpath("bound", *files, *COUNT)
    assert run.returncode == 3
    check_golden(GOLDEN / "examples/objects.txt", run.stdout)


def test_counts_and_no_rates() -> None:
    (result,) = analyse(FILTER)
    assert (result["target"], result["metric"], result["cores"]) == ("ebpf", "instructions", None)
    assert (result["section"], result["program"]) == ("xdp", "ddos_filter")
    for bound in (result["guarantee"], result["naive"]):
        assert set(bound["counts"]) == {"instructions", "memory accesses"}
        rates = ("bitrate_bps", "packetrate_pps", "bottleneck", "components")
        assert all(bound[key] is None for key in rates)
    (path,) = result["paths"]
    assert path["cost"] == result["guarantee"]["counts"]
    assert path["bitrate_bps"] is path["packetrate_pps"] is path["bottleneck"] is None
    known = sum(line["instructions"] for line in path["lines"])
    assert 0.9 * path["cost"]["instructions"] < known <= path["cost"]["instructions"]
    for word in ("bit/s", "pps", "mac"):
        assert word not in slowpath("bound", FILTER, "-v", *COUNT).stdout


def test_either_component_can_be_measured() -> None:
    by = {m: analyse(FILTER, "--metric", m)[0] for m in ("instructions", "memory-accesses")}
    most = by["memory-accesses"]["guarantee"]["counts"]["memory accesses"]
    assert most >= by["instructions"]["guarantee"]["counts"]["memory accesses"]
    counts = by["memory-accesses"]["guarantee"]["counts"]
    assert counts["instructions"] <= by["instructions"]["guarantee"]["counts"]["instructions"]
    text = slowpath("bound", FILTER, "--metric", "memory-accesses", *COUNT).stdout
    condition = "active in .rodata has the value from the object"
    assert f"{most} memory accesses per packet (exact if {condition})" in text


@pytest.mark.parametrize(
    ("option", "value"),
    [("--require", "40Gbit/s"), ("--cores", "5"), ("--metric", "bitrate"), ("--metric", "speed")],
)
def test_rates_are_refused_for_counts(option: str, value: str) -> None:
    message = refuse(FILTER, option, value, *COUNT)
    assert option in message
    assert value == "speed" or ("counts" in message and "instructions" in message)


def test_counts_are_refused_for_the_card() -> None:
    message = refuse(FILTER, "--metric", "instructions", *CARD)
    assert "use --target ebpf" in message


def test_programs_are_chosen() -> None:
    everything = analyse(FEATURES)
    names = [result["program"] for result in everything]
    assert names == ["xdp_tail", "xdp_second_of_section", "xdp_main", "not_xdp"]
    assert [r["program"] for r in analyse(FEATURES, "-s", "xdp/main")] == ["xdp_main"]
    chosen = analyse(FEATURES, "-n", "xdp_t*", "-n", "*second*")
    assert [r["program"] for r in chosen] == names[:2]
    run = slowpath("bound", FEATURES, "--target", "agilio-cx-2x40")
    reason = "skipped, because only XDP programs are analysed: tc: not_xdp (sched_cls)"
    assert f"note: {FEATURES}: {reason}\n" in run.stderr


LEGACY = "crates/bpf/tests/data/legacy.bpf.o"
TUNNEL = "examples/tunnel.bpf.o"


@pytest.mark.parametrize(
    ("words", "notes"),
    [
        (("bound", FEATURES), 0),
        (("bound", FEATURES, TUNNEL, "-n", "tunnel", "--require", "1Mpps"), 3),
        (("bound", TUNNEL), 0),
        (("annotate", FEATURES), 0),
        (("show", FEATURES, TUNNEL, "-n", "tunnel"), 1),
        (("compile", LEGACY, "-s", "7/*"), 1),
    ],
)
def test_notes_of_standard_error_are_in_json(words: tuple[str, ...], notes: int) -> None:
    run = slowpath(*words, "--format", "json")
    assert run.returncode == 0
    told = [line.removeprefix("note: ") for line in run.stderr.splitlines()]
    assert json.loads(run.stdout)["notes"] == told
    assert len(told) == notes


def test_tables_have_the_intervals_of_estimates() -> None:
    table = slowpath("bound", TUNNEL, "examples/firewall.bpf.o").stdout.splitlines()
    (row,) = [line for line in table if line.startswith("examples/firewall.bpf.o:firewall ")]
    report = slowpath("bound", "examples/firewall.bpf.o").stdout
    for time in re.findall(r"[\d.,]+ ns \([\d.,]+ to [\d.,]+\)", report)[:2]:
        assert f"  {time}" in row
    assert "in parentheses, the interval of its error" in table[-1]


def test_reports_name_costs_that_the_driver_time_lacks() -> None:
    text = slowpath("bound", TUNNEL).stdout
    known, missing = "receiving and dropping: 42 ns more with mlx5", "not included: redirect or"
    assert text.index(known) < text.index(
        f"{missing} transmit (no published number for this driver)"
    )
    assert missing not in slowpath("bound", TUNNEL, *COUNT).stdout


def test_programs_of_traffic_control() -> None:
    run = slowpath("bound", FEATURES, "-n", "not_xdp")
    assert run.returncode == 0
    assert "estimates: none, because this target has no calibration for tc programs" in run.stdout
    run = slowpath("bound", FEATURES, "-n", "not_xdp", "--target", "agilio-cx-2x40")
    assert run.returncode == 3
    assert "the program is of type sched_cls; the card runs only XDP programs" in run.stderr


TC = "tests/objects/tc_mark.bpf.o"


def test_the_report_of_a_tc_program() -> None:
    (result,) = analyse(TC)
    assert result["kind"] == "sched_cls"
    assert result["guarantee"]["counts"]["instructions"] == 64
    assert result["assumptions"] == [
        "every combination of a packet and the fields of struct __sk_buff can occur",
        "packets have at most 1048575 bytes before segmentation",
    ]
    (path,) = result["paths"]
    needed = {one["name"]: one["value"] for one in path["witness"]["environment"]}
    assert needed["protocol"] == 8
    assert needed["bytes after the linear part of the packet"] == 0
    # A packet of one piece has only a linear part.
    (result,) = analyse(TC, "--receive", "pieces=1")
    (path,) = result["paths"]
    names = {one["name"] for one in path["witness"]["environment"]}
    assert "bytes after the linear part of the packet" not in names
    check_golden(GOLDEN / "reports/tc_mark.txt", slowpath("bound", TC).stdout)


def test_environments_of_xdp_programs_do_not_apply_to_tc_programs() -> None:
    assert "--receive veth describes packets of XDP programs" in refuse(TC, "--receive", "veth")
    for option, length in ((("--mtu", "1500"), 1500), (("--receive", "test-run"), 3520)):
        (result,) = analyse(TC, *option)
        (limit,) = [one for one in result["assumptions"] if f"{length} bytes long" in one]
        assert limit.endswith("(after GRO, and before segmentation)")
        assert not any("1048575" in one for one in result["assumptions"])


CGROUP = "tests/objects/cgroup_policy.bpf.o"
SOCKET = "tests/objects/socket_dns.bpf.o"
INSTRUCTIONS = {TC: 64, CGROUP: 46, SOCKET: 33}


@pytest.mark.parametrize(("file", "kind"), [(CGROUP, "cgroup_skb"), (SOCKET, "socket_filter")])
def test_reports_of_programs_of_sockets(tmp_path: Path, file: str, kind: str) -> None:
    pcap = tmp_path / "witness.pcap"
    (result,) = analyse(file, "--pcap-out", str(pcap))
    assert (result["kind"], result["guarantee"]["verdict"]) == (kind, "conditional")
    assert result["guarantee"]["counts"]["instructions"] == INSTRUCTIONS[file]
    # The program gets the packet without its Ethernet header, but witnesses are whole frames.
    length = result["paths"][0]["witness"]["length"]
    assert len(pcap.read_bytes()) == 24 + 16 + 14 + length
    check_golden(GOLDEN / f"reports/{Path(file).stem[:-4]}.txt", slowpath("bound", file).stdout)


@pytest.mark.parametrize("file", [CGROUP, SOCKET])
@pytest.mark.parametrize("receive", ["any", "test-run", "length=14..1514,pieces=1"])
def test_all_paths_of_programs_of_sockets_have_packets(file: str, receive: str) -> None:
    (result,) = analyse(file, "--receive", receive, "--paths", "8")
    lengths = [path["witness"]["length"] for path in result["paths"]]
    assert len(lengths) > 5
    assert min(lengths) >= (0 if receive == "any" else 14)


SOURCE = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("mine") int unknown(struct __sk_buff *skb) { return skb->len < 1000 ? 3 : skb->mark; }
SEC("mine2") int far(struct __sk_buff *skb) { return skb->gso_segs; }
SEC("xdp") int other(struct xdp_md *ctx) { return XDP_PASS; }
SEC("tc") int caller(struct __sk_buff *skb);
struct {
    __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __array(values, int());
} calls SEC(".maps") = {.values = {(void *)&other}};
SEC("tc") int caller(struct __sk_buff *skb) { bpf_tail_call(skb, &calls, 0); return 0; }
"""


def test_types_of_programs_are_conditions_or_refused(tmp_path: Path) -> None:
    source, file = tmp_path / "types.bpf.c", tmp_path / "types.bpf.o"
    source.write_text(SOURCE)
    types = f"/usr/include/{os.uname().machine}-linux-gnu"
    options = ["-O2", "-g", "-target", "bpf", "-idirafter", types]
    subprocess.run([*needs_clang(), *options, "-c", source, "-o", file], check=True)
    run = slowpath("bound", file, "-n", "caller")
    assert run.returncode == 3
    assert "a tail call of a program of type sched_cls to other, of xdp" in run.stderr
    # The parameter is a `struct __sk_buff`, which programs of several types have.
    (result,) = analyse(file, "-n", "unknown")
    assumed = "the program is of type sched_cls; its parameter is a struct __sk_buff"
    assert (result["kind"], assumed in result["assumptions"]) == ("sched_cls", True)
    # Without BTF, an arbitrary section name does not tell the type of the program.
    untyped = tmp_path / "untyped.bpf.o"
    source.write_text(SOURCE.split('SEC("xdp")', maxsplit=1)[0])
    options.remove("-g")
    subprocess.run([*needs_clang(), *options, "-c", source, "-o", untyped], check=True)
    (result,) = analyse(untyped, "-n", "unknown")
    assert result["guarantee"]["verdict"] == "conditional"
    assert "the program is of type XDP" in result["assumptions"]
    run = slowpath("bound", untyped, "-n", "far")
    assert run.returncode == 3
    assert "an access of 4 bytes at offset 164 of struct xdp_md" in run.stderr


ALIASES = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct inner {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 8);
    __type(key, __u32);
    __type(value, __u64);
} direct SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 4);
    __type(key, __u32);
    __array(values, struct inner);
} outer SEC(".maps") = {.values = {&direct}};
struct timed { struct bpf_timer timer; };
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct timed);
} timers SEC(".maps");

SEC("xdp") int both_ways(struct xdp_md *ctx)
{
    __u32 key = 0;
    void *map = bpf_map_lookup_elem(&outer, &key);
    __u64 *one = map ? bpf_map_lookup_elem(map, &key) : 0;
    __u64 *same = bpf_map_lookup_elem(&direct, &key);

    return one && same ? *(volatile __u64 *)one + *(volatile __u64 *)same : 0;
}

SEC("cgroup_skb/egress") int interrupted(struct __sk_buff *skb)
{
    __u32 key = 0;
    struct timed *timed = bpf_map_lookup_elem(&timers, &key);

    return timed ? bpf_timer_init(&timed->timer, &timers, 0) & 1 : 1;
}

SEC("socket") int shorter(struct __sk_buff *skb) { return skb->len < 14 ? 0 : skb->mark; }

SEC("tc") int timed(struct __sk_buff *skb)
{
    __u32 key = 0;
    struct timed *timed = bpf_map_lookup_elem(&timers, &key);

    return timed ? bpf_timer_start(&timed->timer, 1, 0) & 1 : 1;
}
"""


def test_what_runs_of_programs_share_is_refused_or_a_condition(tmp_path: Path) -> None:
    source, file = tmp_path / "aliases.bpf.c", tmp_path / "aliases.bpf.o"
    source.write_text(ALIASES)
    types = f"/usr/include/{os.uname().machine}-linux-gnu"
    options = ["-O2", "-g", "-target", "bpf", "-idirafter", types]
    subprocess.run([*needs_clang(), *options, "-c", source, "-o", file], check=True)
    # Timer callbacks run in soft interrupts, which can interrupt a run of a cgroup program.
    for name, reason in (
        ("both_ways", "map direct is used directly, and is also in outer"),
        ("interrupted", "bpf_timer_init is not supported"),
    ):
        run = slowpath("bound", file, "-n", name)
        assert (run.returncode, reason in run.stderr) == (3, True), run.stderr
    (result,) = analyse(file, "-n", "timed")
    sentence = "the work of timer callbacks, which run between packets, counts elsewhere"
    assert sentence in result["assumptions"]
    (result,) = analyse(CGROUP)
    assert "interrupts of the same CPU change no maps during a run" in result["assumptions"]
    # Packets of sockets can be empty.
    page = tmp_path / "page.html"
    run = slowpath("bound", file, "-n", "shorter", "--html", page)
    assert (run.returncode, page.exists()) == (0, True), run.stderr


@pytest.mark.parametrize("file", [TC, CGROUP, SOCKET])
@pytest.mark.parametrize("command", ["annotate", "diff", "show"])
def test_other_commands_read_tc_programs(command: str, file: str) -> None:
    run = slowpath(command, file, *([file] if command == "diff" else []))
    count = str(INSTRUCTIONS[file])
    assert (run.returncode, count in run.stdout or command == "show") == (0, True), run.stderr


@pytest.mark.parametrize(("file", "name"), [(TC, "mark"), (CGROUP, "policy"), (SOCKET, "dns")])
def test_tc_programs_do_not_run_in_chains(tmp_path: Path, file: str, name: str) -> None:
    chain = tmp_path / "chain.yaml"
    member = f"{{name: a, object: {ROOT / file}, program: {name}}}"
    chain.write_text(f"schema: 1\nprograms: [{member}]\n")
    run = slowpath("chain", "bound", chain)
    assert run.returncode != 0
    assert "only XDP programs" in run.stderr


def test_unknown_types_only_when_asked_for() -> None:
    legacy = "crates/bpf/tests/data/legacy.bpf.o"
    assert [r["program"] for r in analyse(legacy)] == ["xdp_filter"]
    assert [r["program"] for r in analyse(legacy, "-s", "7/*")] == ["tail"]


def test_listings_have_no_bpf_instructions() -> None:
    run = slowpath("bound", LISTING, *COUNT)
    assert run.returncode == 3
    assert "not a BPF object" in run.stderr


def test_a_user_defined_target(tmp_path: Path) -> None:
    file = tmp_path / "loads.toml"
    file.write_text(
        'schema = 1\nname = "loads"\nkind = "counts"\ndescription = "loads"\n'
        '[sources]\nus = "us"\n'
        '[packet]\nmin_size_bytes = 60\nmax_size_bytes = 1500\nsource = "us"\n'
        '[[component]]\nname = "loads"\ncounts = ["load"]\n'
    )
    (result,) = analyse(FILTER, "--target", file)
    assert (result["target"], result["metric"]) == ("loads", "loads")
    assert set(result["guarantee"]["counts"]) == {"loads"}
    assert result["paths"][0]["min_packet_size"] >= 60


def test_map_content_is_taken_into_account(tmp_path: Path) -> None:
    (free,) = analyse(MONITOR)
    file = tmp_path / "maps.toml"
    file.write_text("flows = []\n")
    (empty,) = analyse(MONITOR, "--maps", file)
    counts = [result["guarantee"]["counts"]["instructions"] for result in (empty, free)]
    assert counts == sorted(counts)
    file.write_text(json.dumps(free["paths"][0]["witness"]["maps"]))
    (again,) = analyse(MONITOR, "--maps", file)
    assert again["guarantee"]["counts"] == free["guarantee"]["counts"]


def test_wrong_map_content_names_file_map_and_entry(tmp_path: Path) -> None:
    file = tmp_path / "maps.json"
    file.write_text('{"flows": [{"key": "00", "value": 0}]}')
    run = slowpath("bound", MONITOR, "--maps", file, *COUNT)
    assert run.returncode == 3
    assert run.stderr.startswith(f"error: {file}: map flows: entry 1: `key` has 2 hexadecimal")
    assert run.stderr.count("\n") == 1
    assert slowpath("bound", LISTING, "--maps", file).returncode == 3


def test_helpers_can_be_assumed(tmp_path: Path) -> None:
    """Check that `--assume` permits calls of an unsupported helper function.

    The test replaces a supported call in an object by an unsupported one.
    """
    call = b"\x85\0\0\0%c\0\0\0"
    changed = tmp_path / "changed.bpf.o"
    changed.write_bytes(Path(ROOT / MONITOR).read_bytes().replace(call % 5, call % 122))
    run = slowpath("bound", changed, *COUNT)
    assert run.returncode == 3
    assert run.stderr.startswith(f"error: {changed}: flow_monitor: section xdp, instruction ")
    assert "[helper.bpf_get_netns_cookie]" in run.stderr
    assert run.stderr.count("\n") == 1
    file = tmp_path / "assume.toml"
    file.write_text('[helper.bpf_get_netns_cookie]\nreason = "reads a number"\n')
    (result,) = analyse(changed, "--assume", file)
    (assumption,) = [line for line in result["assumptions"] if "(--assume)" in line]
    assert "bpf_get_netns_cookie returns any value" in assumption
    assert "reads a number" in assumption
    file.write_text("[helper.bpf_redirect]\n")
    run = slowpath("bound", FILTER, "--assume", file, *COUNT)
    assert run.returncode == 3
    assert run.stderr.startswith(f"error: {file}:1: ")


def test_loop_limits_by_line() -> None:
    example = "examples/alaw2ulaw_opt.bpf.o"
    (loop,) = json.loads(slowpath("show", example, "--format", "json").stdout)["results"][0][
        "programs"
    ][0]["loops"]
    name = Path(loop["file"]).name
    for place in (f"{name}:{loop['line']}", f":{loop['line']}", f".{loop['instruction']}"):
        (result,) = analyse(example, "--unroll", f"3@{place}")
        (assumption,) = result["assumptions"]
        assert f"{name}:{loop['line']}" in assumption
    run = slowpath("bound", example, "--unroll", "3@alaw2ulaw_opt.bpf.c:1", *COUNT)
    assert run.returncode == 2
    assert (
        "no analysed program has code at this line; name a line that slowpath prints" in run.stderr
    )
    run = slowpath("bound", example, "--unroll", "3@.0", *COUNT)
    assert run.returncode == 3
    assert f"the program has loops at {name}:{loop['line']} (.{loop['instruction']})" in run.stderr


@pytest.mark.parametrize("data", [b"\x7fELF", b"\x7fELF\x02\x01\x01" + bytes(80)])
def test_broken_objects(tmp_path: Path, data: bytes) -> None:
    bad = tmp_path / "bad.bpf.o"
    bad.write_bytes(data)
    run = slowpath("bound", bad)
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr.startswith(f"error: {bad}: ")
    assert run.stderr.count("\n") == 1


def test_csv_has_counts() -> None:
    header, row = slowpath("bound", FILTER, "--format", "csv", *COUNT).stdout.splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    (result,) = analyse(FILTER)
    assert int(cells["instructions"]) == result["guarantee"]["counts"]["instructions"]
    assert int(cells["naive_memory_accesses"]) == result["naive"]["counts"]["memory accesses"]
    assert cells["bitrate_bps"] == cells["cores"] == ""
