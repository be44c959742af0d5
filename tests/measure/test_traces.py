"""Tests `slowpath measure --pcap`, which runs the packets of a trace in the running kernel.

No test depends on measured times.
"""

import csv
import io
import json
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import oracles
from compiler import needs_clang
from running_kernel import HOT, needs_kernel
from slowpath.core.errors import ExitCode
from slowpath.core.programs.packet import pcap_bytes
from slowpath.core.schema.validation import schema
from slowpath.measure.sampling import Measured
from slowpath.measure.statistics import estimate
from slowpath.measure.traces import distribution, draw, mean_cost
from support import ROOT, slowpath, wait_until

HEADER_PARSER = ROOT / "examples/header_parser.bpf.o"
FLOW_MONITOR = ROOT / "examples/flow_monitor.bpf.o"
FIREWALL = ROOT / "examples/firewall.bpf.o"


DISTURBED = "the CPU was slowed down during all its samples"


@pytest.fixture
def kernel() -> None:
    needs_kernel()


def packet(source: int, port: int, protocol: int = 6) -> bytes:
    """Return an IPv4 packet; `source` and `port` determine its source address and port."""
    ip = struct.pack(
        ">BBHHHBBHII", 0x45, 0, 54, 0, 0, 64, protocol, 0, 0x0A000000 + source, 0x0A0000FF
    )
    transport = struct.pack(">HHIIBBHHH", port, 443, 0, 0, 0x50, 2, 512, 0, 0)
    return bytes(12) + b"\x08\x00" + ip + transport + bytes(14)


PACKETS = [packet(n % 5, 1000 + n % 3, 6 if n % 4 else 17) for n in range(200)]
PACKETS += [bytes(12) + b"\x86\xdd" + bytes(50)] * 10


def pcapng(packets: list[bytes], link: int = 1) -> bytes:
    """Return a big-endian pcapng file; its packets come from two interfaces in turn."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack(">I", len(body) + 12)
        return struct.pack(">I", kind) + length + body + length

    head = block(0x0A0D0D0A, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1))
    head += block(1, struct.pack(">HHI", 1, 0, 0)) + block(1, struct.pack(">HHI", link, 0, 0))
    for number, each in enumerate(packets):
        numbers = struct.pack(">IIIII", number % 2, 0, number, len(each), len(each))
        head += block(6, numbers + each)
    return head


@cache
def run(*words: str | Path) -> Any:
    """Run `slowpath measure` with hot caches; return the process and the record of the program."""
    options = ("--seconds", "0.1", *HOT, "--format", "json")
    done = slowpath("measure", *words, *options)
    return done, json.loads(done.stdout)["results"][0]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("packets") / "trace.pcap"
    file.write_bytes(pcap_bytes(PACKETS))
    return file


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("program", [FIREWALL, FLOW_MONITOR])
def test_shares_and_numbers_add_up(program: Path, trace: Path) -> None:
    done, record = run(program, "--pcap", trace)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema("measure"))
    found = record["trace"]
    assert (found["format"], found["count"], found["complete"]) == ("pcap", len(PACKETS), True)
    assert found["refused"] == found["undecided"] == found["disagreements"] == 0
    paths = found["paths"]
    assert sum(path["packets"] for path in paths) == len(PACKETS)
    assert sum(path["share"] for path in paths) == pytest.approx(1)
    assert [path["packets"] for path in paths] == sorted(
        (path["packets"] for path in paths), reverse=True
    )
    assert len(found["packets"]) == len(PACKETS)
    for path in paths:
        taken = [n for n, number in enumerate(found["packets"], 1) if number == path["number"]]
        assert len(taken) == path["packets"]
        assert path["first"] == taken[0]
        assert path["error"] in (None, DISTURBED)
        assert path["measured_packet"] in taken
        if path["low_ns"] is not None:
            assert path["low_ns"] <= path["measured_ns"] <= path["high_ns"]
    timed = [path for path in paths if path["error"] is None]
    assert found["mix"]["share"] == pytest.approx(sum(path["share"] for path in timed))
    times = [path["measured_ns"] for path in timed]
    assert min(times) * 0.5 <= found["mix"]["mean_ns"] <= max(times) * 1.5
    most = max(path["instructions"] for path in paths)
    assert found["slowest"]["instructions"] == most <= found["slowest"]["bound_instructions"]
    oracles.compared("kernel", len(PACKETS), "packets of a trace")


@pytest.mark.usefixtures("kernel")
def test_the_first_packet_of_a_flow_takes_another_path(tmp_path: Path) -> None:
    file = tmp_path / "flow.pcap"
    file.write_bytes(pcap_bytes([packet(1, 80)] * 6))
    _, record = run(FLOW_MONITOR, "--pcap", file)
    first, *others = record["trace"]["packets"]
    assert first not in others
    oracles.compared("kernel", 6, "packets of a trace")


@pytest.mark.usefixtures("kernel")
def test_the_slowest_path_is_recognised(tmp_path: Path) -> None:
    """Check that the report names the slowest path if a packet of the trace takes this path.

    The packet is the witness of the path.
    """
    _, alone = run(HEADER_PARSER, "--paths", "1")
    witness = bytes.fromhex(alone["paths"][0]["packet"])
    file = tmp_path / "slowest.pcap"
    file.write_bytes(pcap_bytes([*PACKETS[:5], witness]))
    _, record = run(HEADER_PARSER, "--pcap", file, "--paths", "1")
    found = record["trace"]
    last = found["paths"][found["packets"][-1] - 1]
    assert last["rank"] == 1
    assert last["instructions"] == record["paths"][0]["instructions"]
    assert found["slowest"]["path"] == last["number"]
    assert found["slowest"]["bound_ns"] is not None
    assert "A packet takes the slowest path." in found["conclusion"]
    oracles.compared("kernel", 6, "packets of a trace")


@pytest.mark.usefixtures("kernel")
def test_both_formats_say_the_same(trace: Path, tmp_path: Path) -> None:
    other = tmp_path / "trace.pcapng"
    other.write_bytes(pcapng(PACKETS))
    records = [run(FIREWALL, "--pcap", file)[1]["trace"] for file in (trace, other)]
    assert [record["format"] for record in records] == ["pcap", "pcapng"]
    assert records[0]["packets"] == records[1]["packets"]
    oracles.compared("kernel", 2 * len(PACKETS), "packets of a trace")


@pytest.mark.usefixtures("kernel")
def test_packets_before_damage_count(tmp_path: Path) -> None:
    file, whole = tmp_path / "cut.pcap", pcap_bytes(PACKETS)
    file.write_bytes(whole[: 24 + 20 * (16 + len(PACKETS[0])) + 5])
    done, record = run(FIREWALL, "--pcap", file)
    assert done.returncode == ExitCode.INPUT
    found = record["trace"]
    assert (found["count"], found["complete"]) == (20, False)
    assert "the capture is cut off (at byte" in found["error"]
    assert "after packet 20" in done.stderr
    assert found["mix"] is not None
    oracles.compared("kernel", 20, "packets of a trace")


def read_bytes(process: int, file: Path) -> int:
    """Return the number of bytes of a file that a process has read; 0 if the file is not open."""
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            if link.readlink() == file:
                text = Path(f"/proc/{process}/fdinfo/{link.name}").read_text()
                return int(text.split()[1])
    return 0


@pytest.mark.usefixtures("kernel")
def test_packets_before_an_interrupt_are_reported(tmp_path: Path) -> None:
    file, data = tmp_path / "long.pcap", pcap_bytes(PACKETS)
    file.write_bytes(data[:24] + data[24:] * 2000)
    words = [sys.executable, "-m", "slowpath", "measure", FIREWALL, "--pcap", file]
    # The output goes to a file, as a process that fills a pipe does not end.
    report = tmp_path / "report.json"
    with (
        report.open("w") as output,
        subprocess.Popen(
            [*map(str, words), "--seconds", "0.1", "--format", "json"],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        wait_until(
            lambda: process.poll() is not None or read_bytes(process.pid, file) > len(data) * 5
        )
        assert process.poll() is None, "the measurement ended before the signal"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == ExitCode.UNDECIDED, errors
    (record,) = json.loads(report.read_text())["results"]
    found = record["trace"]
    assert 0 < found["count"] < 2000 * len(PACKETS)
    assert not found["complete"]
    assert found["error"].startswith("stopped after packet")
    assert sum(path["packets"] for path in found["paths"]) == found["count"]
    oracles.compared("kernel", found["count"], "packets of a trace")


@pytest.mark.usefixtures("kernel")
def test_short_and_truncated_packets_are_said(tmp_path: Path) -> None:
    file = tmp_path / "odd.pcap"
    data = pcap_bytes([b"short", PACKETS[0]])
    # The second packet is marked as captured in part.
    place = 24 + 16 + 5 + 12
    file.write_bytes(data[:place] + struct.pack("<I", 1500) + data[place + 4 :])
    done, record = run(FIREWALL, "--pcap", file)
    assert done.returncode == 0
    found = record["trace"]
    assert (found["refused"], found["truncated"], found["packets"]) == (1, 1, [None, 1])
    assert any("captured only in part" in warning for warning in found["warnings"])
    oracles.compared("kernel", 1, "packets of a trace")


@pytest.mark.usefixtures("kernel")
def test_another_link_and_another_file_are_named(tmp_path: Path) -> None:
    file = tmp_path / "wireless.pcapng"
    file.write_bytes(pcapng(PACKETS[:4], link=105))
    done, record = run(FIREWALL, "--pcap", file)
    assert done.returncode == ExitCode.INPUT
    assert "IEEE802_11 (105)" in done.stderr
    assert record["trace"]["count"] == 1
    oracles.compared("kernel", 1, "packets of a trace")


@pytest.mark.parametrize("file", [FIREWALL, "missing.pcap"])
def test_a_file_without_packets_is_refused_before_the_measurement(file: str | Path) -> None:
    done = slowpath("measure", FIREWALL, "--pcap", file)
    assert done.returncode == ExitCode.INPUT
    assert done.stdout == ""
    reason = "starts with 7f 45 4c 46" if file == FIREWALL else "no such file"
    assert reason in done.stderr


COOKED = bytes(14) + b"\x08\x00"
"""A Linux cooked header (SLL) for IPv4."""
LINKS = {"RAW": (101, b""), "NULL": (0, b"\x02\0\0\0"), "LINUX_SLL": (113, COOKED)}


@pytest.fixture(scope="module")
def ethernet(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the record of the firewall for a trace of IPv4 packets with Ethernet headers."""
    needs_kernel()  # the fixture `kernel` is set up later than this one
    file = tmp_path_factory.mktemp("links") / "ethernet.pcap"
    file.write_bytes(pcap_bytes(PACKETS[:40]))
    return run(FIREWALL, "--pcap", file)[1]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", LINKS)
def test_packets_without_ethernet_header_take_the_same_paths(
    name: str, ethernet: Any, tmp_path: Path
) -> None:
    # The firewall does not read Ethernet addresses.
    link, header = LINKS[name]
    ipv4 = PACKETS[:40]
    assert all(each[12:14] == b"\x08\x00" for each in ipv4)
    other = tmp_path / "other.pcap"
    data = pcap_bytes([header + each[14:] for each in ipv4])
    other.write_bytes(data[:20] + struct.pack("<I", link) + data[24:])
    done, converted = run(FIREWALL, "--pcap", other)
    assert done.returncode == 0, done.stderr
    assert converted["trace"]["packets"] == ethernet["trace"]["packets"]
    assert any(f"{name} ({link})" in text for text in converted["trace"]["warnings"])
    assert not any("Ethernet header" in text for text in ethernet["trace"]["warnings"])
    oracles.compared("kernel", len(ipv4), "packets of a trace")


@pytest.mark.usefixtures("kernel")
def test_a_capture_without_packets_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "empty.pcap"
    file.write_bytes(pcap_bytes([]))
    done, record = run(FIREWALL, "--pcap", file)
    assert done.returncode == ExitCode.INPUT
    assert record["trace"]["error"] == "the trace has no packets"


# C source of a program with a path that no test run takes, because a lookup must find a socket.
SOCKET = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("xdp") int finds(struct xdp_md *ctx)
{
    struct bpf_sock_tuple tuple = {};
    struct bpf_sock *sk = bpf_sk_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), -1, 0);
    if (!sk)
        return XDP_PASS;
    volatile __u32 hash = sk->family;
    hash ^= hash >> 3;
    bpf_sk_release(sk);
    return XDP_DROP;
}
char _license[] SEC("license") = "GPL";
"""


@pytest.mark.usefixtures("kernel")
def test_a_path_of_the_analysis_does_not_fail_a_trace(tmp_path: Path) -> None:
    needs_clang()
    source, file = tmp_path / "finds.bpf.c", tmp_path / "trace.pcap"
    source.write_text(SOCKET)
    file.write_bytes(pcap_bytes(PACKETS[:20]))
    done, record = run(source, "--pcap", file)
    assert done.returncode == 0, done.stderr
    assert record["paths"][0]["error"] is not None
    assert record["error"] is None
    assert record["trace"]["mix"] is not None


def flow(source: int, port: int, protocol: int = 6) -> str:
    """Return the key, in hexadecimal, under which the firewall's maps have a packet's flow."""
    mapped = bytes(10) + b"\xff\xff"
    addresses = mapped + struct.pack(">I", 0x0A000000 + source)
    addresses += mapped + struct.pack(">I", 0x0A0000FF)
    return (addresses + struct.pack(">HHB", port, 443, protocol) + bytes(3)).hex()


DENY = [1, 0, 0, 0]
PREFIX = (128 - 8).to_bytes(4, "little").hex() + (bytes(10) + b"\xff\xff\x0b" + bytes(3)).hex()


@pytest.mark.usefixtures("kernel")
def test_maps_hold_what_they_are_given_before_the_first_packet(trace: Path, tmp_path: Path) -> None:
    """Check that the entries of `--maps` are in the maps before the first packet of a trace.

    Without rules, all packets pass; each rule drops the packets of its flow.
    """
    _, plain = run(FIREWALL, "--pcap", trace)
    assert all(path["action"] == "XDP_PASS" for path in plain["trace"]["paths"])
    assert all(each["entries"] is None for each in plain["trace"]["maps"])
    maps = tmp_path / "maps.json"
    rules = [{"key": flow(1, 1001), "value": DENY}, {"key": flow(2, 1002), "value": DENY}]
    maps.write_text(json.dumps({"rules": rules, "prefixes": [{"key": PREFIX, "value": DENY}]}))
    done, record = run(FIREWALL, "--pcap", trace, "--maps", maps)
    assert done.returncode == 0, done.stderr
    jsonschema.validate(json.loads(done.stdout), schema("measure"))
    found = record["trace"]
    assert found["disagreements"] == found["undecided"] == 0
    assert {each["name"]: each["entries"] for each in found["maps"]} == {
        "rules": 2, "prefixes": 1, "verdicts": None,
    }  # fmt: skip
    actions = {path["number"]: path["action"] for path in found["paths"]}
    dropped = [PACKETS[n] for n, path in enumerate(found["packets"]) if actions[path] != "XDP_PASS"]
    denied = {packet(1, 1001), packet(2, 1002)}
    assert dropped == [each for each in PACKETS if each in denied]
    assert dropped
    for path in found["paths"]:
        assert path["error"] in (None, DISTURBED)
    oracles.compared("kernel", 2 * len(PACKETS), "packets of a trace")


@pytest.mark.usefixtures("kernel")
def test_maps_that_cannot_be_filled_are_named(trace: Path, tmp_path: Path) -> None:
    maps = tmp_path / "maps.json"
    # slowpath itself rejects a prefix that is longer than the key.
    long = (129).to_bytes(4, "little").hex() + bytes(16).hex()
    maps.write_text(json.dumps({"prefixes": [{"key": long, "value": DENY}]}))
    done, _ = run(FIREWALL, "--pcap", trace, "--maps", maps)
    assert done.returncode == ExitCode.INPUT
    message = "map prefixes: entry 1: `key` has a prefix of 129 bits, and its keys have 128"
    assert message in done.stderr
    maps = tmp_path / "others.json"
    maps.write_text(json.dumps({"rules": [{"others": 16385}]}))
    done, _ = run(FIREWALL, "--pcap", trace, "--maps", maps)
    assert done.returncode == ExitCode.INPUT
    assert "map rules: 16385 entries exceed its 16384" in done.stderr
    oracles.compared("kernel", 1, "refusals of map content")


@pytest.mark.usefixtures("kernel")
def test_text_csv_and_picture(trace: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    words = ["measure", str(FIREWALL), "--pcap", str(trace), "--seconds", "0.1", "--paths", "1"]
    picture, maps = tmp_path / "trace.svg", tmp_path / "maps.json"
    rules = [{"key": flow(1, 1001), "value": DENY}, {"others": 3}]
    maps.write_text(json.dumps({"rules": rules}))
    done = slowpath(*words, "--maps", maps, "--plot", picture)
    assert done.returncode == 0, done.stderr
    assert (
        "content of maps at the start (--maps): rules with 4 entries, 3 of them synthetic; "
        in done.stdout
    )
    assert "as in the object: prefixes, verdicts" in done.stdout
    assert f"{trace} through firewall: {len(PACKETS)} packets" in done.stdout
    assert "million a second on one core" in done.stdout
    assert "<svg" in picture.read_text()
    done = slowpath(*words, *HOT, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert sum(int(row["packets"]) for row in rows) == len(PACKETS)
    oracles.compared("kernel", 2 * len(PACKETS), "packets of a trace")


def test_the_same_data_give_the_same_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    paths: list[dict[str, float | None]] = [
        {"measured_ns": 30.0, "packets": 3},
        {"measured_ns": 10.0, "packets": 1},
    ]
    paths.append({"measured_ns": None, "packets": 9})
    trace: Any = {"paths": paths, "slowest": {"bound_ns": 50.0}}
    assert distribution(trace) == [(10.0, 0.25), (30.0, 1.0)]
    for name in ("one.svg", "two.svg", "one.png"):
        draw(str(tmp_path / name), [("b.o: p", trace)])
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_options_that_make_no_sense_are_refused() -> None:
    cases: list[tuple[list[str], str]] = [
        (["--plot", "a.svg"], "'--plot': the option plots the packets of a trace"),
        (["--pcap", "t.pcap", "--plot", "a.pdf"], "'--plot': the file name must end in"),
        (["--pcap", "t.pcap", str(FIREWALL)], "'--pcap': a trace runs through one file"),
    ]
    for words, message in cases:
        done = slowpath("measure", str(FIREWALL), *words)
        assert done.returncode == ExitCode.USAGE
        assert message in done.stderr


def test_the_mean_is_weighted_and_disturbed_loads_are_filled() -> None:
    def measured(values: list[float | None]) -> Measured:
        known = estimate([value for value in values if value is not None])
        return Measured(known, known, values, values, 1)

    mix = mean_cost([(0.6, measured([10.0, 12.0, 11.0])), (0.2, measured([100.0, None, 100.0]))])
    assert mix is not None
    assert mix["share"] == pytest.approx(0.8)
    assert mix["mean_ns"] == pytest.approx((0.6 * 11 + 0.2 * 100) / 0.8)
    assert mix["low_ns"] is not None
    assert mix["high_ns"] is not None
    assert mix["low_ns"] <= mix["mean_ns"] <= mix["high_ns"]
    assert mean_cost([]) is None
