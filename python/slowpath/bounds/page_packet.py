"""Writes the packet that takes each path as tables of header fields, linked to branches."""

from collections.abc import Callable, Iterator, Sequence

from slowpath.bounds.p4_terms import (
    header_lines,
    lookup_text,
    other_requirements,
    other_unknowns,
    parser_text,
    table_text,
)
from slowpath.bounds.page_paths import Anchors, Way
from slowpath.bounds.report_path import given_text, map_rows, unknown_text
from slowpath.core.html import Column, Content, Html, element, join, table
from slowpath.core.html.explorer import pairs, region
from slowpath.core.programs.packet import Header, Packet, find_headers, witness_bytes
from slowpath.core.programs.packet_fields import Field, HeaderFields
from slowpath.core.schema.results import PathBranch, PathResult

_FIRST_BYTES = 64
"""Number of bytes of a header that the first screen shows."""
_SHOWN = 16
"""Maximum number of bytes of a field that are shown."""
_LINKS = 4
"""Maximum number of branches that the row of a field links to."""
_COLUMNS = [
    Column("instruction"),
    Column("runs", number=True),
    Column("jumps", number=True),
    Column("reads"),
    Column("condition", wide=True),
]


def header_words(header: Header) -> str:
    """Format the name of a header, with its note if any: `TCP (to port 80)`."""
    return f"{header.name} ({header.note})" if header.note else header.name


def hexadecimal(part: Packet) -> str:
    """Format bytes in hexadecimal; an arbitrary byte (None) becomes `--`."""
    return " ".join("--" if byte is None else f"{byte:02x}" for byte in part)


def header_list(
    packet: Packet, target: Callable[[int], str | None], kind: str | None = None
) -> Html:
    """Return a list of the headers in a packet, with their bytes as links into the page.

    `kind` is the type of the program. `target` maps the offset of a header to an id of the page;
    for None, the bytes are not a link.
    """
    headers = find_headers(packet, kind)
    ends = [*(header.offset for header in headers[1:]), len(packet)]
    known = list[tuple[str, Content]]()
    for header, end in zip(headers, ends, strict=True):
        part = packet[header.offset : min(end, header.offset + _FIRST_BYTES)]
        given = [at for at, byte in enumerate(part) if byte is not None]
        shown = part[: given[-1] + 1] if given else part[:0]
        text = hexadecimal(shown) + (" ..." if len(shown) < end - header.offset else "")
        code = element("code", text.strip() if given else "any bytes")
        to = target(header.offset)
        known.append((header_words(header), element("a", code, href=f"#{to}") if to else code))
    return pairs(known)


def packet_section(ways: Sequence[Way], anchors: Anchors, texts: dict[int, str]) -> Html:
    """Return the page section about the packets of all paths.

    `texts` has instructions as text, by index.
    """
    return element(
        "section",
        element("h2", "Packet"),
        *(element("div", *_packet(way, anchors, texts), class_=way.classes) for way in ways),
        id=f"{anchors.name}-packet",
    )


def _packet(way: Way, anchors: Anchors, texts: dict[int, str]) -> Iterator[Html]:
    if way.path is None:
        yield element("p", "This path sets the bound; perhaps no packet takes it.")
        return
    witness = way.path["witness"]
    packet = witness_bytes(witness)
    yield element(
        "p",
        f"A packet of {witness['length']} bytes that takes the path. -- is an arbitrary byte. "
        "The bytes are links to the first branch that reads them.",
        class_="soft small",
    )
    readers = dict[int, list[PathBranch]]()
    for branch in way.branches:
        for byte in branch["bytes"]:
            readers.setdefault(byte, []).append(branch)
    context = (readers, anchors)
    yield packet_table(
        anchors.headers[way.number],
        lambda field: _field_row(field, packet, way, context),
        "read by",
    )
    yield element("div", *_needed(way.path), class_="unprinted")
    yield from _branches(way, anchors, texts)


def packet_table(headers: Sequence[HeaderFields], row: Callable[[Field], Html], *more: str) -> Html:
    """Return the table of all fields of a packet.

    `row` formats one field: first the cells of `field_cells`, then a cell for each heading in
    `more`.
    """
    names = [("bytes", "n"), ("field", None), ("value", None), ("meaning", "wide")]
    names += [(name, None) for name in more]
    rows = list[Html]()
    for header, fields in headers:
        title = element("th", header_words(header), colspan=len(names), scope="rowgroup")
        rows.append(element("tr", title, class_="file"))
        rows += map(row, fields)
    head = element("tr", *(element("th", name, class_=kind, scope="col") for name, kind in names))
    made = element("table", element("thead", head), element("tbody", *rows), class_="dense packet")
    return region("packet", made)


def field_cells(field: Field, packet: Packet, target: str | None = None) -> list[Html]:
    """Return the table cells of a packet field: bytes, name, value, meaning.

    If `target` is an id of the page, the value is a link to it.
    """
    last = field.offset + field.size - 1
    span = f"{field.offset}" if field.size == 1 else f"{field.offset}-{last}"
    return [
        element("td", span, class_="at"),
        element("td", field.name),
        element("td", _hex(field, packet, target)),
        element("td", field.text, class_="wide"),
    ]


def _field_row(
    field: Field,
    packet: Packet,
    way: Way,
    context: tuple[dict[int, list[PathBranch]], Anchors],
) -> Html:
    readers, anchors = context
    found = {
        branch["instruction"]: branch for byte in field.span for branch in readers.get(byte, [])
    }
    # Several instructions of a line have the same row.
    places = dict[str, int]()
    for number in sorted(found):
        places.setdefault(anchors.place_text(number), number)
    links: list[Content] = []
    for at, number in enumerate(list(places.values())[:_LINKS]):
        links += [", " if at else None, anchors.link(number)]
    if len(places) > _LINKS:
        links.append(f" and {len(places) - _LINKS} more")
    first = min(found, default=None)
    target = None if first is None else anchors.of_instruction(first)
    return element(
        "tr",
        *field_cells(field, packet, target),
        element("td", *links),
        id=anchors.of_field(way, field.offset),
        # Omit fields that no branch reads from printed pages, to save paper.
        class_=None if found else "unprinted",
    )


def _hex(field: Field, packet: Packet, target: str | None) -> Html:
    part = packet[field.offset : field.offset + field.size]
    text = hexadecimal(part[:_SHOWN])
    if all(byte is None for byte in part) and field.size > 1:
        text = "any"
    elif field.size > _SHOWN:
        text += f" ... {field.size - _SHOWN} more"
    code = element("code", text)
    return code if target is None else element("a", code, href=f"#{target}")


def _needed(path: PathResult) -> Iterator[Html]:
    """Yield the content of maps and other values that a path requires, except for the packet."""
    witness = path["witness"]
    if "p4" in witness:
        view = witness["p4"]
        yield element("h3", "P4 parser: ", element("code", parser_text(view)))
        yield from _lines([row for header in view["headers"] for row in header_lines(header)])
        unknown = [] if view["unknown"] is None else [f"then unknown: {view['unknown']}"]
        yield element("h3", "P4 tables")
        yield from _lines([*map(table_text, view["tables"]), *unknown])
    for name in witness["maps"]:
        lines = list(map_rows(witness, name))
        if lines:
            yield element("h3", "Content of map ", element("code", name))
            yield from _lines(lines)
    requirements = other_requirements(witness)
    if requirements:
        yield element("h3", "Required at the start")
        yield from _lines([given_text(one) for one in requirements])
    if "pipeline" in witness:
        yield element("h3", "Tables")
        yield from _lines([lookup_text(one) for one in witness["pipeline"]["entries"]])
        yield element("h3", "Output")
        yield from _lines([witness["pipeline"]["output"] or "none: the packet is dropped"])
    unknowns = other_unknowns(witness)
    if unknowns:
        yield element("h3", "Required results of instructions")
        yield from _lines([unknown_text(one) for one in unknowns])
    if path.get("relies_on"):
        yield element("h3", "Further conditions")
        yield element("ul", *(element("li", one) for one in path.get("relies_on", [])))


_OPEN = 12
"""Maximum number of lines of a list that is shown unfolded; longer lists are collapsed."""


def _lines(lines: Sequence[str]) -> Iterator[Html]:
    body = join(*(element("div", element("code", line, class_="line")) for line in lines))
    if len(lines) <= _OPEN:
        yield element("div", body)
    else:
        yield element("details", element("summary", f"{len(lines)} lines"), body)


def _branches(way: Way, anchors: Anchors, texts: dict[int, str]) -> Iterator[Html]:
    if not way.branches:
        return
    words = f"Branches that depend on the packet or on maps: {len(way.branches)}"
    rows = (_branch_row(branch, way, anchors, texts) for branch in way.branches)
    yield element("details", element("summary", words), table(_COLUMNS, rows), class_="unprinted")


def _branch_row(
    branch: PathBranch, way: Way, anchors: Anchors, texts: dict[int, str]
) -> list[Content]:
    reads: list[Content] = []
    for link in anchors.byte_links(way, branch["bytes"]):
        reads += ["bytes " if not reads else ", ", link]
    if branch["length"]:
        reads.append("; length" if reads else "length of the packet")
    for name in branch["maps"]:
        reads += ["; " if reads else None, f"map {name}"]
    number = branch["instruction"]
    condition = element("code", texts.get(number, "").partition(" goto ")[0])
    return [
        anchors.link(number),
        str(branch["runs"]),
        str(branch["taken"]),
        join(*reads),
        condition,
    ]
