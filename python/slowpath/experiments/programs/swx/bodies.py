"""What lines of pipelines differ in that are repeated: instructions, labels, fields."""

from slowpath.experiments.programs.packet import TYPE
from slowpath.experiments.programs.swx.expected import DESTINATION, FRESH
from slowpath.experiments.programs.swx.own_headers import WORDS
from slowpath.experiments.specification.components import YES
from slowpath.experiments.specification.points import Settings, number_of

INSTRUCTIONS = {
    "add": "add {} m.operand",
    "xor": "xor {} m.operand",
    "shift": "shl {} 1",
    "constant": "mov {} {}",
}
"""By operation, an instruction for it, with where its result goes and a number."""
_SUMS = ["m.sum", "m.sum0", "m.sum1", "m.sum2"]


def metadata(kind: str, settings: Settings) -> list[str]:
    """The fields that stand beside the packet, besides the port and the result."""
    if kind == "arithmetic":
        return ["bit<64> operand", *(f"bit<64> sum{at}" for at in range(3))]
    if kind == "branches":
        return ["bit<64> order"]
    if kind == "state":
        return ["bit<32> at", "bit<64> value"]
    if kind == "field-writes":
        beside = settings["where"] == "metadata"
        fields = range(number_of(settings, "writes") if beside else 0)
        return ["bit<16> value", *(f"bit<16> field{at}" for at in fields)]
    return []


def parser_names(settings: Settings) -> dict[str, int | str]:
    """Labels: a header's end is where the next thing begins."""
    headers, fields = number_of(settings, "headers"), number_of(settings, "fields")
    ends = {at: "" if fields else f"OWN{at}_END : " for at in range(headers)}
    names: dict[str, int | str] = {"entry0": "", "first0": "OWN${i}_END : "}
    names |= {f"entry{at + 1}": end for at, end in ends.items()}
    names |= {f"first{at}": "" for at in range(1, fields)}
    # No type of a packet's header is like it.
    names |= {f"other{at}": 0x1000 + at for at in range(number_of(settings, "branches"))}
    swapped = int.from_bytes(TYPE.to_bytes(2, "little"), "big")
    return names | {"leave": ends.get(headers - 1, ""), "type": swapped}


def body_names(kind: str, settings: Settings) -> dict[str, int | str]:
    """What lines of the components that repeat instructions differ in."""
    count = number_of(settings, "count")
    if kind == "arithmetic":
        pattern = INSTRUCTIONS[str(settings["operation"])]
        sums = _SUMS[: 1 if settings["dependent"] == YES else None]
        return {
            f"instruction{at}": pattern.format(sums[at % len(sums)], at + 1) for at in range(count)
        }
    if kind == "branches":
        pairs = count // 2
        names: dict[str, int | str] = {"pairs": pairs}
        for at in range(pairs):
            names |= {
                f"next{at}": at + 1,
                f"above{at}": DESTINATION + 1 + at,
                f"below{at}": DESTINATION - at,
            }
        return names
    if kind == "checksum":
        words = number_of(settings, "bytes") // 4
        named = {f"word{at}": f"h.words{at // WORDS}.word{at % WORDS}" for at in range(words)}
        return {"words": words, "pieces": -(-words // WORDS), "fresh": FRESH} | named
    if kind == "field-writes":
        writes, where = number_of(settings, "writes"), settings["where"]
        place = "h.own0" if where == "header" else "m"
        written = {f"written{at}": f"{place}.field{at}" for at in range(writes)}
        return {"read": f"{place}.field{writes - 1}", **written}
    return {}
