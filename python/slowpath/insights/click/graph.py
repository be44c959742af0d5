"""The flat graph of a Click configuration: elements without compound ones, and connections."""

from collections.abc import Sequence
from typing import NamedTuple


class Element(NamedTuple):
    """An element of the flat graph, and the place of its declaration."""

    name: str
    """Unique name; components of compound elements are named `compound/component`."""
    kind: str
    """Name of the class."""
    config: str
    """Configuration string with variables replaced, without comments."""
    line: int = 0
    column: int = 0
    file: str = ""


class Connection(NamedTuple):
    """A connection between two elements, given by their indices, and its place."""

    start: int
    output: int
    end: int
    input: int
    line: int = 0
    column: int = 0
    file: str = ""


class Graph(NamedTuple):
    """A configuration without compound elements, variables and synonyms."""

    file: str
    elements: Sequence[Element]
    """Elements in the order of the configuration."""
    connections: Sequence[Connection]
    """Connections, sorted by elements and ports; none occurs twice."""
    packages: Sequence[str] = ()
    """Packages that the configuration requires."""

    def ports(self, element: int) -> tuple[int, int]:
        """Return the numbers of used inputs and outputs of an element: the largest port plus 1."""
        inputs = [one.input for one in self.connections if one.end == element]
        outputs = [one.output for one in self.connections if one.start == element]
        return 1 + max(inputs, default=-1), 1 + max(outputs, default=-1)

    def click(self) -> str:
        """Return the graph as a Click configuration; parsing it gives the same graph."""
        lines = (
            [f"require({', '.join(f'package {one}' for one in self.packages)});"]
            if self.packages
            else []
        )
        for one in self.elements:
            config = f"({one.config})" if one.config else ""
            lines.append(f"{one.name} :: {one.kind}{config};")
        for wire in self.connections:
            first, second = self.elements[wire.start].name, self.elements[wire.end].name
            lines.append(f"{first} [{wire.output}] -> [{wire.input}] {second};")
        return "\n".join(lines) + "\n"
