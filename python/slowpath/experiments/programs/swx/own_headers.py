"""The headers of the component itself: those that it parses, adds, takes off, writes or sums up."""

from typing import NamedTuple

from slowpath.experiments.specification.points import Settings, number_of

WORDS = 63
"""Words of 32 bits that a header can have: its size, and offsets in it, have 8 bits."""


class Own(NamedTuple):
    """What is declared of them, and parsed."""

    structs: str
    headers: list[tuple[str, str]]  # type and name
    parsed: list[str]  # names of those that are taken from the packet


def own_headers(kind: str, settings: Settings) -> Own:
    """The headers of a component."""
    count, size = number_of(settings, "headers"), 8 * number_of(settings, "header_bytes")
    fields = number_of(settings, "fields")
    if kind in ("parser", "push", "pop"):
        widths = [("type", 16), *((f"field{at}", 16) for at in range(fields))]
        rest = size - 16 * len(widths)
        own = [("own_t", f"own{at}") for at in range(count)]
        struct = _struct("own_t", [*widths, ("rest", rest)] if rest else widths)
        return Own(struct, own, [name for _, name in own])
    if kind == "field-writes" and settings["where"] == "header":
        widths = [(f"field{at}", 16) for at in range(number_of(settings, "writes"))]
        return Own(_struct("own_t", widths), [("own_t", "own0")], ["own0"])
    if kind == "checksum":
        return _words(number_of(settings, "bytes") // 4)
    return Own("", [], [])


def _words(count: int) -> Own:
    """Words of 32 bits, in as many headers as it takes."""
    structs, headers = [_struct("fresh_t", [("word", 32)])], [("fresh_t", "fresh")]
    for number, first in enumerate(range(0, count, WORDS)):
        words = min(WORDS, count - first)
        structs.append(_struct(f"words{number}_t", [(f"word{at}", 32) for at in range(words)]))
        headers.append((f"words{number}_t", f"words{number}"))
    return Own("\n\n".join(structs), headers, [name for _, name in headers[1:]])


def _struct(name: str, fields: list[tuple[str, int]]) -> str:
    lines = "".join(f"\tbit<{bits}> {field}\n" for field, bits in fields)
    return f"struct {name} {{\n{lines}}}"
