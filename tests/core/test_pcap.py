"""Packet files, read back with a reader written from the format's description."""

import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from slowpath.core.programs.packet import pcap_bytes, write_pcap


def read_pcap(data: bytes) -> list[bytes]:
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
def test_round_trip(packets: list[bytes]) -> None:
    assert read_pcap(pcap_bytes(packets)) == packets


def test_file(tmp_path: Path) -> None:
    write_pcap(str(tmp_path / "out.pcap"), [b"abc"])
    assert read_pcap((tmp_path / "out.pcap").read_bytes()) == [b"abc"]
