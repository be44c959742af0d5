"""Tests FastClick elements on traces: batches, state per flow, elements that need other sources."""

import ctypes
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from insights_counted import EXAMPLES, counted, error_of, frames_of, sent, structures, trace
from insights_native import native
from slowpath.insights.source.sources import companions, package_flags
from support import ROOT

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

FOLDER = ROOT / "tests/click"
MINE = FOLDER / "elements/mine"
NAT = EXAMPLES / "nat.pcap"


def test_an_element_of_batches_alone_gets_packets(tmp_path: Path) -> None:
    """Check that an element with `push_batch` but without `push` gets batches of one packet."""
    lengths = [60, 61, 99, 100, 101, 102, 104, 107, 200]
    traffic = trace(tmp_path, [bytes(one) for one in lengths])
    report = counted(FOLDER / "batches.cc", traffic, "--config", "100")
    kept = Counter(one % 2 for one in lengths if one >= 100)
    assert sent(report) == {0: kept[0], 1: kept[1]}
    assert report["fate"]["killed"] == 3
    assert structures(report)["Parity::_seen"] == (6, 6)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = native(tmp_path_factory.mktemp("rows"), FOLDER / "rows.cc")
    library.row.restype = library.headers6.restype = ctypes.c_char_p
    library.little.restype = ctypes.c_uint32
    return library


@pytest.fixture(scope="module")
def row(rows: ctypes.CDLL) -> Callable[[str, int, int], str]:
    """Return a function that applies an operation to a batch of `count` packets.

    It returns the resulting batches in the format of `text_of`.
    """

    def call(operation: str, count: int, number: int) -> str:
        text: bytes = rows.row(operation.encode(), count, number)
        return text.decode()

    return call


def text_of(*rows: list[int]) -> str:
    """Format batches as `rows.cc` prints them; `rows` are the numbers of their packets."""
    return "".join(
        f"[{len(one)}:{''.join(f' {at}' for at in one)} | {one[-1]}]" if one else "[0:]"
        for one in rows
    )


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("number", [0, 1, 2, 4, 7])
def test_batches_are_lists(row: Callable[[str, int, int], str], count: int, number: int) -> None:
    """Compare operations on batches of packets with the same operations on Python lists.

    The packet `number` is first, inside, last or absent.
    """
    every = list(range(count))
    others = [one for one in every if one != number]
    after = [one for one in every if one > number]
    before = [one for one in every if one < number]
    assert row("drop", count, number) == text_of(others, [one for one in every if one == number])
    parts = [before, after] if number in every else [every]
    assert row("split", count, number) == text_of(*[one for one in parts if one])
    first = every[: max(number, 1)]
    assert row("cut", count, number) == text_of(first, every[len(first) :])
    assert row("until", count, number) == text_of([*before, *every[number : number + 1]])
    assert row("join", count, number) == text_of(every)
    classes = [[one for one in every if one % number == of] for of in range(1, number)]
    if number:
        assert row("classes", count, number) == text_of(*[one for one in classes if one])
    assert row("double", count, 0) == text_of([one for at in every for one in (at, at)])


def test_headers_behind_ipv6_are_followed(rows: ctypes.CDLL) -> None:
    """Check that UDP is found behind IPv6 extension headers, unless the packet ends before UDP.

    The extension headers are hop-by-hop options of 16 bytes and a fragment header.
    """
    hop, fragment, udp = bytes([44, 1]) + bytes(14), bytes([17, 0]) + bytes(6), bytes(8)
    packet = bytes(6) + bytes([0, 64]) + bytes(32) + hop + fragment + udp
    assert rows.headers6(packet, len(packet)) == b" 0@40 44@56 17@64"
    assert rows.headers6(packet, len(packet) - 8) == b" 0@40 44@56"
    plain = bytes(6) + bytes([6, 64]) + bytes(32) + bytes(20)
    assert rows.headers6(plain, len(plain)) == b" 6@40"


def test_numbers_with_the_low_byte_first(rows: ctypes.CDLL) -> None:
    assert rows.little(bytes([0x78, 0x56, 0x34, 0x12])) == 0x12345678


def flow_of(frame: bytes) -> bytes:
    """Return the flow of an Ethernet frame, its addresses and ports, as `flows.cc` defines it."""
    if frame[12:14] != b"\x08\0":
        return b""
    at = 14 + 4 * (frame[14] & 15)
    ports = frame[at : at + 4]
    if frame[23] not in (6, 17) or struct.unpack_from(">H", frame, 20)[0] & 0x1FFF:
        ports = bytes(4)
    return frame[26:34] + ports


@pytest.mark.parametrize("first", [1, 3])
def test_flows_have_state_of_their_own(first: int) -> None:
    """Compare the packets per flow that a FastClick element counts with counts in Python."""
    report = counted(FOLDER / "flows.cc", NAT, "--config", str(first))
    seen, expected = Counter[bytes](), Counter[int]()
    for frame in frames_of(NAT):
        flow = flow_of(frame)
        expected[int(seen[flow] >= first)] += 1
        seen[flow] += 1
    assert len(seen) > 3
    assert sent(report) == {port: count for port, count in expected.items() if count}
    assert report["fate"]["evicted"] == 0
    (table,) = (one for one in report["structures"] if one["structure"] == "FirstOfFlow::_flows")
    assert table["entries_written"] == len(seen)


def test_an_element_is_compiled_with_required_elements(tmp_path: Path) -> None:
    """Check that the sources that an element requires are compiled, too.

    The element needs `push` of a base class, and an element that it finds by name.
    """
    lengths = [60, 70, 80, 90, 100]
    traffic = trace(tmp_path, [bytes(one) for one in lengths])
    report = counted(MINE / "gate.cc", traffic, "--config", "Limits(70, MOST 90)")
    assert sent(report) == {0: 3, 1: 2}
    found = structures(report)
    assert found["Gate::_packets"] == (5, 5)
    assert found["Limits::_asked"] == (5, 5)
    assert {name: found[name] for name in ("Limits::_least", "Limits::_most")} == {
        "Limits::_least": (5, 0),
        "Limits::_most": (5, 0),
    }
    assert (
        "Gate receives the packets, because the file has its name; select another element "
        "with --entry" in (report["notes"])
    )
    other = counted(MINE / "gate.cc", traffic, "--entry", "Open::simple_action")
    assert sent(other) == {0: 5}


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ("Missing(1, 2)", "no other element of this class is compiled"),
        ("Limits(1)", "MOST"),
        ("Open", "no other element of this class is compiled"),
    ],
)
def test_an_unknown_element_is_refused(tmp_path: Path, config: str, reason: str) -> None:
    words = ("--pcap", trace(tmp_path, [bytes(60)]), "--config", config)
    error = error_of("insights", "counts", MINE / "gate.cc", *words)
    assert "Gate rejects its configuration" in error
    assert reason in error


def test_required_sources_are_found(tmp_path: Path) -> None:
    """Check that required sources come first, and that sources are not compiled twice.

    Sources that the element includes must be left out.
    """
    gate = MINE / "gate.cc"
    found = companions(str(gate), gate.read_bytes(), ())
    assert [one.name for one in found] == ["limits.cc", "counting.cc"]
    batches = FOLDER / "batches.cc"
    flags = ("-include", str(MINE / "limits.hh"))
    assert [one.name for one in companions(str(batches), batches.read_bytes(), flags)] == [
        "limits.cc"
    ]
    assert package_flags(str(gate)) == ("-idirafter", str(FOLDER))
    assert package_flags(str(FOLDER / "queue.cc")) == ()
    whole = tmp_path / "whole.cc"
    text = f'#include "{MINE}/counting.cc"\n#include "{MINE}/limits.cc"\nEXPORT_ELEMENT(Whole)\n'
    whole.write_text(text)
    assert companions(str(whole), whole.read_bytes(), ()) == []


def test_required_sources_that_do_not_compile_are_omitted(tmp_path: Path) -> None:
    """Check that an element compiles although the source beside its header has an error."""
    (tmp_path / "plain.hh").write_text("#include <click/element.hh>\n")
    (tmp_path / "plain.cc").write_text('#include "plain.hh"\nnonsense;\n')
    source = tmp_path / "alone.cc"
    source.write_text(
        '#include "plain.hh"\nclass Alone : public Element {\n  public:\n'
        '    const char *class_name() const { return "Alone"; }\n'
        "    Packet *simple_action(Packet *p) { return p; }\n};\nEXPORT_ELEMENT(Alone)\n"
    )
    assert sent(counted(source, trace(tmp_path, [bytes(60)]))) == {0: 1}


def test_frames_of_a_radio_become_frames_of_ethernet(tmp_path: Path) -> None:
    """Check that IEEE 802.11 data frames with LLC headers become Ethernet frames.

    Other frames are dropped.
    """

    def frame(first: int, second: int, link: bytes = b"\xaa\xaa\x03\0\0\0\x08\0") -> bytes:
        addresses = b"".join(bytes([at]) * 6 for at in (1, 2, 3))
        return bytes([first, second, 0, 0]) + addresses + b"\x10\0" + link + bytes(40)

    frames = [
        frame(0x08, 0x01),  # data, to the distribution system
        frame(0x08, 0x02),  # data, from it
        frame(0x80, 0),  # beacon
        frame(0xD4, 0),  # acknowledgement
        frame(0x08, 0x01, b"\x42\x42\x03\0\0\0\x08\0"),  # not SNAP
        b"\x08\x01",
    ]
    report = counted(FOLDER / "radio.cc", trace(tmp_path, frames))
    assert sent(report) == {0: 2, 1: 1, 2: 1}
    assert report["fate"]["killed"] == 2
