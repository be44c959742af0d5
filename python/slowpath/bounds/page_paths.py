"""Selects the paths that the HTML page of a program shows, and names the ids of its elements.

The page has the same elements for each path; the reader chooses the path to see
(`slowpath.core.html.explorer`). All links of the page use these ids. A link exists only if its
target does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import PurePath
from typing import NamedTuple

from slowpath.core.html import Html, element
from slowpath.core.html.explorer import PATHS, path_classes
from slowpath.core.programs.packet import witness_bytes
from slowpath.core.programs.packet_fields import HeaderFields, header_fields
from slowpath.core.schema.derived import is_found, main_component
from slowpath.core.schema.results import Detail, PathBranch, PathDetail, PathResult, Profile, Result

_CELLS = 12_000
"""Approximate maximum of table rows times paths, to limit the size of pages."""

Place = tuple[str, int]
"""A source location: file and line."""


class LineCost(NamedTuple):
    """Cost of one source line, or of one instruction, on a path."""

    runs: int
    cost: Mapping[str, float]  # by component
    share: float  # of the path's cost on the main component, from 0 to 1


class Way(NamedTuple):
    """A path through the program that the page shows."""

    number: int  # from 1
    profile: Profile
    path: PathResult | None  # None: possibly no packet takes the path
    detail: PathDetail | None
    component: str  # component that shares refer to

    @property
    def classes(self) -> str:
        """CSS classes of elements that show this path."""
        return path_classes(self.number)

    @property
    def branches(self) -> Sequence[PathBranch]:
        """Branches on the path whose conditions depend on inputs, such as packet bytes."""
        return [] if self.detail is None else self.detail["branches"]

    def lines(self) -> dict[Place, LineCost]:
        """Return the costs of source lines by file and line.

        If a line has copies in several functions, their costs are added.
        """
        runs, costs = dict[Place, int](), dict[Place, dict[str, float]]()
        for line in self.profile["lines"]:
            place = (line["file"], line["line"])
            runs[place] = runs.get(place, 0) + line["runs"]
            total = costs.setdefault(place, {})
            for name, cost in line["cost"].items():
                total[name] = total.get(name, 0) + cost
        return {place: self._cost(runs[place], cost) for place, cost in costs.items()}

    def instructions(self) -> dict[int, LineCost]:
        """Return the costs of executed instructions, by index of the instruction."""
        entries = self.profile["instructions"]
        return {one["instruction"]: self._cost(one["runs"], one["cost"]) for one in entries}

    def _cost(self, runs: int, cost: Mapping[str, float]) -> LineCost:
        total = self.profile["cost"].get(self.component, 0)
        return LineCost(runs, cost, cost.get(self.component, 0) / total if total else 0.0)


def ways_of(result: Result, detail: Detail) -> list[Way]:
    """Return the paths to show, slowest first; none without a guarantee.

    If the search ended early, the path that sets the bound comes first. It is possible that no
    packet takes this path.
    """
    guarantee, component = result["guarantee"], main_component(result)
    if guarantee is None or component is None or result["profile"] is None:
        return []
    rows = len({_place(one) for one in detail["code"]})
    most = max(1, min(PATHS, _CELLS // max(rows, 1)))
    ways = list[Way]()
    if not is_found(guarantee):
        ways.append(Way(1, result["profile"], None, None, component))
    for path, one in zip(result["paths"], detail["paths"], strict=False):
        profile = one["profile"]
        if len(ways) < most and profile is not None:
            ways.append(Way(len(ways) + 1, profile, path, one, component))
    return ways or [Way(1, result["profile"], None, None, component)]


def _place(code: Mapping[str, object]) -> object:
    source = code["source"]
    if isinstance(source, dict):
        return source["file"], source["line"]
    return code["instruction"]


class Anchors:
    """The HTML ids of the page's elements for one program: lines, instructions, packet fields."""

    def __init__(
        self, name: str, detail: Detail, ways: Sequence[Way], kind: str | None = None
    ) -> None:
        """Create an instance.

        `name` is the id of the program's part of the page, and starts all other ids. `kind` is the
        type of the program.
        """
        self.name = name
        self.kind = kind
        self.by_line = any(one["source"] is not None for one in detail["code"])
        self.sources = {one["instruction"]: one["source"] for one in detail["code"]}
        self.headers = {way.number: _headers(way, kind) for way in ways}
        self._fields = {
            number: {
                byte: field.offset
                for header in headers
                for field in header.fields
                for byte in field.span
            }
            for number, headers in self.headers.items()
        }
        numbers = count()
        files = (one["source"]["file"] for one in detail["code"] if one["source"] is not None)
        self._files: Mapping[str, int] = {file: next(numbers) for file in dict.fromkeys(files)}

    def of_line(self, place: Place) -> str:
        """Return the id of a source line."""
        file, line = place
        return f"{self.name}-f{self._files[file]}-{line}"

    def of_instruction(self, number: int) -> str | None:
        """Return the id of an instruction's row, or that of its source line.

        None if the page has no such row.
        """
        source = self.sources.get(number)
        if source is not None:
            return self.of_line((source["file"], source["line"]))
        return None if self.by_line or number not in self.sources else f"{self.name}-i{number}"

    def place_text(self, number: int) -> str:
        """Format the location of an instruction: `a.c:12`, or `.7` without a source line."""
        source = self.sources.get(number)
        if source is None:
            return f".{number}"
        return f"{PurePath(source['file']).name}:{source['line']}"

    def link(self, number: int) -> Html:
        """Format the location of an instruction as a link to its row, if it has one."""
        target, text = self.of_instruction(number), self.place_text(number)
        return element("code", text) if target is None else element("a", text, href=f"#{target}")

    def of_field(self, way: Way, byte: int) -> str | None:
        """Return the id of the packet field that contains `byte`; None if no field does.

        `byte` is an offset in the packet of path `way`.
        """
        offset = self._fields[way.number].get(byte)
        return None if offset is None else f"{self.name}-k{way.number}-b{offset}"

    def byte_links(self, way: Way, offsets: Iterable[int]) -> Iterator[Html]:
        """Yield ranges of packet offsets, such as `12-13`, as links to the fields there."""
        for first, last in ranges(offsets):
            text = f"{first}" if first == last else f"{first}-{last}"
            target = self.of_field(way, first)
            yield element("a", text, href=f"#{target}") if target else element("span", text)


def _headers(way: Way, kind: str | None) -> list[HeaderFields]:
    return [] if way.path is None else header_fields(witness_bytes(way.path["witness"]), kind)


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Group ascending numbers into ranges of consecutive numbers; return the ends of each range."""
    found = list[tuple[int, int]]()
    for number in numbers:
        if found and found[-1][1] + 1 == number:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
