"""Divides witness packets into the fields of their protocol headers.

The field lists are those of RFC 791 (IPv4), 8200 (IPv6), 9293 (TCP), 768 (UDP), 792 (ICMP), 826
(ARP), 2784 (GRE), 9260 (SCTP), 3032 (MPLS), and of IEEE 802.3 and 802.1Q. Bytes that no list names,
such as options and payload, form fields of their own.
"""

from collections.abc import Iterator
from typing import NamedTuple

from slowpath.core.programs.packet import Header, Packet, find_headers


class Field(NamedTuple):
    """A field of a header: consecutive bytes of the packet."""

    name: str
    offset: int  # bytes from the start of the packet
    size: int  # in bytes
    text: str  # meaning of the value; empty if a byte is arbitrary

    @property
    def span(self) -> range:
        """Offsets of the bytes of the field."""
        return range(self.offset, self.offset + self.size)


class HeaderFields(NamedTuple):
    """A header with its fields, which cover all bytes up to the next header."""

    header: Header
    fields: list[Field]


_NUMBER, _MAC, _IPV4, _IPV6, _HEX = "number", "MAC address", "IPv4 address", "IPv6 address", "hex"
_Spec = tuple[str, int, str]
_PORTS: list[_Spec] = [("source port", 2, _NUMBER), ("destination port", 2, _NUMBER)]
_ICMP: list[_Spec] = [("type", 1, _NUMBER), ("code", 1, _NUMBER), ("checksum", 2, _HEX)]
_FIELDS: dict[str, list[_Spec]] = {
    "Ethernet": [("destination", 6, _MAC), ("source", 6, _MAC), ("EtherType", 2, _HEX)],
    "VLAN": [("priority and VLAN id", 2, _HEX), ("EtherType", 2, _HEX)],
    "MPLS": [("label, class, bottom, TTL", 4, _HEX)],
    "ARP": [
        ("hardware type", 2, _NUMBER),
        ("protocol type", 2, _HEX),
        ("hardware length", 1, _NUMBER),
        ("protocol length", 1, _NUMBER),
        ("operation", 2, _NUMBER),
        ("sender hardware", 6, _MAC),
        ("sender protocol", 4, _IPV4),
        ("target hardware", 6, _MAC),
        ("target protocol", 4, _IPV4),
    ],
    "IPv4": [
        ("version and header length", 1, _HEX),
        ("type of service", 1, _HEX),
        ("total length", 2, _NUMBER),
        ("identification", 2, _HEX),
        ("flags and fragment offset", 2, _HEX),
        ("time to live", 1, _NUMBER),
        ("protocol", 1, _NUMBER),
        ("header checksum", 2, _HEX),
        ("source address", 4, _IPV4),
        ("destination address", 4, _IPV4),
    ],
    "IPv6": [
        ("version, class, flow label", 4, _HEX),
        ("payload length", 2, _NUMBER),
        ("next header", 1, _NUMBER),
        ("hop limit", 1, _NUMBER),
        ("source address", 16, _IPV6),
        ("destination address", 16, _IPV6),
    ],
    "TCP": [
        *_PORTS,
        ("sequence number", 4, _NUMBER),
        ("acknowledgement", 4, _NUMBER),
        ("data offset and flags", 2, _HEX),
        ("window", 2, _NUMBER),
        ("checksum", 2, _HEX),
        ("urgent pointer", 2, _NUMBER),
    ],
    "UDP": [*_PORTS, ("length", 2, _NUMBER), ("checksum", 2, _HEX)],
    "SCTP": [*_PORTS, ("verification tag", 4, _HEX), ("checksum", 4, _HEX)],
    "ICMP": _ICMP,
    "ICMPv6": _ICMP,
    "GRE": [("flags and version", 2, _HEX), ("protocol type", 2, _HEX)],
    "IPv6 fragment": [
        ("next header", 1, _NUMBER),
        ("reserved", 1, _HEX),
        ("fragment offset", 2, _HEX),
        ("identification", 4, _HEX),
    ],
}
_CONTENT = "content"
_PIECE = 32
"""Maximum number of bytes in a field for content without a field list, such as payload.

Longer content is divided.
"""


def header_fields(packet: Packet, kind: str | None = None) -> list[HeaderFields]:
    """Return the headers that `find_headers` finds in a packet, each with its fields."""
    headers = find_headers(packet, kind)
    ends = [*(header.offset for header in headers[1:]), len(packet)][: len(headers)]
    return [
        HeaderFields(header, list(_fields(packet, header, end)))
        for header, end in zip(headers, ends, strict=True)
    ]


def _fields(packet: Packet, header: Header, end: int) -> Iterator[Field]:
    at = header.offset
    for name, size, kind in _FIELDS.get(header.name, []):
        if at + size > end:
            break
        part = packet[at : at + size]
        known = bytes(byte for byte in part if byte is not None)
        yield Field(name, at, size, _text(known, kind) if len(known) == size else "")
        at += size
    while at < end:
        size = _run_length(packet, at, end)
        yield Field(_CONTENT, at, size, "")
        at += size


def _run_length(packet: Packet, at: int, end: int) -> int:
    """Return the length of the next piece of bytes that no field covers.

    A piece has either all arbitrary bytes that follow each other, or up to `_PIECE` fixed bytes.
    """
    is_arbitrary, stop = packet[at] is None, at + 1
    while stop < end and (packet[stop] is None) == is_arbitrary:
        if not is_arbitrary and stop - at == _PIECE:
            break
        stop += 1
    return stop - at


def _text(value: bytes, kind: str) -> str:
    if kind == _MAC:
        return value.hex(":")
    if kind == _IPV4:
        return ".".join(map(str, value))
    if kind == _IPV6:
        from ipaddress import IPv6Address

        return str(IPv6Address(value))
    number = int.from_bytes(value, "big")
    return f"{number}" if kind == _NUMBER else f"0x{value.hex()}"
