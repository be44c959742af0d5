"""Passes packets through the elements of a configuration, in the process of the run.

Push and pull are calls, as in Click: an element that pushes a packet waits until the elements
behind it have processed the packet. After each packet of the trace, elements that pull empty the
queues.
"""

import ctypes
import struct
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from slowpath.core.engine.objects import Captured
from slowpath.insights.click.configurations import arguments
from slowpath.insights.click.graph import Graph
from slowpath.insights.click.models import Model
from slowpath.insights.click.processing import Directions
from slowpath.insights.click.stages import Stage

_DEEPEST, _CIRCLES = 250, 32
"""Maximum numbers of nested pushes and pulls, of all elements and of one; more are a circle."""
_MOST_TASKS = 10_000
"""Maximum number of calls of tasks after one packet of the trace."""
_CAPACITY = 1000
"""Capacity of a queue without a configuration (Click's manual, Queue)."""
_HEAD = struct.Struct("<5QI")  # buffer, data, three headers, length of a packet


class Arrival(NamedTuple):
    """A packet of a trace, and the source element that it enters by."""

    element: int
    number: int
    packet: Captured
    nanoseconds: int


class _Saved(NamedTuple):
    """A packet outside of all elements, such as in a queue."""

    head: bytes
    content: bytes


class Passage:
    """The elements of a configuration, connected."""

    def __init__(
        self,
        graph: Graph,
        directions: Sequence[Directions],
        stages: Mapping[int, Stage],
        models: Mapping[int, Model],
        marker: ctypes.c_int32,
    ) -> None:
        """Connect the elements; those without a stage or model lose the packets that they get.

        `marker` is memory that survives the process; it holds the number of the running element.
        """
        self._graph, self._directions = graph, directions
        self._stages, self._models, self._marker = stages, models, marker
        self._behind = {(one.start, one.output): (one.end, one.input) for one in graph.connections}
        self._before = {(one.end, one.input): (one.start, one.output) for one in graph.connections}
        self._queues = {at: deque[_Saved]() for at, one in models.items() if one.role == "queue"}
        self._sources = {at: deque[Arrival]() for at in range(len(graph.elements))}
        self.entered, self.dropped = Counter[int](), Counter[int]()
        self._turn, self._now, self._depth, self._moved = -1, 0, 0, 0
        self._keepers = any(
            "push" in directions[at].inputs and "pull" in directions[at].outputs for at in stages
        )
        self._nested = Counter[int]()
        self.problem: str | None = None

    def prepare(self, fuel: int, last: float) -> tuple[int, str] | None:
        """Configure all elements; return number and error of the first that fails, or None."""
        for at, stage in self._stages.items():
            self._marker.value = at
            error = stage.prepare(self._sender(at), self._fetcher(at), fuel, last)
            if error is not None:
                return at, error
        return None

    def run(self, arrivals: Sequence[Arrival]) -> int:
        """Pass packets on in their order, and return their number."""
        drivers = self._drivers()
        scratch = next(iter(self._stages.values()))
        for turn, one in enumerate(arrivals):
            self._turn, self._now = turn, one.nanoseconds
            if self._pulled_from(one.element):
                self._sources[one.element].append(one)
            else:
                scratch.begin(turn, one.nanoseconds)
                packet = scratch.arrive(one.packet.bytes, one.packet.length, one.nanoseconds)
                if not packet:
                    self.dropped[one.element] += 1
                    continue
                self._push((one.element, 0), packet)
                scratch.free(packet)
            self._drive(drivers)
            if self.problem is not None:
                return turn + 1
        return len(arrivals)

    # --- packets between elements -----------------------------------------------------------------

    def _sender(self, at: int) -> Any:  # noqa: ANN401 - a function
        def send(port: int, packet: int) -> None:
            try:
                self._push((at, port), packet)
            except Exception as problem:  # noqa: BLE001 - must not leave the callback
                self.problem = self.problem or f"internal error: {problem!r}; please report it"

        return send

    def _fetcher(self, at: int) -> Any:  # noqa: ANN401 - a function
        def fetch(port: int) -> int:
            try:
                return self._pull_into(at, port)
            except Exception as problem:  # noqa: BLE001 - must not leave the callback
                self.problem = self.problem or f"internal error: {problem!r}; please report it"
                return 0

        return fetch

    def _push(self, output: tuple[int, int], packet: int) -> None:
        """Pass a packet to the element behind an output."""
        target = self._behind.get(output)
        if target is None:
            return
        at, port = target
        self.entered[at] += 1
        stage = self._stages.get(at)
        if stage is not None:
            if not self._enter(at):
                return
            before = self._marker.value
            stage.begin(self._turn, self._now)
            copy = stage.hand(packet)
            if copy:
                self._marker.value = at
                stage.push(port, copy)
                self._marker.value = before
            else:
                self.dropped[at] += 1
            self._leave(at)
            return
        queue = self._queues.get(at)
        if queue is None:
            return
        if len(queue) < self._capacity(at):
            queue.append(self._save(packet))
        else:
            self.dropped[at] += 1

    def _enter(self, at: int) -> bool:
        """Count a nested call; return false, and note the problem, if there are too many."""
        if self._depth >= _DEEPEST or self._nested[at] >= _CIRCLES:
            name = self._graph.elements[at].name
            reason = f"packets circle without a queue, through {name}; put a Queue into the circle"
            self.problem = self.problem or reason
            return False
        self._depth += 1
        self._nested[at] += 1
        return True

    def _leave(self, at: int) -> None:
        self._depth -= 1
        self._nested[at] -= 1

    def _pull_into(self, at: int, port: int) -> int:
        """Return a packet for an element's input, in its own memory; 0 if there is none."""
        stage = self._stages[at]
        source = self._before.get((at, port))
        if source is None:
            return 0
        found = self._take(*source)
        if found is None:
            return 0
        packet, kept, owner = found
        self.entered[at] += 1
        copy = stage.hand(packet)
        if owner is not None:
            owner.free(packet)
        del kept
        if not copy:
            self.dropped[at] += 1
        return copy

    def _take(self, at: int, port: int) -> tuple[int, object, Stage | None] | None:
        """Take a packet from an output that is pulled.

        Return its address, objects that must live until it is copied, and the element that owns it.
        """
        stage = self._stages.get(at)
        if stage is not None:
            if not self._enter(at):
                return None
            before = self._marker.value
            self._marker.value = at
            stage.begin(self._turn, self._now)
            packet = stage.pull(port)
            self._marker.value = before
            self._leave(at)
            self._moved += bool(packet)
            return (packet, None, stage) if packet else None
        queue = self._queues.get(at)
        if queue:
            self._moved += 1
            return (*self._loaded(queue.popleft()), None)
        waiting = self._sources.get(at)
        if waiting:
            self._moved += 1
            one = waiting.popleft()
            scratch = next(iter(self._stages.values()))
            scratch.begin(self._turn, self._now)
            packet = scratch.arrive(one.packet.bytes, one.packet.length, one.nanoseconds)
            return (packet, None, scratch) if packet else None
        return None

    def _pulled_from(self, at: int) -> bool:
        outputs = self._directions[at].outputs
        return bool(outputs) and outputs[0] == "pull"

    # --- elements that pull -----------------------------------------------------------------------

    def _drivers(self) -> list[int]:
        """Return the elements that pull of their own accord: pulling sinks, and tasks."""
        return [
            at
            for at, one in enumerate(self._directions)
            if "pull" in one.inputs and "pull" not in one.outputs
            if at in self._stages or at in self._models
        ]

    def _drive(self, drivers: Sequence[int]) -> None:
        """Let elements pull until no queue gives a packet."""
        for _ in range(_MOST_TASKS):
            before = self._moved
            for at in drivers if self._is_waiting() else ():
                stage = self._stages.get(at)
                if stage is None:
                    self._drain(at)
                    continue
                stage.begin(self._turn, self._now)
                last, self._marker.value = self._marker.value, at
                stage.task()
                self._marker.value = last
            if self._moved == before or self.problem is not None:
                return
        self.problem = (
            self.problem
            or f"elements pulled {_MOST_TASKS:,} times after one packet; packets circle"
        )

    def _is_waiting(self) -> bool:
        """Return true if a packet may wait: in a queue, a source that is pulled, or an element."""
        waiting = any(self._queues.values()) or any(self._sources.values())
        return waiting or self._keepers

    def _drain(self, at: int) -> None:
        """Pull packets into a sink."""
        for port in range(len(self._directions[at].inputs)):
            source = self._before.get((at, port))
            while source is not None and self.problem is None and self._is_waiting():
                found = self._take(*source)
                if found is None:
                    break
                self.entered[at] += 1
                packet, _, owner = found
                if owner is not None:
                    owner.free(packet)

    # --- queues -----------------------------------------------------------------------------------

    def _capacity(self, at: int) -> int:
        first = (arguments(self._graph.elements[at].config) or [""])[0].split()
        number = first[-1] if first else ""
        return int(number) if number.isdigit() else _CAPACITY

    def _save(self, packet: int) -> _Saved:
        size = next(iter(self._stages.values())).packet_bytes
        head = ctypes.string_at(packet, size)
        buffer, data, *_, length = _HEAD.unpack_from(head)
        return _Saved(head, ctypes.string_at(buffer, data - buffer + length))

    @staticmethod
    def _loaded(saved: _Saved) -> tuple[int, object]:
        """Return the address of a saved packet, and the objects that hold it."""
        content = ctypes.create_string_buffer(saved.content, len(saved.content))
        head = ctypes.create_string_buffer(saved.head, len(saved.head))
        buffer, data, mac, network, transport, length = _HEAD.unpack_from(saved.head)
        start = ctypes.addressof(content)
        moved = [
            start + one - buffer if one else 0 for one in (buffer, data, mac, network, transport)
        ]
        _HEAD.pack_into(head, 0, *moved, length)
        return ctypes.addressof(head), (head, content)

    def waiting(self) -> dict[int, int]:
        """Return the number of packets in each queue that is not empty."""
        return {at: len(one) for at, one in self._queues.items() if one}
