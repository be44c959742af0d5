"""Tests Click elements with queues, rate limits, headers, configurations and aliases."""

import struct
from collections import Counter
from pathlib import Path

import pytest

from insights_counted import (
    EXAMPLES,
    counted,
    error_of,
    fewer_unless_campaign,
    frames_of,
    sent,
    structures,
    trace,
)
from slowpath.core.engine.objects import captured
from slowpath.insights.source.sources import aliases
from support import ROOT, slowpath

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

FOLDER = ROOT / "tests/click"
NAT = EXAMPLES / "nat.pcap"


@pytest.mark.parametrize("capacity", fewer_unless_campaign([3, 15, 1], 2))
def test_a_queue_holds_its_capacity(tmp_path: Path, capacity: int) -> None:
    """Compare the packets that a Click queue sends and loses with those of a queue in Python."""
    frames = [bytes(60 + at) for at in range(50)]
    report = counted(
        FOLDER / "queue.cc",
        trace(tmp_path, frames),
        *("--config", f"CAPACITY {capacity}, FULL x.y", "--cflags=-DSLOWPATH_OUTPUTS=2"),
    )
    kept, out, lost = list[int](), 0, 0
    for number, frame in enumerate(frames, 1):
        if number % 4 == 0 and kept:
            kept.pop(0)
            out += 1
        if len(kept) == capacity:
            lost += 1
        else:
            kept.append(len(frame))
    expected = {0: out, 1: lost}
    assert sent(report) == {port: count for port, count in expected.items() if count}
    assert out > 0
    assert report["fate"]["killed"] == len(frames)
    assert report["fate"]["made"] == out + lost
    found = structures(report)
    assert found["Keeper::_seen"] == (50, 50)
    assert found.get("Keeper::_dropped", (0, 0)) == (lost, lost)
    assert found["Keeper::_lengths"] == (out, len(frames) - lost)


def test_a_queue_rejects_wrong_configurations(tmp_path: Path) -> None:
    frames = trace(tmp_path, [bytes(60)])
    for config, reason in (("16", "CAPACITY is at most 15"), ("x", "CAPACITY")):
        words = ("--pcap", frames, "--config", config)
        error = error_of("insights", "counts", FOLDER / "queue.cc", *words)
        assert f"Keeper rejects its configuration ({config}): {reason}" in error


def test_a_meter_lets_a_rate_through() -> None:
    """Compare the packets that a Click rate meter passes with those of a token bucket in Python."""
    report = counted(
        FOLDER / "rates.cc",
        NAT,
        *("--config", "service, 100, BURST 2", "--cflags=-DSLOWPATH_BUCKETS=16"),
    )
    flows, packets = dict[bytes, int](), Counter[str]()
    level, filled = 2000, 0  # thousandths of tokens; time of the last refill in milliseconds
    for frame, _, nanoseconds in captured(str(NAT)):
        tcp = frame[12:14] == b"\x08\0" and frame[23] == 6
        at = 14 + 4 * (frame[14] & 15)
        if not tcp or struct.unpack_from(">H", frame, at + 2)[0] != 443:
            packets["killed"] += 1
            continue
        flow = frame[26:34] + frame[at : at + 4]
        if flow not in flows and len(flows) == 64:
            packets["killed"] += 1
            packets["refused"] += 1
            continue
        flows[flow] = flows.get(flow, 0) + 1
        jiffies = (nanoseconds or 0) // 1_000_000
        level, filled = min(2000, level + (jiffies - filled) * 100), jiffies
        enough = level >= 1000
        level -= 1000 * enough
        packets["0" if enough else "1"] += 1
    assert len(flows) > 3
    assert sent(report) == {int(at): packets[at] for at in "01" if packets[at]}
    assert {"killed": packets["killed"], "refused": packets["refused"]} == {
        name: report["fate"][name] for name in ("killed", "refused")
    }
    by_name = {one["structure"]: one for one in report["structures"]}
    through = sum(flows.values())
    assert by_name["Meter::_flows"]["entries_written"] in range(1, len(flows) + 1)
    assert by_name["Meter::_tokens"]["writes"] >= through


def test_a_meter_knows_the_names_of_its_class() -> None:
    words = ("--pcap", NAT, "--config", "nobody, 100")
    run = slowpath("insights", "counts", FOLDER / "rates.cc", *words)
    assert "Meter rejects its configuration (nobody, 100): PORT" in run.stderr


def test_created_headers_are_right(tmp_path: Path) -> None:
    frames = [one for one in frames_of(NAT) if one[12:14] == b"\x08\0" and one[23] == 17]
    report = counted(
        FOLDER / "headers.cc",
        trace(tmp_path, frames),
        *("--config", "192.0.2.1, 2001:db8::1, 02:00:00:00:00:01", "--entry", "Answers::check"),
    )
    assert report["fate"]["results"] == [{"result": 0, "packets": len(frames)}]
    assert sent(report) == dict.fromkeys(range(3), len(frames))


def test_configurations_arrive_complete(tmp_path: Path) -> None:
    """Check that long configurations reach an element completely, as one or several arguments.

    The size of the element must not depend on them.
    """
    frames = trace(tmp_path, [bytes(60)])
    options = ("--entry", "Speaker::tell", "--config")
    cases = [("x" * 300, 300_000), ("x" * 4095, 4_095_000), ("yyyy, " * 200 + "x", 4_200)]
    for config, told in cases:
        report = counted(FOLDER / "speaker.cc", frames, *options, config)
        assert report["fate"]["results"] == [{"result": told, "packets": 1}]
        (element,) = (one for one in report["structures"] if one["structure"] == "Speaker::_first")
        assert element["size_bytes"] == 260


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            "x" * 4096,
            "the configuration (--config) has 4,096 bytes, but an element takes at most 4,095",
        ),
        ("grow", "packet 1 of the trace: a String or StringAccum needs more than 4,095 characters"),
        (
            "gather",
            "packet 1 of the trace: a String or StringAccum needs more than 4,095 characters",
        ),
        ("share", "packet 1 of the trace: elements share more than 8 things by name"),
    ],
)
def test_oversized_inputs_are_refused(tmp_path: Path, config: str, expected: str) -> None:
    words = ("--pcap", trace(tmp_path, [bytes(60)]), "--config", config)
    assert expected in error_of("insights", "counts", FOLDER / "speaker.cc", *words)


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("EXPORT_ELEMENT(A)", ()),
        ("EXPORT_ELEMENT( A A-B )", ("-DSLOWPATH_ELEMENT=A",)),
        ("EXPORT_ELEMENT(Tee PullTee)", ("-DSLOWPATH_ELEMENT=Tee",)),
        ("EXPORT_ELEMENT(A A-B)\nEXPORT_ELEMENT(C)", ()),
        ("#define EXPORT_ELEMENT(name) x", ()),
    ],
)
def test_elements_with_two_names_are_found(text: str, flags: tuple[str, ...]) -> None:
    assert aliases(text.encode()) == flags
