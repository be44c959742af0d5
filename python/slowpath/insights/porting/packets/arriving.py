"""Packets that come one by one: a function is called with each of them."""

import ctypes
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from slowpath.engine.captures import Captured
from slowpath.insights.accelerators.execution.memory import SIZE, Region
from slowpath.insights.porting.setting import Setting
from slowpath.insights.porting.xdp.memory import Arena
from slowpath.insights.preparation.entry import Entry


class Turns(NamedTuple):
    """What is done around packets."""

    start: Callable[[], None]
    """Before the first ones: what has run until then was to get ready."""
    begin: Callable[[int, int], None]
    """Before some: the number of the first in the trace, and how many there are."""
    go_on: Callable[[], bool]
    """Whether there is time for further ones."""


class Passed(NamedTuple):
    """What became of packets."""

    packets: int
    """So many came."""
    kept: int
    """So many are neither sent, killed nor given back."""
    results: Counter[int]
    """Packets by the number that the function returned."""
    returned: bool = False
    """Whether a function that receives packets itself has ended before it had all."""


Packet = Callable[[int, Captured], tuple[int | None, int]]
"""Has one packet processed: gives what was returned, and how many packets are left."""
Arrive = Callable[[int, Captured], int]
"""Brings a packet, by its number in the trace: its address."""
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


class Ready(NamedTuple):
    """A function that is in memory, and how packets come to it."""

    entry: Entry
    address: Callable[[str], int]
    """Where a function or variable is, by its symbol."""
    setting: Setting
    support: str
    """What symbols of the headers begin with that bring packets."""

    def arrive(self) -> Arrive:
        """What brings a packet as a framework describes it."""
        taken = (ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64)
        kind = ctypes.CFUNCTYPE(ctypes.c_uint64, *taken, ctypes.c_uint32)
        brought = kind(self.address(f"{self.support}arrive"))
        strip = self.setting.strip

        def arrive(number: int, one: Captured) -> int:
            when = moment(number, one)
            return int(brought(one.bytes, len(one.bytes), one.length, when, strip))

        return arrive

    def left(self) -> Callable[[], int]:
        """What says how many packets are neither sent, killed nor given back."""
        left: Callable[[], int] = ctypes.CFUNCTYPE(ctypes.c_uint32)(
            self.address(f"{self.support}left")
        )
        return left

    def function(self) -> Callable[..., int]:
        """The entry."""
        return _prototype(self.entry)(self.address(self.entry.function.name))


def one_by_one(packet: Packet, packets: Sequence[Captured], turns: Turns) -> Passed:
    """Has packets processed until they or the time is over."""
    ran, kept, results = 0, 0, Counter[int]()
    turns.start()
    for number, one in enumerate(packets):
        if not turns.go_on():
            break
        turns.begin(number, 1)
        result, left = packet(number, one)
        ran, kept = ran + 1, kept + left
        if result is not None:
            results[int(result)] += 1  # of bool, too
    return Passed(ran, kept, results)


def framed(ready: Ready, lent: Mapping[int, int]) -> Packet:
    """For packets as a framework describes them; `lent` are addresses, by place of a parameter."""
    entry, address = ready.entry, ready.address
    function, arrive, left = ready.function(), ready.arrive(), ready.left()
    pointer = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
    wait, given = address("slowpath_click_wait"), address("slowpath_click_given")
    pulls = entry.click and "packet" not in entry.roles
    burst = address("slowpath_dpdk_burst")
    element = 0 if entry.element is None else address(entry.element)

    def packet(number: int, one: Captured) -> tuple[int | None, int]:
        here = arrive(number, one)
        if pulls and wait:
            pointer(wait)(here)
        values = {"element": element, "packet": here, "port": 0}
        values |= {"mbuf": here, "burst": burst, "one": 1, "time": moment(number, one)}
        arguments = (lent.get(at, values.get(role)) for at, role in enumerate(entry.roles))
        result = function(*arguments)
        if entry.gives == "packet" and given:
            pointer(given)(result)
        return (result if entry.gives == "number" else None), left()

    return packet


def raw(ready: Ready, region: Region) -> Packet:
    """For bytes and their length: the packet ends where nobody may read on."""
    entry, function, strip = ready.entry, ready.function(), ready.setting.strip

    def packet(_number: int, one: Captured) -> tuple[int | None, int]:
        data = _whole(one)[strip:]
        start = region.address + SIZE - len(data)
        region.write(data, SIZE - len(data))
        values = {"bytes": start, "length": len(data), "end": start + len(data)}
        result = function(*(values[role] for role in entry.roles))
        return (result if entry.gives == "number" else None), 0

    return packet


def of_xdp(ready: Ready, arena: Arena) -> Packet:
    """For the context of an XDP program."""
    clock = ctypes.c_uint64.from_address(ready.address("slowpath_xdp_now"))
    first = ready.address(ready.entry.function.name)
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint64, ctypes.c_uint64)
    run = kind(ready.address("slowpath_xdp_run"))
    numbers, strip = ready.entry.gives == "number", ready.setting.strip

    def packet(number: int, one: Captured) -> tuple[int | None, int]:
        clock.value = moment(number, one)
        result = run(first, arena.place(_whole(one)[strip:]))
        return (result if numbers else None), 0

    return packet


def moment(number: int, one: Captured) -> int:
    """When a packet arrives; where the trace does not say it, one each microsecond."""
    return 1000 * number if one.nanoseconds is None else one.nanoseconds


def _whole(one: Captured) -> bytes:
    """A packet's bytes, with zeros for those that were not captured."""
    return one.bytes + bytes(one.length - len(one.bytes))


def _prototype(entry: Entry) -> Callable[[int], Callable[..., int]]:
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
