"""Names the HTML ids of a program's source lines, instructions and packet bytes.

All links of the page use these names. A link exists only if its target does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import PurePath

from slowpath.bounds.page_paths import Place, Way
from slowpath.core.html.page import Html, element
from slowpath.core.programs.packet import witness_bytes
from slowpath.core.programs.packet_fields import HeaderFields, header_fields
from slowpath.core.schema.results import Detail


class Anchors:
    """The HTML ids of one program on the page."""

    def __init__(
        self, name: str, detail: Detail, ways: Sequence[Way], kind: str | None = None
    ) -> None:
        """Create an instance; `name` is the id of the part of the page for a program of `kind`."""
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
        """Return the id of an instruction, or that of its source line; None if it has no row."""
        source = self.sources.get(number)
        if source is not None:
            return self.of_line((source["file"], source["line"]))
        return None if self.by_line or number not in self.sources else f"{self.name}-i{number}"

    def place_text(self, number: int) -> str:
        """Return the place of an instruction: `a.c:12`, or `.7` without source line."""
        source = self.sources.get(number)
        if source is None:
            return f".{number}"
        return f"{PurePath(source['file']).name}:{source['line']}"

    def link(self, number: int) -> Html:
        """Return the place of an instruction as a link to its row, if there is one."""
        target, text = self.of_instruction(number), self.place_text(number)
        return element("code", text) if target is None else element("a", text, href=f"#{target}")

    def of_field(self, way: Way, byte: int) -> str | None:
        """Return the id of the packet field that contains a byte; None if there is none."""
        offset = self._fields[way.number].get(byte)
        return None if offset is None else f"{self.name}-k{way.number}-b{offset}"

    def byte_links(self, way: Way, offsets: Iterable[int]) -> Iterator[Html]:
        """Yield ranges of packet bytes as links to their fields, such as `12-13`."""
        for first, last in ranges(offsets):
            text = f"{first}" if first == last else f"{first}-{last}"
            target = self.of_field(way, first)
            yield element("a", text, href=f"#{target}") if target else element("span", text)


def _headers(way: Way, kind: str | None) -> list[HeaderFields]:
    return [] if way.path is None else header_fields(witness_bytes(way.path["witness"]), kind)


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as ranges of consecutive ones: the first and last of each."""
    found = list[tuple[int, int]]()
    for number in numbers:
        if found and found[-1][1] + 1 == number:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
