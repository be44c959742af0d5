"""Delivers packets to a function: one by one, or when the function polls its ports.

A polling function calls `rte_eth_rx_burst` of slowpath's headers (`rte_ethdev.h`), which calls
`Receiving`. Each call returns the next packets of the trace, whatever the port and queue, up to the
requested number and the size of a burst. When no packet is left, the headers end the function by a
jump out of its loop.
"""

import ctypes
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.engine.objects import Captured
from slowpath.core.errors import InputError
from slowpath.insights.native import SIZE, Region
from slowpath.insights.source.entry import Entry
from slowpath.insights.trace import RunSettings
from slowpath.insights.trace.buffers import Buffers
from slowpath.insights.trace.memory import MemoryMap
from slowpath.insights.trace.xdp_maps import Arena


class PacketCallbacks(NamedTuple):
    """Functions that the delivery of packets calls before and between packets."""

    start: Callable[[], None]
    """Called once before the first packet; discards the counts of the set-up."""
    begin: Callable[[int, int], None]
    """Called before a packet or burst with the index of its first packet, and its size."""
    go_on: Callable[[], bool]
    """Returns true if there is time for more packets."""


class PacketFate(NamedTuple):
    """The fate of the packets: numbers of arrived and kept packets, and return values."""

    packets: int
    """Number of packets that arrived."""
    kept: int
    """Number of packets that were neither sent, killed nor returned."""
    results: Counter[int]
    """Number of packets by the function's return value."""
    returned: bool = False
    """True if a function with its own receive loop returned before the trace ended."""


Packet = Callable[[int, Captured], tuple[int | None, int]]
"""A function that processes a packet, given its index in the trace.

It returns the result (None if there is no number), and how many packets were neither sent, killed
nor returned.
"""
Arrive = Callable[[int, Captured], int]
"""A function that delivers a packet, given its index in the trace; returns its object's address."""
_SIGNED = {
    1: ctypes.c_bool,
    8: ctypes.c_int8,
    16: ctypes.c_int16,
    32: ctypes.c_int32,
    64: ctypes.c_int64,
}
_UNSIGNED = {
    1: ctypes.c_bool,
    8: ctypes.c_uint8,
    16: ctypes.c_uint16,
    32: ctypes.c_uint32,
    64: ctypes.c_uint64,
}


class LoadedEntry(NamedTuple):
    """A compiled entry function that is ready to get packets, with settings for the delivery."""

    entry: Entry
    address: Callable[[str], int]
    """Returns the address of a function or variable by its symbol."""
    setting: RunSettings
    support: str
    """Prefix of the symbols in the headers that deliver packets."""

    def arrive(self) -> Arrive:
        """Return a Python function that delivers a packet as an object of Click or DPDK."""
        parameters = (ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64)
        kind = ctypes.CFUNCTYPE(ctypes.c_uint64, *parameters, ctypes.c_uint32)
        deliver = kind(self.address(f"{self.support}arrive"))
        strip = self.setting.strip

        def arrive(number: int, one: Captured) -> int:
            when = arrival_time(number, one)
            return int(deliver(one.bytes, len(one.bytes), one.length, when, strip))

        return arrive

    def left(self) -> Callable[[], int]:
        """Return a Python function that counts packets which were not sent, killed or returned."""
        left: Callable[[], int] = ctypes.CFUNCTYPE(ctypes.c_uint32)(
            self.address(f"{self.support}left")
        )
        return left

    def function(self) -> Callable[..., int]:
        """Return the entry function, which gets the packets, as a Python callable."""
        return _prototype(self.entry)(self.address(self.entry.function.name))


def one_by_one(packet: Packet, packets: Sequence[Captured], turns: PacketCallbacks) -> PacketFate:
    """Pass packets to a function one by one, and return their fate.

    The last packet or the end of the time ends the loop; `turns` has the callbacks.
    """
    ran, kept, results = 0, 0, Counter[int]()
    turns.start()
    for number, one in enumerate(packets):
        if not turns.go_on():
            break
        turns.begin(number, 1)
        result, left = packet(number, one)
        ran, kept = ran + 1, kept + left
        if result is not None:
            results[int(result)] += 1  # a result may be a bool
    return PacketFate(ran, kept, results)


def framework_delivery(ready: LoadedEntry, targets: Mapping[int, int]) -> Packet:
    """Return a Python function that passes a packet to the entry as an object of Click or DPDK.

    `targets` maps the indices of the entry's other pointer parameters to their values.
    """
    entry, address = ready.entry, ready.address
    function, arrive, left = ready.function(), ready.arrive(), ready.left()
    pointer = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
    wait, returned = address("slowpath_click_wait"), address("slowpath_click_given")
    pulls = entry.click and "packet" not in entry.roles
    burst = address("slowpath_dpdk_burst")
    element = 0 if entry.element is None else address(entry.element)

    def packet(number: int, one: Captured) -> tuple[int | None, int]:
        here = arrive(number, one)
        if pulls and wait:
            pointer(wait)(here)
        values = {"element": element, "packet": here, "port": 0}
        values |= {"mbuf": here, "burst": burst, "count": 1, "time": arrival_time(number, one)}
        arguments = (targets.get(at, values.get(role)) for at, role in enumerate(entry.roles))
        result = function(*arguments)
        if entry.result == "packet" and returned:
            pointer(returned)(result)
        return (result if entry.result == "number" else None), left()

    return packet


def raw(ready: LoadedEntry, region: Region) -> Packet:
    """Return a Python function that passes the bytes of a packet to the entry function.

    The bytes are at the end of `region`, so that accesses beyond the packet crash.
    """
    entry, function, strip = ready.entry, ready.function(), ready.setting.strip

    def packet(_number: int, one: Captured) -> tuple[int | None, int]:
        data = _whole(one)[strip:]
        start = region.address + SIZE - len(data)
        region.write(data, SIZE - len(data))
        values = {"bytes": start, "length": len(data), "end": start + len(data)}
        result = function(*(values[role] for role in entry.roles))
        return (result if entry.result == "number" else None), 0

    return packet


def of_xdp(ready: LoadedEntry, arena: Arena) -> Packet:
    """Return a Python function that runs an XDP program on a packet in the memory `arena`."""
    clock = ctypes.c_uint64.from_address(ready.address("slowpath_xdp_now"))
    first = ready.address(ready.entry.function.name)
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint64, ctypes.c_uint64)
    run = kind(ready.address("slowpath_xdp_run"))
    numbers, strip = ready.entry.result == "number", ready.setting.strip

    def packet(number: int, one: Captured) -> tuple[int | None, int]:
        clock.value = arrival_time(number, one)
        result = run(first, arena.place(_whole(one)[strip:]))
        return (result if numbers else None), 0

    return packet


def arrival_time(number: int, one: Captured) -> int:
    """Return the arrival time of a packet in nanoseconds; `number` is its index in the trace.

    Packets without a timestamp arrive one microsecond apart.
    """
    return 1000 * number if one.nanoseconds is None else one.nanoseconds


def _whole(one: Captured) -> bytes:
    """Return all bytes of a packet; zeros replace bytes that were not captured."""
    return one.bytes + bytes(one.length - len(one.bytes))


def _prototype(entry: Entry) -> Callable[[int], Callable[..., int]]:
    """Return a function that converts the address of the entry function to a Python callable."""
    results: dict[str, object] = {
        "void": None,
        "pointer": ctypes.c_uint64,
        **{f"i{bits}": kind for bits, kind in _SIGNED.items()},
    }
    kinds = [
        ctypes.c_uint64 if one.kind == "pointer" else _UNSIGNED[one.bits]
        for one in entry.function.parameters
    ]
    return ctypes.CFUNCTYPE(results[entry.function.result], *kinds)  # type: ignore[arg-type]


_USED_UP = -1
"""Result of a request for packets after the end of the trace; headers then end the function."""
_WORD = 8
_IDLE = 1000
"""Maximum number of consecutive requests for 0 packets."""
_MAX_PARAMETERS = 5
"""Maximum number of parameters, because `slowpath_dpdk_loop` passes only this many in registers."""


class Receiving:
    """Delivers packets to a function that receives them from DPDK ports in its own loop."""

    def __init__(self, file: str, ready: LoadedEntry, targets: Mapping[int, int]) -> None:
        """Prepare the delivery to the function in `ready`.

        `targets` maps the indices of pointer parameters to their values; other parameters are 0.

        Raises:
            InputError: when the function has too many parameters.
        """
        self._file, self._ready = file, ready
        function = ready.entry.function
        if len(function.parameters) > _MAX_PARAMETERS:
            reason = (
                f"the function {function.shown} receives packets and has {len(function.parameters)}"
            )
            raise InputError(
                codes.SIGNATURE_NOT_SUPPORTED,
                file,
                f"{function.place}: {reason} parameters; at most {_MAX_PARAMETERS} are supported",
            )
        values = (targets.get(at, 0) for at in range(_MAX_PARAMETERS))
        self._arguments = (ctypes.c_uint64 * _MAX_PARAMETERS)(*values)
        self._arrive, self._left = ready.arrive(), ready.left()
        self._packets: Sequence[Captured] = ()
        self._ran, self._kept, self._idle = 0, 0, 0
        self._problem: BaseException | None = None

    def run(self, packets: Sequence[Captured], turns: PacketCallbacks) -> PacketFate:
        """Call the function, which receives packets until the trace or the time is over.

        Return the fate of the packets.
        """
        self._packets, self._turns = packets, turns
        poll = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint64, ctypes.c_uint32)(self._poll)
        callback = ctypes.c_void_p.from_address(self._ready.address("slowpath_dpdk_poll"))
        callback.value = ctypes.cast(poll, ctypes.c_void_p).value
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
        loop = kind(self._ready.address("slowpath_dpdk_loop"))
        function = self._ready.address(self._ready.entry.function.name)
        was_left = loop(function, ctypes.addressof(self._arguments))
        if self._problem is not None:
            raise self._problem
        if not was_left and self._ran:
            self._kept += self._left()
        return PacketFate(self._ran, self._kept, Counter(), returned=not was_left)

    def _poll(self, to: int, limit: int) -> int:
        """Deliver up to `limit` packets to the polling function.

        Write their addresses to the address `to`, and return their number. Return `_USED_UP` if no
        packet or no time is left, or if an error occurred.
        """
        try:
            return self._next(to, limit)
        except Exception as problem:  # noqa: BLE001 - `run` raises it after the function
            self._problem = problem
            return _USED_UP

    def _next(self, to: int, limit: int) -> int:
        if self._ran:
            self._kept += self._left()
        else:
            self._turns.start()
        count = min(limit, len(self._packets) - self._ran)
        if self._ran == len(self._packets) or not self._turns.go_on():
            return _USED_UP
        self._idle = 0 if count else self._idle + 1
        if self._idle > _IDLE:
            function = self._ready.entry.function
            reason = f"the function {function.shown} repeatedly asks rte_eth_rx_burst for 0 packets"
            raise InputError(codes.RUN_FAILED, self._file, f"{function.place}: {reason}")
        if count:
            self._turns.begin(self._ran, count)
        for at in range(count):
            here = self._arrive(self._ran, self._packets[self._ran])
            ctypes.c_uint64.from_address(to + _WORD * at).value = here
            self._ran += 1
        return count


class Waiting(NamedTuple):
    """Packets that are neither sent nor freed at the end of a run, such as queued packets."""

    packets: int
    """Packets that structures refer to."""
    where: list[str]
    """Names of these structures."""
    lost: int
    """Packets that the function allocated and that no structure refers to."""


NONE = Waiting(0, [], 0)


def waiting(memory: MemoryMap, address: Callable[[str], int]) -> Waiting:
    """Count the packets that are neither sent nor freed at the end of a run.

    `address` returns the address of a symbol. A packet of the trace that no data structure refers
    to is not counted, because it counts as returned by the function. A packet with several segments
    counts once.
    """
    buffers = Buffers(memory, address)
    left = buffers.heads()
    found, where = 0, list[str]()
    for structure, referenced in buffers.by_structure() if left else ():
        here = left & referenced
        if here:
            found += len(here)
            where.append(memory.structures[structure].name)
            left -= here
    return Waiting(found, where, sum(at >= buffers.turns for at in left))


def waiting_note(packets: int, where: Sequence[str]) -> list[str]:
    """Return a note for the user on packets that wait in the data structures `where`.

    The list is empty for 0 packets.
    """
    if not packets:
        return []
    what = f"{packets:,} packet{'s wait' if packets != 1 else ' waits'} in {', '.join(where)}"
    return [f"{what} at the end of the trace, neither sent nor freed"]
