"""Writes packets as a classic pcap file, which tcpdump and Wireshark read.

Format: https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html, little-endian, with
microseconds. Packets carry made-up times, one microsecond apart, so that equal witnesses give
equal files.
"""

import struct
from collections.abc import Iterable

from slowpath.cli.inputs import replace_file

_MAGIC = 0xA1B2C3D4
_VERSION = (2, 4)
_SNAPLEN = 262144
_LINKTYPE_ETHERNET = 1
_MICROSECONDS = 1_000_000


def pcap_bytes(packets: Iterable[bytes]) -> bytes:
    """A pcap file with these Ethernet frames, frame check sequences not included."""
    parts = [struct.pack("<IHHiIII", _MAGIC, *_VERSION, 0, 0, _SNAPLEN, _LINKTYPE_ETHERNET)]
    for index, packet in enumerate(packets):
        seconds, microseconds = divmod(index, _MICROSECONDS)
        parts.append(struct.pack("<IIII", seconds, microseconds, len(packet), len(packet)))
        parts.append(packet)
    return b"".join(parts)


def write_pcap(path: str, packets: Iterable[bytes]) -> None:
    """Writes a pcap file.

    Raises:
        OSError: when the file cannot be written.
    """
    replace_file(path, pcap_bytes(packets))
