"""The packet of an experiment: its headers, and in the payload what the component looks at."""

from slowpath.experiments.specification.documents import Experiment
from slowpath.experiments.specification.reading import HEADERS

TYPE = 0x1000
"""The type that headers of the component `parser` have, in the order of memory `00 10`."""
_NUMBERS = {"ipv4": b"\x08\x00", "ipv6": b"\x86\xdd"}  # EtherType
_VXLAN = b"\x12\xb5"  # UDP port
_PROTOCOLS = {"udp": 17, "tcp": 6}


def headers_end(experiment: Experiment) -> int:
    """Bytes in front of the payload."""
    return sum(HEADERS[header] for header in experiment["traffic"]["headers"])


def key_offset(experiment: Experiment) -> int:
    """Where the key of tables begins: at the bytes that vary, else at the payload."""
    vary = experiment["traffic"]["vary"]
    return vary[0]["offset"] if vary else headers_end(experiment)


def key_rest(experiment: Experiment, size: int, key_bytes: int) -> bytes:
    """What is behind the first 4 bytes of a key, which do not vary; of a packet of this size."""
    where = key_offset(experiment)
    return packet_of(experiment, size)[where + 4 : where + key_bytes]


def packet_of(experiment: Experiment, size: int, parser: tuple[int, int] | None = None) -> bytes:
    """The packet with the value 0 where it varies; `parser`: headers in the payload, their size.

    Lengths are right, addresses are those for documentation, checksums are zero.
    """
    headers, data = experiment["traffic"]["headers"], bytearray(size)
    at = 0
    for number, header in enumerate(headers):
        inner = headers[number + 1] if number + 1 < len(headers) else None
        left, piece = size - at, b""
        if header == "ethernet":
            piece = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02" + _NUMBERS.get(inner or "", b"\x88\xb5")
        elif header == "ipv4":
            protocol = bytes([64, _PROTOCOLS.get(inner or "", 59)])
            length = left.to_bytes(2, "big")
            addresses = bytes([192, 0, 2, 1, 198, 51, 100, 1])
            piece = b"\x45\0" + length + bytes(4) + protocol + bytes(2) + addresses
        elif header == "ipv6":
            following = bytes([_PROTOCOLS.get(inner or "", 59), 64])
            source, to = (bytes.fromhex("20010db8") + bytes(11) + bytes([one]) for one in (1, 2))
            piece = b"\x60\0\0\0" + (left - 40).to_bytes(2, "big") + following + source + to
        elif header == "udp":
            port = _VXLAN if inner == "vxlan" else b"\x10\x02"
            piece = b"\x10\x01" + port + left.to_bytes(2, "big") + bytes(2)
        elif header == "vxlan":
            piece = b"\x08\0\0\0\0\0\x01\0"
        elif header == "tcp":
            piece = b"\x10\x01\x10\x02" + bytes(8) + b"\x50\x10\x10\0" + bytes(4)
        data[at : at + len(piece)] = piece
        at += HEADERS[header]
    for vary in experiment["traffic"]["vary"]:
        data[vary["offset"] : vary["offset"] + vary["bytes"]] = bytes(vary["bytes"])
    for number in range(parser[0] if parser else 0):
        place = at + number * (parser[1] if parser else 0)
        data[place : place + 2] = TYPE.to_bytes(2, "little")
    return bytes(data)
