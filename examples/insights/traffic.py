#!/usr/bin/env python3
"""Writes reproducible packet traces for the example Click elements into this folder."""

import random
import struct
from collections.abc import Iterator
from pathlib import Path

UDP, TCP = 17, 6
SYN, FIN, PUSH, ACK = 2, 1, 8, 16
MICROSECONDS = 250
"""Time between two packets, in microseconds."""


def main() -> None:
    """Write the packet traces of all example elements."""
    folder = Path(__file__).parent
    for name, packets in (
        ("nat", nat()),
        ("dns_proxy", dns_proxy()),
        ("udp_counter", udp_counter()),
        ("web_generator", web_generator()),
    ):
        (folder / f"{name}.pcap").write_bytes(pcap(packets))


def nat() -> Iterator[bytes]:
    """Yield 60 flows from an inside network.

    A few flows have most of the packets. Servers outside answer half of the packets.
    """
    draw = random.Random(1)
    flows = [
        (address("10.0.0.0") + draw.randrange(1, 250), draw.randrange(20000, 60000), kind)
        for kind in (UDP, TCP, TCP)
        for _ in range(20)
    ]
    ports = dict[int, int]()
    for _ in range(400):
        at = min(int(draw.expovariate(0.08)), len(flows) - 1)
        source, port, kind = flows[at]
        server = address("198.51.100.0") + at % 7
        if at in ports and draw.random() < 0.5:
            yield frame(server, address("192.0.2.1"), kind, 443, ports[at], bytes(60))
        else:
            ports.setdefault(at, 1024 + len(ports))
            yield frame(source, server, kind, port, 443, bytes(draw.choice((4, 20, 200))))


def dns_proxy() -> Iterator[bytes]:
    """Yield DNS queries for 40 names, some much more often; a server answers each name once."""
    draw = random.Random(2)
    names = [f"host{at}.example.{draw.choice(('net', 'org', 'com'))}" for at in range(40)]
    known = set[str]()
    for number in range(300):
        name = names[min(int(draw.expovariate(0.15)), len(names) - 1)]
        client = address("10.0.0.0") + draw.randrange(1, 50)
        labels = b"".join(bytes([len(one)]) + one.encode() for one in name.split("."))
        asked = labels + b"\0" + struct.pack(">HH", 1, 1)
        question = struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0) + asked
        yield frame(client, address("10.0.1.1"), UDP, draw.randrange(20000, 60000), 53, question)
        if name not in known:
            known.add(name)
            record = struct.pack(">HHHIHI", 0xC00C, 1, 1, 3600, 4, address("203.0.113.1"))
            answer = struct.pack(">HHHHHH", number, 0x8180, 1, 1, 0, 0) + asked + record
            yield frame(address("10.0.2.1"), client, UDP, 53, 30000, answer)


def udp_counter() -> Iterator[bytes]:
    """Yield packets of 80 UDP flows, a tenth of them from outside, and some TCP packets."""
    draw = random.Random(3)
    for _ in range(500):
        at = min(int(draw.expovariate(0.05)), 79)
        inside = draw.random() < 0.9
        source = address("10.0.0.0" if inside else "172.16.0.0") + at % 30
        kind = UDP if draw.random() < 0.95 else TCP
        port = 5000 + 13 * at
        data = bytes(draw.choice((10, 10, 60, 300)))
        yield frame(source, address("198.51.100.7"), kind, 1000 + at, port, data)


def web_generator() -> Iterator[bytes]:
    """Yield packets from a server to `web_generator`, an element that opens TCP connections.

    The answers are in the order of the client ports that the element uses.
    """
    draw = random.Random(4)
    server, client = address("198.51.100.80"), address("10.0.0.2")
    for number in range(32):
        yield frame(server, client, TCP, 80, 9, b"", flags=ACK)  # triggers a connection
        port = 1024 + number
        sequence = draw.randrange(1 << 31)
        yield frame(server, client, TCP, 80, port, b"", flags=SYN | ACK, sequence=sequence)
        parts = draw.randrange(1, 5)
        for part in range(parts):
            flags = ACK | PUSH | (FIN if part == parts - 1 else 0)
            yield frame(server, client, TCP, 80, port, bytes(100), flags=flags)


def frame(
    source: int,
    destination: int,
    kind: int,
    sport: int,
    dport: int,
    data: bytes,
    *,
    flags: int = ACK,
    sequence: int = 1,
) -> bytes:
    """Return an Ethernet frame with IPv4 and TCP or UDP. Its checksums are zero."""
    if kind == UDP:
        inner = struct.pack(">HHHH", sport, dport, 8 + len(data), 0)
    else:
        inner = struct.pack(">HHIIBBHHH", sport, dport, sequence, 1, 0x50, flags, 8192, 0, 0)
    length = 20 + len(inner) + len(data)
    head = struct.pack(">BBHHHBBHII", 0x45, 0, length, 0, 0, 64, kind, 0, source, destination)
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    total += total >> 16
    head = head[:10] + struct.pack(">H", ~total & 0xFFFF) + head[12:]
    packet = bytes.fromhex("020000000001 020000000002 0800") + head + inner + data
    return packet + bytes(max(0, 60 - len(packet)))


def address(text: str) -> int:
    """Return an IPv4 address as a number."""
    return int.from_bytes(bytes(map(int, text.split("."))))


def pcap(packets: Iterator[bytes]) -> bytes:
    """Return a pcap file with these frames, one every `MICROSECONDS` microseconds."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)]
    for number, packet in enumerate(packets):
        seconds, rest = divmod(number * MICROSECONDS, 1_000_000)
        head = struct.pack("<IIII", 1_700_000_000 + seconds, rest, len(packet), len(packet))
        parts += [head, packet]
    return b"".join(parts)


if __name__ == "__main__":
    main()
