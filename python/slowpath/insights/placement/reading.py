"""Reads placement problems, and present memories of data structures, from JSON files."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slowpath.core.inputs import read_text
from slowpath.core.spanned import (
    Spanned,
    Table,
    decimal,
    items,
    mapping,
    read_marked_json,
    table,
    text,
    word,
)
from slowpath.insights.placement.problem import (
    COPY,
    Access,
    Card,
    Case,
    Described,
    StatedPlacement,
    Structure,
    ThroughputLimits,
)
from slowpath.insights.rows import named_tables

_MAX_NUMBER = 1e18
_MAX_BYTES = 2**62
_MAX_PARTS = 1000
_ACCESS_BYTES = 4
_CARD_KEYS = ("cores", "threads", "compute", "rate")
_RATES = ("clock_hz", "bandwidth", "bandwidth_unit")
StatedLevels = dict[str, str]
"""Present memory level by name of the structure; structures without an entry are on the largest
level."""


class _Memories(NamedTuple):
    """The memories of a SmartNIC, with capacities and prices; all cases of a file share them."""

    levels: Sequence[str]
    scopes: dict[str, dict[str, int]]
    access_cost: dict[str, dict[str, float]]
    copy_cost: dict[str, dict[str, float]]
    clock: float | None
    busy: dict[str, dict[str, float]]


def read_cases(file: str) -> list[Described]:
    """Read the placement problems (cases) in a file.

    Raises:
        InputError: when the file cannot be read or is invalid.
    """
    return cases_of(file, read_text(file))


def cases_of(file: str, content: str) -> list[Described]:
    """Read the placement problems (cases) from the JSON text `content` of a file.

    Error messages name `file`.

    Raises:
        InputError: when the text is invalid.
    """
    found = read_marked_json(file, content)
    document = table(
        found,
        ("levels", "capacity_bytes", "access_cost", "cases"),
        ("about", "access_bytes", "copy_cost_from_to", *_RATES),
    )
    memories = _memories(document)
    cases = [_case(one, memories) for one in named_tables(document["cases"], "case")]
    if not cases:
        document["cases"].place.refuse("the list is empty; add at least one entry")
    return cases


def _memories(document: Table) -> _Memories:
    levels = [text(one) for one in items(document["levels"])]
    for at, one in enumerate(items(document["levels"])):
        if levels[at] in levels[:at]:
            one.place.refuse(f"the memory level {levels[at]!r} is listed twice; remove one")
    if not levels:
        document["levels"].place.refuse("the list is empty; add at least one entry")
    scopes = {
        name: {level: _bytes(one) for level, one in table(sizes, levels).items()}
        for name, sizes in mapping(document["capacity_bytes"]).items()
    }
    if not scopes:
        document["capacity_bytes"].place.refuse("the list is empty; add at least one entry")
    access_cost = {
        operation: _prices(prices, levels)
        for operation, prices in mapping(document["access_cost"]).items()
    }
    if COPY in access_cost:
        mapping(document["access_cost"])[COPY].place.refuse(
            "the price of copies belongs in copy_cost_from_to"
        )
    copies = (
        table(document["copy_cost_from_to"], (), levels) if "copy_cost_from_to" in document else {}
    )
    copy_cost = {level: _prices(one, levels) for level, one in copies.items()}
    clock = decimal(document["clock_hz"], 1e-9, _MAX_NUMBER) if "clock_hz" in document else None
    size = (
        decimal(document["access_bytes"], 1, _MAX_BYTES)
        if "access_bytes" in document
        else _ACCESS_BYTES
    )
    unit = (
        word(document["bandwidth_unit"], ("accesses", "bytes"))
        if "bandwidth_unit" in document
        else ""
    )
    access_size = size if unit == "bytes" else 1.0
    busy = {
        level: _busy(one, [*access_cost, COPY], access_size)
        for level, one in (
            table(document["bandwidth"], (), levels) if "bandwidth" in document else {}
        ).items()
    }
    return _Memories(levels, scopes, access_cost, copy_cost, clock, busy)


def _bytes(found: Spanned) -> int:
    value = decimal(found, 0, _MAX_BYTES)
    if not value.is_integer():
        found.place.refuse(f"{value:g} is not a whole number of bytes")
    return int(value)


def _prices(found: Spanned, levels: Sequence[str]) -> dict[str, float]:
    return {level: decimal(one, 0, _MAX_NUMBER) for level, one in table(found, (), levels).items()}


def _busy(found: Spanned, operations: Sequence[str], amount: float) -> dict[str, float]:
    """Return the seconds for which an access occupies a memory level, by operation.

    They follow from the bandwidths in the file (`found`): one for all operations, or one for each.
    `amount` is the amount of an access in the unit of the bandwidth: 1 access, or a number of
    bytes.
    """
    if not isinstance(found.value, dict):
        return dict.fromkeys(operations, amount / decimal(found, 1e-9, _MAX_NUMBER))
    return {
        operation: amount / decimal(one, 1e-9, _MAX_NUMBER)
        for operation, one in table(found, (), operations).items()
    }


def _case(found: Spanned, memories: _Memories) -> Described:
    keys = ("about", "scope", "published", "placement", *_CARD_KEYS)
    case = table(found, ("name", "structures"), keys)
    scope = _scope(found, case, memories)
    card = Card(memories.levels, memories.scopes[scope], memories.access_cost, memories.copy_cost)
    context = f"{found.place.key}, "
    described = named_tables(case["structures"], "structure", context)
    names = [text(mapping(one)["name"]) for one in described]
    structures = [_structure(one, names, card, scope) for one in described]
    rates = _rates(found, case, memories, structures)
    before = []
    if "published" in case:
        inner = table(case["published"], ("placement",), ("cost",))
        cost = decimal(inner["cost"], 0, _MAX_NUMBER) if "cost" in inner else None
        before.append(
            StatedPlacement("published", _levels(inner["placement"], names, memories), cost)
        )
    if "placement" in case:
        before.append(StatedPlacement("present", _levels(case["placement"], names, memories), None))
    return Described(Case(text(case["name"]), card, structures, rates), scope, before)


def _scope(found: Spanned, case: Table, memories: _Memories) -> str:
    if "scope" in case:
        return word(case["scope"], memories.scopes)
    if len(memories.scopes) > 1:
        found.place.refuse(f"the structure lacks scope; write one of {', '.join(memories.scopes)}")
    return next(iter(memories.scopes))


def _structure(found: Spanned, names: Sequence[str], card: Card, scope: str) -> Structure:
    one = table(found, ("name", "size_bytes", "accesses"), ("about", "declared", "parts"))
    size, parts = _bytes(one["size_bytes"]), 1
    if "parts" in one:
        parts = int(decimal(one["parts"], 1, _MAX_PARTS))
        if parts != decimal(one["parts"], 1):
            one["parts"].place.refuse("the value is not a whole number")
    accesses = [_access(each, names, card) for each in items(one["accesses"])]
    if parts > 1 and any(each.to is not None for each in accesses):
        one["parts"].place.refuse(f"a structure with the operation {COPY} cannot have parts")
    largest = max(card.levels, key=lambda level: card.capacity[level])
    if math.ceil(size / parts) > card.capacity[largest]:
        room = (
            f"the largest memory level of scope {scope}, {largest}, has {card.capacity[largest]:,}"
        )
        one["size_bytes"].place.refuse(f"{size:,} bytes do not fit into any memory level; {room}")
    return Structure(text(one["name"]), size, accesses, parts)


def _access(found: Spanned, names: Sequence[str], card: Card) -> Access:
    one = table(found, ("operation", "count"), ("to",))
    operation = word(one["operation"], [*card.access_cost, COPY])
    count = decimal(one["count"], 0, _MAX_NUMBER)
    if operation != COPY:
        if "to" in one:
            one["to"].place.refuse(f"only the operation {COPY} can have the key to; remove the key")
        return Access(operation, count)
    if "to" not in one:
        found.place.refuse(f"the operation lacks the key to, with the structure that {COPY} writes")
    to = text(one["to"])
    if to not in names:
        one["to"].place.refuse(
            f"{to!r} is not a structure of this case, which has {', '.join(names)}"
        )
    return Access(operation, count, to)


def _levels(found: Spanned, names: Sequence[str], memories: _Memories) -> dict[str, str]:
    """Read the memory level of each data structure in a placement that the file states.

    `found` is the part of the file, and `names` are the names of the structures.
    """
    return {name: word(one, memories.levels) for name, one in table(found, names).items()}


def _rates(
    found: Spanned, case: Table, memories: _Memories, structures: Sequence[Structure]
) -> ThroughputLimits | None:
    card_keys = [key for key in _CARD_KEYS if key in case]
    if not card_keys:
        return None
    if "cores" not in case:
        case[card_keys[0]].place.refuse(
            "the case needs the key cores, too, as both concern throughput"
        )
    if memories.clock is None:
        found.place.refuse(
            "the case has cores, so the file needs clock_hz: units of cost per second"
        )
    cores = _count(case["cores"])
    compute = decimal(case["compute"], 0, _MAX_NUMBER) if "compute" in case else 0.0
    wanted = decimal(case["rate"], 1e-9, _MAX_NUMBER) if "rate" in case else None
    contexts = cores * (_count(case["threads"]) if "threads" in case else 1)
    _check_bandwidth(found, memories, structures)
    return ThroughputLimits(memories.clock, contexts, memories.busy, compute, cores, wanted)


def _count(found: Spanned) -> int:
    value = decimal(found, 1, 1e6)
    if not value.is_integer():
        found.place.refuse(f"{value:g} is not a whole number")
    return int(value)


def _check_bandwidth(found: Spanned, memories: _Memories, structures: Sequence[Structure]) -> None:
    """Check that a memory level with bandwidths has one for each operation of the structures.

    Otherwise, raise an `InputError`.
    """
    used = {access.operation for one in structures for access in one.accesses if access.times}
    for level, busy in memories.busy.items():
        lacking = sorted(used - busy.keys())
        if lacking:
            found.place.refuse(
                f"the structure uses {', '.join(lacking)}, which bandwidth.{level} lacks"
            )


def read_stated_levels(
    file: str, sizes: Mapping[str, int], capacity: Mapping[str, int]
) -> StatedLevels:
    """Read a JSON file with the present memory levels of some data structures.

    Raises:
        InputError: when the file is invalid, names an unknown structure or level, or exceeds the
            capacity of a level.
    """
    found = mapping(read_marked_json(file, read_text(file)))
    used = dict.fromkeys(capacity, 0)
    levels = dict[str, str]()
    for name, one in found.items():
        if name not in sizes:
            one.place.refuse(
                f"the name is not a structure of the source, which has {', '.join(sizes) or 'none'}"
            )
        level = levels[name] = word(one, capacity)
        used[level] += sizes[name]
        if used[level] > capacity[level]:
            sizes_there = f"with this structure, {used[level]:,} bytes are in {level}"
            one.place.refuse(f"{sizes_there}, which holds {capacity[level]:,}")
    return levels
