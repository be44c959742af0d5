"""Tests witness packets: their notation, hex dumps, names of headers, and capture files."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.core.programs.packet import (
    Header,
    find_headers,
    frame,
    hex_dump,
    memory_dump,
    pcap_bytes,
    wire_bytes,
    witness_bytes,
    write_pcap,
)
from slowpath.core.schema.results import Witness
from support import make_path


def packet(text: str) -> list[int | None]:
    """Read a packet in hexadecimal digits, with `--` for arbitrary bytes (None)."""
    cells = "".join(text.split())
    return witness_bytes(witness(cells, len(cells) // 2))


def witness(cells: str, length: int) -> Witness:
    return {"packet": cells, "length": length, "maps": {}, "unknowns": [], "environment": []}


def names(text: str) -> str:
    """Return the headers of a packet with their offsets, such as `Ethernet 0, IPv4 14`."""
    return ", ".join(f"{header.name} {header.offset}" for header in find_headers(packet(text)))


ANY_MACS = "--" * 12


def test_notation() -> None:
    assert witness_bytes(witness("0a--ff", 5)) == [10, None, 255, None, None]


@pytest.mark.parametrize("broken", ["0", "zz", "0a-"])
def test_broken_notation(broken: str) -> None:
    with pytest.raises(ValueError, match="hex"):
        witness_bytes(witness(broken, 2))


def test_wire_bytes_fill_with_zeros() -> None:
    assert wire_bytes(witness("01--03", 5)) == b"\x01\x00\x03\x00\x00"


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("----", ""),
        ("08--", ""),
        ("0806" + "--" * 28, "ARP 14"),
        ("0800" + "--" * 20, "IPv4 14"),
        ("0800 45" + "--" * 8 + "11" + "--" * 18, "IPv4 14, UDP 34"),
        ("0800 46" + "--" * 8 + "06" + "--" * 40, "IPv4 14, TCP 38"),
        (
            "8100 ---- 88a8 ---- 86dd" + "--" * 6 + "3a" + "--" * 40,
            "VLAN 14, VLAN 18, IPv6 22, ICMPv6 62",
        ),
        (
            "86dd" + "--" * 6 + "00" + "--" * 33 + "3c01" + "--" * 14 + "11",
            "IPv6 14, IPv6 hop-by-hop options 54, IPv6 destination options 70",
        ),
        ("8847 ------00 00000100 --", "MPLS 14"),
        ("8847 00001000 00002100 --", "MPLS 14, MPLS 18"),
        (
            "0800 45" + "--" * 8 + "2f" + "--" * 10 + "2000 0800 ---- ---- 45",
            "IPv4 14, GRE 34, IPv4 42",
        ),
    ],
)
def test_headers(text: str, inner: str) -> None:
    assert names(ANY_MACS + text) == "Ethernet 0" + (f", {inner}" if inner else "")


def test_an_arbitrary_version_or_length_ends_the_search() -> None:
    for first in ("--", "44"):
        text = f"0800 {first}" + "--" * 8 + "11" + "--" * 18
        assert names(ANY_MACS + text) == "Ethernet 0, IPv4 14"


def test_later_fragments_have_no_transport_header() -> None:
    headers = find_headers(packet(ANY_MACS + "0800 45" + "--" * 5 + "0001 -- 11" + "--" * 18))
    assert headers[-1] == Header("IPv4", 14, "fragment at byte 8")


def test_notes() -> None:
    text = ANY_MACS + "8100 0005 0800 45" + "--" * 8 + "11" + "--" * 10 + "---- 0035 ----"
    assert [header.note for header in find_headers(packet(text))] == [
        "",
        "id 5",
        "",
        "to port 53, DNS",
    ]
    assert find_headers(packet(ANY_MACS + "1234"))[0].note == "type 0x1234"
    assert find_headers(packet(ANY_MACS + "0100"))[0].note == "length 256"


@given(st.lists(st.none() | st.integers(0, 255), max_size=200))
def test_any_packet_has_headers_in_order(data: list[int | None]) -> None:
    offsets = [header.offset for header in find_headers(data)]
    assert offsets == sorted(set(offsets))
    assert all(offset < len(data) for offset in offsets)


@given(st.lists(st.none() | st.integers(0, 255), max_size=200))
def test_free_bytes_never_add_headers(data: list[int | None]) -> None:
    """Check that the headers that are found in a packet remain if its arbitrary bytes are fixed."""
    filled = [0 if byte is None else byte for byte in data]
    known = [(header.name, header.offset) for header in find_headers(data)]
    assert [(h.name, h.offset) for h in find_headers(filled)][: len(known)] == known


@pytest.mark.parametrize(
    ("kind", "first", "expected"),
    [
        ("cgroup_skb", 0x45, ["IPv4", "TCP"]),
        ("cgroup_skb", 0x60, ["IPv6"]),
        ("cgroup_skb", None, ["IP"]),
        ("socket_filter", 0x45, ["packet"]),
        ("sched_cls", 0x45, ["Ethernet"]),
    ],
)
def test_the_type_of_a_program_has_a_first_header(
    kind: str, first: int | None, expected: list[str]
) -> None:
    content = [first, *[0] * 8, 6, *[0] * 30]
    assert [header.name for header in find_headers(content, kind)] == expected


def test_frames_have_an_ethernet_header() -> None:
    assert frame(b"\x45", "cgroup_skb") == bytes(12) + b"\x08\x00\x45"
    assert frame(b"\x60", "socket_filter")[12:] == b"\x86\xdd\x60"
    assert frame(b"", "socket_filter")[12:] == b"\x88\xb5"
    assert frame(b"\x45", "sched_act") == b"\x45"


def test_hex_dump() -> None:
    assert list(hex_dump(witness_bytes(make_path()["witness"]))) == [
        "0000  -- -- -- -- -- -- -- --  -- -- -- -- 08 00 45 --  0: Ethernet  14: IPv4",
        "0010  -- -- -- -- -- -- -- 11  -- -- -- -- -- -- -- --",
        "0020  -- -- -- -- 00 35 -- --  -- -- -- -- -- -- -- --  34: UDP (to port 53, DNS)",
        "0030  -- -- -- -- -- -- -- --  -- -- -- -- --",
    ]


def test_hex_dump_folds_rows_without_meaning() -> None:
    rows = list(hex_dump([1] + [None] * 99 + [2]))
    assert [row[:4] for row in rows] == ["0000", "*", "0060"]


def test_hex_dump_of_nothing() -> None:
    assert list(hex_dump([])) == []


def test_memory_dump() -> None:
    assert list(memory_dump(0x20, "00" * 17))[1] == "0030  00"


def read_pcap(data: bytes) -> list[bytes]:
    """Return the packets of a capture file, read by independent code."""
    magic, major, minor, zone, accuracy, snaplen, link = struct.unpack_from("<IHHiIII", data)
    assert (magic, major, minor, zone, accuracy, link) == (0xA1B2C3D4, 2, 4, 0, 0, 1)
    packets, at = [], 24
    while at < len(data):
        _, microseconds, captured, length = struct.unpack_from("<IIII", data, at)
        assert microseconds < 1_000_000
        assert captured == length <= snaplen
        packets.append(data[at + 16 : at + 16 + captured])
        at += 16 + captured
    return packets


@given(st.lists(st.binary(max_size=100), max_size=10))
def test_pcap_round_trip(packets: list[bytes]) -> None:
    assert read_pcap(pcap_bytes(packets)) == packets


def test_pcap_file(tmp_path: Path) -> None:
    write_pcap(str(tmp_path / "out.pcap"), [b"abc"])
    assert read_pcap((tmp_path / "out.pcap").read_bytes()) == [b"abc"]
