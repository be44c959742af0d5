"""Elements of a configuration that run: an instrumented module for each, with its ports."""

import ctypes
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from slowpath.insights.click.addresses import NamedAddress
from slowpath.insights.click.processing import Directions
from slowpath.insights.source.entry import Entry
from slowpath.insights.source.sources import ELEMENT
from slowpath.insights.source.unit import CompiledUnit
from slowpath.insights.trace import RunSettings
from slowpath.insights.trace.execution import Execution, Recording
from slowpath.insights.trace.packets import PacketFate

_ROOM = 1 << 16
"""Capacity of the record buffer of one element."""
_NAME = 63
_POINTER = ctypes.c_uint64
Send = Callable[[int, int], None]
"""Passes on a packet that an element pushed: number of the output, address of the packet."""
Fetch = Callable[[int], int]
"""Returns the address of a packet for an element that pulls from an input, or 0."""


class Setting(NamedTuple):
    """Name, configuration, visible names and ports of an element."""

    name: str
    config: str
    names: Sequence[NamedAddress]
    """Named addresses that the configuration string may use."""
    directions: Directions


class Stage:
    """An element that runs, in the process of the run."""

    def __init__(
        self, setting: Setting, execution: Execution, entry: Entry, unit: CompiledUnit
    ) -> None:
        """Store the element, its instrumented module, the function for packets, and its source."""
        self.name, self._config, self._names, self.directions = setting
        self.execution, self.entry, self.unit = execution, entry, unit
        self._symbol = (entry.element or "").removeprefix(ELEMENT)
        self._turn = -1

    def prepare(self, send: Send, fetch: Fetch, fuel: int, last: float) -> str | None:
        """Connect and configure the element; return its error, or None.

        Only a confined process may call this. `fuel` is the limit of blocks for a packet, and
        `last` the deadline on the monotonic clock.
        """
        address = self.execution.address
        self._send = ctypes.CFUNCTYPE(None, ctypes.c_int32, _POINTER)(send)
        self._fetch = ctypes.CFUNCTYPE(_POINTER, ctypes.c_int32)(fetch)
        for symbol, callback in (("send", self._send), ("fetch", self._fetch)):
            place = ctypes.c_void_p.from_address(address(f"slowpath_click_{symbol}"))
            place.value = ctypes.cast(callback, ctypes.c_void_p).value
        sides = (self.directions.inputs, self.directions.outputs)
        ports = (ctypes.c_int32 * 2).from_address(address("slowpath_click_connected"))
        ports[:] = [len(one) for one in sides]
        pulls = address("slowpath_click_pulls")
        width = _PORTS
        for side, directions in enumerate(sides):
            flags = bytes(one == "pull" for one in directions[:width])
            ctypes.memmove(pulls + width * side, flags, len(flags))
        called = self.name.encode()[:_NAME]
        ctypes.memmove(address("slowpath_click_called"), called + b"\0", len(called) + 1)
        define = self._function(
            "slowpath_click_define", ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p
        )
        for one in self._names:
            define(one.name.encode()[:_NAME], len(one.value), one.value)
        made = self.execution.record(RunSettings(config=self._config, fuel=fuel), last)
        if isinstance(made, str):
            return made
        self._recording: Recording = made
        self._bind()
        made.turns.start()
        return None

    def _bind(self) -> None:
        method = self.entry.function.shown.rpartition("::")[2]
        push = "batch" if method.endswith("_batch") else "pushed"
        self._push = self._function(
            f"slowpath_click_{push}_{self._symbol}", None, ctypes.c_int, _POINTER
        )
        self._pull = self._function(f"slowpath_click_pulled_{self._symbol}", _POINTER, ctypes.c_int)
        self._task = self._function(f"slowpath_click_task_{self._symbol}", ctypes.c_int)
        self._hand = self._function("slowpath_click_hand", _POINTER, _POINTER)
        self._free = self._function("slowpath_click_free", None, _POINTER)
        self._held = self._function("slowpath_click_held", ctypes.c_uint32)
        self._arrive = self._function(
            "slowpath_click_arrive",
            _POINTER,
            ctypes.c_char_p,
            ctypes.c_uint32,
            ctypes.c_uint32,
            ctypes.c_uint64,
            ctypes.c_uint32,
        )
        self._now = ctypes.c_uint64.from_address(self.execution.address("slowpath_click_now"))
        self.packet_bytes = ctypes.c_uint32.from_address(
            self.execution.address("slowpath_click_packet_bytes")
        ).value

    def _function(self, symbol: str, result: Any, *parameters: Any) -> Callable[..., Any]:  # noqa: ANN401 - types of ctypes
        made: Callable[..., Any] = ctypes.CFUNCTYPE(result, *parameters)(
            self.execution.address(symbol)
        )
        return made

    def begin(self, turn: int, nanoseconds: int) -> None:
        """Start to process a packet of the trace, by its number, unless this has begun."""
        if turn != self._turn:
            self._turn = turn
            self._recording.turns.begin(turn, 1)
            self._now.value = nanoseconds

    def arrive(self, data: bytes, length: int, nanoseconds: int) -> int:
        """Return the address of a new packet with these bytes; 0 without a free buffer."""
        return int(self._arrive(data, len(data), length, nanoseconds, 0))

    def hand(self, packet: int) -> int:
        """Return the address of a copy of another element's packet; 0 without a free buffer."""
        return int(self._hand(packet))

    def free(self, packet: int) -> None:
        """Free the buffer of a packet."""
        self._free(packet)

    def push(self, port: int, packet: int) -> None:
        """Push a packet into an input."""
        self._push(port, packet)

    def pull(self, port: int) -> int:
        """Pull a packet from an output; return its address, or 0."""
        return int(self._pull(port))

    def task(self) -> None:
        """Run the element's task once."""
        self._task()

    def finish(self, packets: int) -> dict[str, Any]:
        """End the run; return the counts as a message. `packets` have entered the element."""
        return self._recording.finish(PacketFate(packets, 0, Counter()))

    def held(self) -> int:
        """Return the number of packets that the element keeps."""
        return int(self._held())


_PORTS = 64
"""Number of ports for which the headers know directions (`SLOWPATH_PORTS`)."""


def make_execution(unit: CompiledUnit, entry: Entry) -> Execution:
    """Instrument and compile an element."""
    return Execution(unit, entry, room=_ROOM)
