"""Formats witness packets as bytes and protocol headers, and writes them to capture files.

A witness packet makes a program take a certain path. Capture files have the format of
https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html, little-endian, with microseconds.
Timestamps are artificial, one microsecond apart, so that equal witnesses give equal files.

A header is named only if fixed bytes determine it: the search for headers ends at an EtherType or
protocol number whose value is arbitrary. Numbers are those of the IEEE and IANA registries.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from slowpath.core.inputs import replace_file
from slowpath.core.schema.results import Witness

_MAGIC = 0xA1B2C3D4
_VERSION = (2, 4)
_SNAPLEN = 262144
_LINKTYPE_ETHERNET = 1
_MICROSECONDS = 1_000_000


def pcap_bytes(packets: Iterable[bytes]) -> bytes:
    """Return the bytes of a pcap file with these Ethernet frames, without frame check sequences."""
    parts = [struct.pack("<IHHiIII", _MAGIC, *_VERSION, 0, 0, _SNAPLEN, _LINKTYPE_ETHERNET)]
    for index, packet in enumerate(packets):
        seconds, microseconds = divmod(index, _MICROSECONDS)
        parts.append(struct.pack("<IIII", seconds, microseconds, len(packet), len(packet)))
        parts.append(packet)
    return b"".join(parts)


def write_pcap(path: str, packets: Iterable[bytes]) -> None:
    """Write a pcap file.

    Raises:
        OSError: if the file cannot be written.
    """
    replace_file(path, pcap_bytes(packets))


Packet = Sequence[int | None]
"""Bytes of a packet; None stands for an arbitrary byte."""


class Header(NamedTuple):
    """A protocol header in a packet."""

    name: str
    offset: int  # bytes from the start of the packet
    note: str = ""


class _Step(NamedTuple):
    """Result of parsing one header of a packet: a note on it, and the header that follows."""

    note: str
    next: tuple[str, int] | None  # name and offset of the next header; None: unknown


_ETHER_TYPES = {
    0x0800: "IPv4",
    0x0806: "ARP",
    0x8035: "RARP",
    0x8100: "VLAN",
    0x86DD: "IPv6",
    0x8808: "Ethernet flow control",
    0x8847: "MPLS",
    0x8848: "MPLS",
    0x8863: "PPPoE discovery",
    0x8864: "PPPoE",
    0x88A8: "VLAN",
    0x88CC: "LLDP",
    0x9100: "VLAN",
}
_IP_PROTOCOLS = {
    1: "ICMP",
    2: "IGMP",
    4: "IPv4",
    6: "TCP",
    17: "UDP",
    41: "IPv6",
    47: "GRE",
    50: "ESP",
    51: "AH",
    58: "ICMPv6",
    89: "OSPF",
    132: "SCTP",
}
_IPV6_EXTENSIONS = {
    0: "IPv6 hop-by-hop options",
    43: "IPv6 routing",
    44: "IPv6 fragment",
    60: "IPv6 destination options",
}
_PORTS = {
    53: "DNS",
    67: "DHCP",
    68: "DHCP",
    123: "NTP",
    443: "HTTPS or QUIC",
    2152: "GTP-U",
    4789: "VXLAN",
    6081: "Geneve",
}
_FIRST_ETHER_TYPE = 0x0600  # below, the field is a length (IEEE 802.3)
_EXPERIMENT = 0x88B5  # for packets that are not IP packets
_NO_NEXT_HEADER = 59
_MIN_IHL = 5


def find_headers(packet: Packet, kind: str | None = None) -> list[Header]:
    """Return the protocol headers of a packet, outermost first.

    `kind` is the type of the program, which determines the first header; for most types, packets
    are Ethernet frames.
    """
    found: list[Header] = []
    following: tuple[str, int] | None = (_first_header(packet, kind), 0)
    while following is not None and following[1] < len(packet):
        name, offset = following
        step = _PARSERS.get(name, _opaque)(packet, offset)
        found.append(Header(name, offset, step.note))
        following = step.next
    return found


def _first_header(packet: Packet, kind: str | None) -> str:
    if kind == "cgroup_skb":
        first = _field(packet, 0, 1)
        return {4: "IPv4", 6: "IPv6"}.get(-1 if first is None else first >> 4, "IP")
    return "packet" if kind == "socket_filter" else "Ethernet"


def _field(packet: Packet, offset: int, size: int) -> int | None:
    """Read a big-endian number of `size` bytes; None if a byte is missing or arbitrary."""
    value = 0
    if offset + size > len(packet):
        return None
    for byte in packet[offset : offset + size]:
        if byte is None:
            return None
        value = value << 8 | byte
    return value


def _by_ether_type(packet: Packet, offset: int) -> _Step:
    """Return the header that follows the EtherType (or length) field at `offset`."""
    kind = _field(packet, offset, 2)
    if kind is None:
        return _Step("", None)
    if kind < _FIRST_ETHER_TYPE:
        return _Step(f"length {kind}", None)
    name = _ETHER_TYPES.get(kind)
    if name is None:
        return _Step(f"type 0x{kind:04x}", None)
    return _Step("", (name, offset + 2))


def _ethernet(packet: Packet, offset: int) -> _Step:
    return _by_ether_type(packet, offset + 12)


def _vlan(packet: Packet, offset: int) -> _Step:
    step = _by_ether_type(packet, offset + 2)
    tag = _field(packet, offset, 2)
    return step if tag is None or step.note else _Step(f"id {tag & 0xFFF}", step.next)


def _mpls(packet: Packet, offset: int) -> _Step:
    word = _field(packet, offset, 4)
    if word is None:
        return _Step("", None)
    bottom = word >> 8 & 1
    return _Step(f"label {word >> 12}", None if bottom else ("MPLS", offset + 4))


def _protocol(number: int, offset: int) -> _Step:
    name = _IP_PROTOCOLS.get(number) or _IPV6_EXTENSIONS.get(number)
    if name is None:
        return _Step("" if number == _NO_NEXT_HEADER else f"protocol {number}", None)
    return _Step("", (name, offset))


def _ipv4(packet: Packet, offset: int) -> _Step:
    first, protocol = _field(packet, offset, 1), _field(packet, offset + 9, 1)
    fragment = _field(packet, offset + 6, 2)
    if fragment is not None and fragment & 0x1FFF:
        return _Step(f"fragment at byte {8 * (fragment & 0x1FFF)}", None)
    if first is None or protocol is None or first & 0xF < _MIN_IHL:
        return _Step("", None)
    return _protocol(protocol, offset + 4 * (first & 0xF))


def _ipv6(packet: Packet, offset: int) -> _Step:
    following = _field(packet, offset + 6, 1)
    return _Step("", None) if following is None else _protocol(following, offset + 40)


def _ipv6_extension(packet: Packet, offset: int) -> _Step:
    following, length = _field(packet, offset, 1), _field(packet, offset + 1, 1)
    if following is None or length is None:
        return _Step("", None)
    return _protocol(following, offset + 8 * (length + 1))


def _ipv6_fragment(packet: Packet, offset: int) -> _Step:
    following, fragment = _field(packet, offset, 1), _field(packet, offset + 2, 2)
    if following is None or fragment is None:
        return _Step("", None)
    if fragment & 0xFFF8:
        return _Step(f"fragment at byte {fragment & 0xFFF8}", None)
    return _protocol(following, offset + 8)


def _ports(packet: Packet, offset: int) -> _Step:
    destination = _field(packet, offset + 2, 2)
    if destination is None:
        return _Step("", None)
    service = _PORTS.get(destination)
    return _Step(f"to port {destination}" + (f", {service}" if service else ""), None)


def _icmp(packet: Packet, offset: int) -> _Step:
    kind = _field(packet, offset, 1)
    return _Step("" if kind is None else f"type {kind}", None)


def _gre(packet: Packet, offset: int) -> _Step:
    flags = _field(packet, offset, 2)
    if flags is None or flags & 0x4007:  # routing or a version other than 0: RFC 2784
        return _Step("", None)
    optional = 4 * sum(1 for bit in (0x8000, 0x2000, 0x1000) if flags & bit)
    step = _by_ether_type(packet, offset + 2)
    return _Step(step.note, (step.next[0], step.next[1] + optional) if step.next else None)


def _opaque(_packet: Packet, _offset: int) -> _Step:
    return _Step("", None)


_PARSERS: dict[str, Callable[[Packet, int], _Step]] = {
    "Ethernet": _ethernet,
    "VLAN": _vlan,
    "MPLS": _mpls,
    "IPv4": _ipv4,
    "IPv6": _ipv6,
    "IPv6 hop-by-hop options": _ipv6_extension,
    "IPv6 routing": _ipv6_extension,
    "IPv6 destination options": _ipv6_extension,
    "IPv6 fragment": _ipv6_fragment,
    "TCP": _ports,
    "UDP": _ports,
    "SCTP": _ports,
    "ICMP": _icmp,
    "ICMPv6": _icmp,
    "GRE": _gre,
}


ROW = 16
"""Bytes in a row of a hex dump."""


def witness_bytes(witness: Witness) -> list[int | None]:
    """Return the packet of a witness, padded to its full length; None is an arbitrary byte.

    Raises:
        ValueError: if the notation is invalid.
    """
    text = "".join(witness["packet"].split())
    pairs = [text[i : i + 2] for i in range(0, len(text), 2)]
    packet = [None if pair == "--" else bytes.fromhex(pair)[0] for pair in pairs]
    packet += [None] * (witness["length"] - len(packet))
    return packet


def wire_bytes(witness: Witness) -> bytes:
    """Return the packet of a witness as bytes to send, with zeros for arbitrary bytes.

    Raises:
        ValueError: if the notation is invalid.
    """
    packet = bytes.fromhex(witness["packet"].replace("--", "00"))
    return packet.ljust(witness["length"], b"\0")


def frame(packet: bytes, kind: str | None) -> bytes:
    """Convert a packet to an Ethernet frame, if programs of this type get no Ethernet header.

    The kernel's test runs expect this header, too.
    """
    if kind not in ("cgroup_skb", "socket_filter"):
        return packet
    version = packet[0] >> 4 if packet else 0
    ether_type = {4: 0x0800, 6: 0x86DD}.get(version, _EXPERIMENT)
    return bytes(12) + struct.pack(">H", ether_type) + packet


def hex_dump(packet: Sequence[int | None], kind: str | None = None) -> Iterator[str]:
    """Yield lines of 16 bytes, each with the names of the headers that start in it.

    `kind` is the type of the program, which determines the first header. Adjacent lines of
    arbitrary bytes become one `*`, as equal lines do in `hexdump`.
    """
    names: dict[int, list[str]] = {}
    for header in find_headers(packet, kind):
        text = f"{header.offset}: {header.name}" + (f" ({header.note})" if header.note else "")
        names.setdefault(header.offset // ROW, []).append(text)
    folded = False
    last = (len(packet) - 1) // ROW
    for row in range(last + 1):
        part = packet[row * ROW : (row + 1) * ROW]
        anything = all(byte is None for byte in part)
        if anything and row not in names and 0 < row < last:
            if not folded:
                yield "*"
            folded = True
            continue
        folded = False
        cells = " ".join(_cells(part[:8])) + "  " + " ".join(_cells(part[8:]))
        yield f"{row * ROW:04x}  {cells:<48}  {'  '.join(names.get(row, []))}".rstrip()


def _cells(part: Sequence[int | None]) -> list[str]:
    return ["--" if byte is None else f"{byte:02x}" for byte in part]


def memory_dump(offset: int, content: str) -> Iterator[str]:
    """Yield lines of 16 bytes of memory; `content` is in hexadecimal and starts at `offset`."""
    cells = [content[i : i + 2] for i in range(0, len(content), 2)]
    for start in range(0, len(cells), ROW):
        yield f"{offset + start:04x}  {' '.join(cells[start : start + ROW])}"
