"""Checks numbers of ports, and resolves which ports push and which pull.

Agnostic ports take the direction of the ports that they are connected to, also through elements
whose packets travel from the input to the output. Agnostic ports that nothing decides push. The
source of the codes is Click's header element.hh: `a/ah` lists inputs, then outputs; the last letter
repeats.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.insights.click.graph import Connection, Graph

Direction = Literal["push", "pull"]
_LETTERS: dict[str, Direction | None] = {"h": "push", "l": "pull", "a": None}
_FLOW = re.compile(r"\[\^?[^\]]*\]|[A-Za-z#@]")
_PORTS = re.compile(r"(\d*)(-?)(\d*)")


class Shape(NamedTuple):
    """What is known of a class's ports; None for unknown values."""

    ports: str | None
    processing: str | None
    flow: str | None


UNKNOWN = Shape(None, None, None)


class Directions(NamedTuple):
    """The number and directions of an element's ports."""

    inputs: Sequence[Direction]
    outputs: Sequence[Direction]


def resolve(graph: Graph, shapes: Mapping[str, Shape]) -> list[Directions]:
    """Return the directions of all ports, by element; `shapes` has the ports of classes.

    Raises:
        InputError: when a port is not connected, or connected too often, or push meets pull.
    """
    return _Resolution(graph, shapes).directions()


_Port = tuple[int, bool, int]
"""Element, true for an output, and number."""


class _Resolution:
    def __init__(self, graph: Graph, shapes: Mapping[str, Shape]) -> None:
        self._graph = graph
        self._shapes = [shapes.get(one.kind, UNKNOWN) for one in graph.elements]
        used = [[0, 0] for _ in graph.elements]
        for one in graph.connections:
            used[one.start][1] = max(used[one.start][1], one.output + 1)
            used[one.end][0] = max(used[one.end][0], one.input + 1)
        self._counts = [self._counted(at, *each) for at, each in enumerate(used)]
        self._parents = dict[_Port, _Port]()
        self._values = dict[_Port, tuple[Direction, str]]()  # with the reason

    def directions(self) -> list[Directions]:
        """Check all ports and connections, and return the directions."""
        self._check_connected()
        for at, shape in enumerate(self._shapes):
            self._start(at, shape)
        for one in self._graph.connections:
            self._join((one.start, True, one.output), (one.end, False, one.input), one)
        found = [
            Directions(
                [self._value((at, False, port)) for port in range(inputs)],
                [self._value((at, True, port)) for port in range(outputs)],
            )
            for at, (inputs, outputs) in enumerate(self._counts)
        ]
        self._check_single(found)
        return found

    def _counted(self, at: int, inputs: int, outputs: int) -> tuple[int, int]:
        """Return the numbers of inputs and outputs, at least those that are used."""
        text = self._shapes[at].ports
        if text is None:
            return inputs, outputs
        first, _, second = text.partition("/")
        second = second or first
        counted = _within(first, inputs)
        others = (
            _within(second, outputs)
            if not second.startswith("=")
            else _equal(second, outputs, counted)
        )
        element = self._graph.elements[at]
        for what, number, allowed in (("inputs", inputs, counted), ("outputs", outputs, others)):
            if number > allowed:
                has = f"{element.kind} has {allowed} {what}, but {element.name} uses {number}"
                self._refuse_element(at, f"{has}; remove connections")
        return counted, others

    def _refuse_element(self, at: int, reason: str) -> None:
        one = self._graph.elements[at]
        raise InputError(codes.CLICK_CONNECTION, f"{one.file}:{one.line}:{one.column}", reason)

    @staticmethod
    def _refuse(one: Connection, reason: str) -> None:
        raise InputError(codes.CLICK_CONNECTION, f"{one.file}:{one.line}:{one.column}", reason)

    def _check_connected(self) -> None:
        """Check that each port is connected; elements without a known number of ports are free."""
        connected = {(one.start, True, one.output) for one in self._graph.connections}
        connected |= {(one.end, False, one.input) for one in self._graph.connections}
        for at, counts in enumerate(self._counts):
            for out, count in enumerate(counts if self._shapes[at].ports is not None else ()):
                missing = next(
                    (port for port in range(count) if (at, bool(out), port) not in connected), None
                )
                if missing is not None:
                    what, remedy = ("output", "Discard") if out else ("input", "Idle")
                    name = self._graph.elements[at].name
                    reason = f"{what} [{missing}] of {name} is not connected"
                    self._refuse_element(at, f"{reason}; connect it, if need be to {remedy}")

    def _check_single(self, found: Sequence[Directions]) -> None:
        """Check that push outputs and pull inputs have one connection each."""
        seen = set[_Port]()
        for one in self._graph.connections:
            for port, direction, remedy in (
                ((one.start, True, one.output), "push", "put a Tee behind it"),
                (
                    (one.end, False, one.input),
                    "pull",
                    "put a scheduler, such as RoundRobinSched, before it",
                ),
            ):
                at, out, number = port
                ports = found[at].outputs if out else found[at].inputs
                if self._known(at) and ports[number] == direction and port in seen:
                    what = "output" if out else "input"
                    name = self._graph.elements[at].name
                    which = f"the {direction} {what} [{number}] of {name}"
                    self._refuse(one, f"{which} has two connections; {remedy}")
                seen.add(port)

    def _known(self, at: int) -> bool:
        return self._shapes[at].processing is not None

    # --- classes of ports with one direction ------------------------------------------------------

    def _start(self, at: int, shape: Shape) -> None:
        """Set the directions of an element's ports, and join its agnostic ports."""
        if shape.processing is None:
            return
        sides = shape.processing.split("/")
        agnostic = list[list[int]]()
        for out, count in enumerate(self._counts[at]):
            letters = sides[min(out, len(sides) - 1)].lower()
            open_ = list[int]()
            for port in range(count):
                letter = letters[min(port, len(letters) - 1)] if letters else "a"
                direction = _LETTERS.get(letter)
                if direction is None:
                    open_.append(port)
                else:
                    self._values[at, bool(out), port] = direction, self._graph.elements[at].name
            agnostic.append(open_)
        for first in agnostic[0]:
            for second in agnostic[1]:
                if flows(shape.flow or "x/x", first, second):
                    self._join((at, False, first), (at, True, second), None)

    def _root(self, port: _Port) -> _Port:
        while port in self._parents:
            port = self._parents[port]
        return port

    def _join(self, first: _Port, second: _Port, one: Connection | None) -> None:
        """Give two ports the same direction."""
        a, b = self._root(first), self._root(second)
        if a == b:
            return
        start, end = self._values.get(a), self._values.get(b)
        if start is not None and end is not None and start[0] != end[0]:
            where = one or self._near(first[0])
            if start[0] == "push":
                reason = f"{start[1]} pushes, but {end[1]} pulls; put a Queue between them"
            else:
                reason = f"{start[1]} is pulled, but {end[1]} is pushed to; put an Unqueue between"
            self._refuse(where, reason)
        self._parents[a] = b
        value = start or end
        if value is not None:
            self._values[b] = value

    def _near(self, at: int) -> Connection:
        return next(one for one in self._graph.connections if at in (one.start, one.end))

    def _value(self, port: _Port) -> Direction:
        found = self._values.get(self._root(port))
        return "push" if found is None else found[0]


def flows(code: str, first: int, second: int) -> bool:
    """Return true if packets travel from an input to an output, by the code of an element."""
    inputs, _, outputs = code.partition("/")
    left, right = _FLOW.findall(inputs), _FLOW.findall(outputs or inputs)
    if not left or not right:
        return True
    one, other = left[min(first, len(left) - 1)], right[min(second, len(right) - 1)]
    if "#" in (one, other):
        return first == second
    return bool(_letters(one) & _letters(other))


def _letters(text: str) -> set[str]:
    if not text.startswith("["):
        return {text}
    inside = text[1:-1]
    every = set(map(chr, range(ord("A"), ord("z") + 1)))
    return every - set(inside[1:]) if inside.startswith("^") else set(inside)


def _within(text: str, used: int) -> int:
    """Return the number of ports for a range such as `1-2` or `1-`, of which `used` are used.

    The result is smaller than `used` if the range is exceeded.
    """
    found = _PORTS.fullmatch(text)
    if found is None:
        return used
    low, ranged, high = found.groups()
    if not ranged:
        return int(low or 0)
    least = int(low or 0)
    return max(least, used if not high else min(used, int(high)))


def _equal(text: str, used: int, inputs: int) -> int:
    """Return the number of outputs for `=` (as many as inputs) and `=+` (one more for each `+`)."""
    return max(inputs + text.count("+"), used if "-" in text else 0)
