"""Helpers for tests that run XDP programs in user space, as `insights` does."""

import struct
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from slowpath.core.engine import MapsFile
from slowpath.core.engine.objects import Captured
from slowpath.core.programs.sources import Clang
from slowpath.insights.accelerators.proofs.harness import noise_of
from slowpath.insights.source.entry import choose_entry
from slowpath.insights.source.unit import CompiledUnit
from slowpath.insights.trace import RunSettings
from slowpath.insights.trace.execution import Execution
from slowpath.insights.trace.xdp_map_contents import InitialContent, tail_call_targets
from slowpath.insights.trace.xdp_sources import load_runnable
from xdp_kernel import Answer

HERE = Path(__file__).parents[1] / "counts/xdp"
_VARIED = (12, 13, 14, 20, 23, 26, 30, 36, 37, 42, 46, 47)
"""Offsets of bytes in a frame that programs examine: EtherType, fragment, protocol and ports."""


class MapState(NamedTuple):
    """A BPF map after a run: its definition and its entries; sizes are in bytes."""

    kind: int
    key: int
    value: int
    entries: dict[bytes, bytes]
    max_entries: int
    flags: int
    extra: int


class Ran(NamedTuple):
    """The results of a program for packets, and the content of its maps after the last packet."""

    program: str
    answers: list[Answer]
    maps: dict[str, MapState]


def ran(
    source: Path, packets: Sequence[bytes], maps: MapsFile | None = None, entry: str | None = None
) -> Ran:
    """Run an XDP program on packets in user space, in a separate process."""
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        return pool.submit(_ran, source, packets, maps, entry).result()


def _ran(source: Path, packets: Sequence[bytes], maps: MapsFile | None, entry: str | None) -> Ran:
    read = load_runnable(str(source), Clang(), filled=maps is not None)
    unit = CompiledUnit(read)
    start = InitialContent(read.object, read.lacking, maps)
    chosen = choose_entry(str(source), unit.functions, entry, tail_call_targets(str(source), start))
    execution = Execution(unit, chosen, start)
    arena, store = execution.arena, execution.store
    assert arena is not None
    results = execution.each(packets_of(packets), RunSettings())
    answers = [Answer(result or 0, arena.packet()) for result in results]
    kept = {
        one.map.name: MapState(
            one.map.kind,
            one.map.key,
            one.map.value_size,
            store.entries(one.map.name),
            one.map.entries,
            one.map.flags,
            one.map.extra,
        )
        for one in store.tables
    }
    return Ran(chosen.function.name, answers, kept)


def packets_of(frames: Sequence[bytes]) -> list[Captured]:
    """Convert frames to captured packets, one second apart."""
    return [Captured(one, len(one), at * 10**9) for at, one in enumerate(frames)]


def traffic(count: int, seed: int) -> list[bytes]:
    """Return random UDP and TCP frames over IPv4 and IPv6.

    Some have a VLAN tag or a random byte, or are cut off.
    """
    draw = noise_of(seed)
    found = []
    for _ in range(count):
        frame = bytearray(_frame(draw.randrange(0, 6), draw.randrange(0, 1 << 30)))
        if draw.randrange(0, 4) == 0:
            frame[_VARIED[draw.randrange(0, len(_VARIED))] % len(frame)] = draw.randrange(0, 256)
        if draw.randrange(0, 6) == 0:
            frame = frame[: draw.randrange(14, len(frame))]
        found.append(bytes(frame))
    return found


def requests(count: int, seed: int) -> list[bytes]:
    """Return random frames, with which the test program `helpers.bpf.c` calls its helpers."""
    draw = noise_of(seed)
    return [
        bytes(12)
        + b"\x88\xb5"
        + bytes([draw.randrange(0, 11)])
        + draw.randbytes(9)
        + draw.randbytes(draw.randrange(0, 90))
        for _ in range(count)
    ]


def orders(count: int, seed: int, kinds: bytes = b"") -> list[bytes]:
    """Return frames in which byte 14 selects the work of a program, and later bytes are random.

    `count` frames have a random byte 14; one more frame follows for each byte in `kinds`.
    """
    draw = noise_of(seed)
    drawn = bytes(draw.randrange(0, 8) for _ in range(count)) + kinds
    sizes = [draw.randrange(0, 60) if draw.randrange(0, 20) == 0 else 60 for _ in drawn]
    return [
        bytes(12) + b"\x88\xb5" + bytes([kind]) + draw.randbytes(max(size, 4))
        for kind, size in zip(drawn, sizes, strict=True)
    ]


def _frame(kind: int, number: int) -> bytes:
    ports = (53, 443, 5004, 80, 8080, 6000)
    source, to = 1024 + number % 16, ports[number // 16 % len(ports)]
    data = struct.pack(">IIHH", number, 0x0100_0001, 1, 0) + bytes(20 + number % 64)
    if kind % 2:
        rest = struct.pack(">HHHH", source, to, 8 + len(data), 0) + data
        protocol = 17
    else:
        rest = struct.pack(">HHIIBBHHH", source, to, 1, 2, 0x50, 2, 512, 0, 0) + data
        protocol = 6
    if kind < 4:  # IPv4
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(rest), 1, 0, 64, protocol, 0)
        rest = head + bytes([10, 0, 0, number % 9, 192, 0, 2, number // 9 % 3]) + rest
        kinds = b"\x08\x00"
    else:
        head = struct.pack(">IHBB", 0x6000_0000, len(rest), protocol, 64)
        rest = head + bytes(15) + bytes([number % 9]) + bytes(15) + b"\x01" + rest
        kinds = b"\x86\xdd"
    tag = b"\x81\x00\x00\x05" if number % 11 == 0 else b""
    return bytes(12) + tag + kinds + rest
