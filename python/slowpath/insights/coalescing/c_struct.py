"""A layout as a struct in C, with what fetches its packs."""

from collections.abc import Iterator, Sequence

from slowpath.insights.coalescing.documents import Pack, TouchedBlock
from slowpath.insights.coalescing.layout import offsets, size_of
from slowpath.insights.coalescing.problem import Element, Variable, natural_alignment

_WORDS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}


def c_struct(
    element: Element,
    variables: Sequence[Variable],
    width: int,
    packs: Sequence[Pack],
    blocks: Sequence[TouchedBlock],
) -> str:
    """The struct; its members are where `offsets` says, which it asserts."""
    return "\n".join(_lines(element.name, variables, width, packs, blocks)) + "\n"


def _lines(
    name: str,
    variables: Sequence[Variable],
    width: int,
    packs: Sequence[Pack],
    blocks: Sequence[TouchedBlock],
) -> Iterator[str]:
    word = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
    word = f"_{word}" if word[:1].isdigit() else word
    saved = sum((one["before"] - one["accesses"]) * one["weight"] for one in blocks)
    fewer = f"{saved:.6g} fewer for each packet than in the source's order"
    yield f"/* Accesses of {width} bytes; {fewer}. */"
    yield f"struct {word} {{"
    begun = -1
    for one, at in zip(variables, offsets(variables), strict=True):
        if at // width != begun:
            begun = at // width
            pack = next(each for each in packs if each["offset"] == begun * width)
            yield f"\t/* {_said(pack, width, blocks)} */"
        yield f"\t{_member(one)};"
    yield "};"
    size = size_of(variables)
    yield f'_Static_assert(sizeof(struct {word}) == {size}, "{word} has another size");'
    yield f"/* Each object has to begin at a multiple of {width} bytes, in arrays, too. */"


def _said(pack: Pack, width: int, blocks: Sequence[TouchedBlock]) -> str:
    weights = {one["block"]: one["weight"] for one in blocks}
    by = ", ".join(f"{name} (x {weights[name]:g})" for name in pack["blocks"])
    where = f"bytes {pack['offset']} to {pack['offset'] + width - 1}"
    by = by.replace("*/", "* /")
    return f"{where}: one access of {by}" if by else f"{where}: fetched by no block"


def _member(one: Variable) -> str:
    if one.type is not None:
        return f"{one.type} {one.name}"
    if one.size in _WORDS and one.align == natural_alignment(one.size):
        return f"{_WORDS[one.size]} {one.name}"
    aligned = f" __attribute__((aligned({one.align})))" if one.align > 1 else ""
    return f"uint8_t {one.name}[{one.size}]{aligned}"
