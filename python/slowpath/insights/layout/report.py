"""Prints the report of `slowpath insights coalescing` as text, CSV or C."""

from collections.abc import Iterator, Sequence

from slowpath.core.printable import csv_line, one_line
from slowpath.core.quantities import number
from slowpath.core.terminal import Line, grid
from slowpath.insights.layout.documents import CoalescingReport, ElementLayout, Pack, TouchedBlock
from slowpath.insights.layout.problem import Element, Variable, natural_alignment, offsets, size_of
from slowpath.insights.output import percent

_WORDS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}


def c_struct(
    element: Element,
    variables: Sequence[Variable],
    width: int,
    packs: Sequence[Pack],
    blocks: Sequence[TouchedBlock],
) -> str:
    """Return the definition of a C struct, with a static assertion of its size.

    Args:
        element: network function whose name the struct gets.
        variables: members in the order of the struct.
        width: bytes that an access fetches.
        packs: windows of the struct (ranges that an access fetches), for comments.
        blocks: blocks of code with their accesses, for comments.
    """
    name = element.name
    word = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
    word = f"_{word}" if word[:1].isdigit() else word
    saved = sum((one["before"] - one["accesses"]) * one["weight"] for one in blocks)
    fewer = f"{number(saved)} fewer for each packet than in the order of the source"
    lines = [f"/* Accesses of {width} bytes; {fewer}. */", f"struct {word} {{"]
    window = -1
    for one, at in zip(variables, offsets(variables), strict=True):
        if at // width != window:
            window = at // width
            pack = next(each for each in packs if each["offset"] == window * width)
            lines.append(f"\t/* {_fetched_by(pack, width, blocks)} */")
        lines.append(f"\t{_member(one)};")
    size = size_of(variables)
    lines += [
        "};",
        f'_Static_assert(sizeof(struct {word}) == {size}, "{word} has a different size");',
        f"/* Align each object to {width} bytes, also in arrays. */",
    ]
    return "\n".join(lines) + "\n"


def _fetched_by(pack: Pack, width: int, blocks: Sequence[TouchedBlock]) -> str:
    weights = {one["block"]: one["weight"] for one in blocks}
    by = ", ".join(f"{name} (x {weights[name]:g})" for name in pack["blocks"])
    where = f"bytes {pack['offset']} to {pack['offset'] + width - 1}"
    by = by.replace("*/", "* /")
    return f"{where}: one access of {by}" if by else f"{where}: no block fetches these bytes"


def _member(one: Variable) -> str:
    if one.type is not None:
        return f"{one.type} {one.name}"
    if one.size in _WORDS and one.align == natural_alignment(one.size):
        return f"{_WORDS[one.size]} {one.name}"
    aligned = f" __attribute__((aligned({one.align})))" if one.align > 1 else ""
    return f"uint8_t {one.name}[{one.size}]{aligned}"


COLUMNS = (
    *("element", "variable", "offset", "size_bytes", "pack"),
    *("element_accesses", "element_bound", "verdict"),
)


def layout_csv(report: CoalescingReport) -> Iterator[str]:
    """Yield the lines of a CSV report: a header, and a line for each variable in advised order.

    The column `pack` is the index of the first window (range that one access fetches) that the
    variable overlaps.
    """
    yield csv_line(COLUMNS)
    for element in report["results"]:
        results = (element["accesses"], element["bound"], element["verdict"])
        for one in element["members"]:
            position = (one["offset"], one["size_bytes"], one["offset"] // report["width"])
            yield csv_line((element["element"], one["variable"], *position, *results))


def layout_c(report: CoalescingReport) -> Iterator[Line]:
    """Yield the C definitions of the structs, with variables in the advised order."""
    yield Line("#include <stdint.h>")
    for element in report["results"]:
        yield Line("")
        yield from _struct(element)


def layout_text(report: CoalescingReport) -> Iterator[Line]:
    """Yield the lines of a text report, for each element (network function).

    They state the accesses for each order of variables and for each block of code, and the advised
    struct in C.
    """
    for at, element in enumerate(report["results"]):
        if at:
            yield Line("")
        yield Line(one_line(f"{element['element']}: {_headline(element, report['width'])}"), "bold")
        yield Line("")
        yield from _orders(element)
        yield Line("")
        yield from _blocks(element)
        yield Line("")
        yield from _struct(element)


def _headline(element: ElementLayout, width: int) -> str:
    found = f"{number(element['accesses'])} accesses of {width} bytes for each packet"
    if element["verdict"] == "optimal":
        return f"{found}; no order takes fewer accesses"
    return (
        f"{found}; the search stopped early, and no order takes fewer accesses than "
        f"{number(element['bound'])}"
    )


def _orders(element: ElementLayout) -> Iterator[Line]:
    columns = ("order", "accesses", "saved by advised order")
    rows = [("advised", number(element["accesses"]), "")]
    rows += [
        (one["layout"], number(one["accesses"]), percent(one["saved"]))
        for one in element["compared"]
    ]
    yield from grid(columns, rows, right=columns[1:])


def _blocks(element: ElementLayout) -> Iterator[Line]:
    columns = ("block", "runs", "accesses", "in the order of the source", "saved")
    rows = [
        (
            one["block"],
            f"{one['weight']:g}",
            str(one["accesses"]),
            str(one["before"]),
            number((one["before"] - one["accesses"]) * one["weight"]),
        )
        for one in element["blocks"]
    ]
    yield from grid(columns, rows, right=columns[1:])


def _struct(element: ElementLayout) -> Iterator[Line]:
    return map(Line, element["struct"].splitlines())
