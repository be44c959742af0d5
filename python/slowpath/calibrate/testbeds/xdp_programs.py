"""Generates XDP programs for experiments: C source, map content and packet.

The templates are in `templates/xdp/`, one for each component. A template yields both the program
with the component and the program without it, so that these differ in nothing else. Mixtures of
instructions are random sequences, as inline assembly.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from slowpath.calibrate.experiments.components import MIXES, SIZE, YES
from slowpath.calibrate.experiments.specification import (
    Experiment,
    ParameterValues,
    numeric_value,
    settings_at,
)
from slowpath.calibrate.testbeds.generation import (
    SPREAD,
    TYPE,
    check_parameters,
    expand,
    fixed_key_bytes,
    key_offset,
    packet_of,
    payload_offset,
    prefix_of,
    prefix_shape,
    reject,
    varied_value_count,
)

_BY_MAP = (
    "map_lookup_elem",
    "map_update_elem",
    "map_insert",
    "map_insert_delete",
    "map_delete_elem",
)
_OWN_MAP = {
    "perf_event_output": "PERF_EVENT_ARRAY",
    "ringbuf_output": "RINGBUF",
    "ringbuf_submit": "RINGBUF",
    "ringbuf_discard": "RINGBUF",
    "tail_call": "PROG_ARRAY",
}
_PLAIN = (
    "ktime_get_ns",
    "ktime_get_coarse_ns",
    "jiffies64",
    "get_prandom_u32",
    "get_smp_processor_id",
)
"""Kernel helpers without arguments that return a number."""
_NUMBERED = ("array", "percpu_array", "devmap", "cpumap", "xskmap")
_FEW = ("devmap", "devmap_hash", "cpumap", "xskmap")
"""Map types with few entries, whose values have 4 bytes."""


def helper_names(settings: ParameterValues) -> dict[str, int | str]:
    """Return the placeholders' values for a call of a kernel helper: its map and arguments."""
    helper, kind = str(settings.get("helper", "")), str(settings.get("map", ""))
    if helper in _BY_MAP or helper == "redirect_map":
        map_type = kind.upper()
    else:
        map_type = _OWN_MAP.get(helper, "")
    return {
        "has_map": int(bool(map_type)),
        "helper_map": map_type,
        "helper_entries": 4 if kind in _FEW else 1024,
        "helper_key": 8 if map_type == "LPM_TRIE" else 4,
        "helper_value": 4 if helper in _OWN_MAP or kind in _FEW else 8,
        "helper_key_at": _key(map_type.lower()),
        "helper_plain": int(helper in _PLAIN),
        "helper_tail": int(helper in ("xdp_shrink_tail", "xdp_grow_tail")),
        "helper_record": int(helper in ("perf_event_output", "ringbuf_output")),
        "text": "x" * (numeric_value(settings, "bytes") - 1),
        "numbers": " %u" * numeric_value(settings, "arguments"),
        "record_words": numeric_value(settings, "bytes") // 8,
    }


def _key(kind: str) -> str:
    """Return the C expression for the address of the key in a map of the type `kind`."""
    if kind in _NUMBERED:
        return "&asked.zero"
    return "&asked.bits" if kind == "lpm_trie" else "&asked.key"


Entry = dict[str, str]
Maps = dict[str, list[Entry]]
_NONE = "0" * 8


def maps_of(experiment: Experiment, settings: ParameterValues, text: str) -> Maps:
    """Return the content of each map that a program defines; `text` is its C source."""
    maps: Maps = {}
    for name, entries in _TABLES.get(experiment["component"]["kind"], _no_tables)(
        experiment, settings
    ):
        if f"}} {name} SEC" in text:
            maps[name] = entries
    if "__u32 drawn;" in text:
        maps[".bss"] = [{"key": _NONE, "value": _NONE}]
    return maps


def _little(value: int, size: int) -> str:
    return value.to_bytes(size, "little").hex()


def _value(settings: ParameterValues) -> str:
    """Return the value of all table entries in hexadecimal digits: the little-endian number 1."""
    return _little(1, numeric_value(settings, "value_bytes"))


def _rest(experiment: Experiment, settings: ParameterValues) -> bytes:
    """Return the bytes of the key that all table entries have in common."""
    return fixed_key_bytes(
        experiment, numeric_value(settings, SIZE), numeric_value(settings, "key_bytes")
    )


Tables = Iterator[tuple[str, list[Entry]]]


def _tables(settings: ParameterValues, found: list[Entry]) -> Tables:
    """Yield the name and the entries of each lookup table; all have the same entries, `found`."""
    for table in range(numeric_value(settings, "tables")):
        yield f"table{table}", found


def _no_tables(_experiment: Experiment, _settings: ParameterValues) -> Tables:
    yield from ()


def _exact(experiment: Experiment, settings: ParameterValues) -> Tables:
    value, rest = _value(settings), _rest(experiment, settings).hex()
    found = [
        {"key": _little(at, 4) + rest, "value": value}
        for at in range(numeric_value(settings, "entries"))
    ]
    yield from _tables(settings, found)


def _array(_experiment: Experiment, _settings: ParameterValues) -> Tables:
    # All elements of an array exist; their values, which are 0, do not change the path.
    yield "table", []


def _lpm(experiment: Experiment, settings: ParameterValues) -> Tables:
    bits, value = numeric_value(settings, "prefix_bits"), _value(settings)
    rest = _rest(experiment, settings)
    found = [prefix_of(at, bits, rest) for at in range(numeric_value(settings, "entries"))]
    key = _little(bits, 4)
    yield from _tables(settings, [{"key": key + one.hex(), "value": value} for one in found])


def _ternary(experiment: Experiment, settings: ParameterValues) -> Tables:
    entries, masks = numeric_value(settings, "entries"), numeric_value(settings, "masks")
    rest, value = _rest(experiment, settings), _value(settings)
    high = 1 << 31  # never set in packets, so only the last entry matches
    if settings["method"] == "linear":
        whole = "ff" * numeric_value(settings, "key_bytes")
        rules = [whole + _little(high | at, 4) + rest.hex() for at in range(entries - 1)]
        rules.append(_little(high, 4) + bytes(len(rest) + 4 + len(rest)).hex())
        found = [{"key": _little(at, 4), "value": rule + value} for at, rule in enumerate(rules)]
    else:
        keys = [_little(at % masks, 4) + _little(high | at, 4) for at in range(entries - 1)]
        keys.append(_little(masks - 1, 4) + _little(0, 4))
        found = [{"key": key + rest.hex(), "value": value} for key in keys]
    yield from _tables(settings, found)


def _state(_experiment: Experiment, settings: ParameterValues) -> Tables:
    size = 8 * numeric_value(settings, "accesses")
    found = range(numeric_value(settings, "entries"))
    yield "state", [{"key": _little(at, 4), "value": _little(0, size)} for at in found]


def _copy(_experiment: Experiment, settings: ParameterValues) -> Tables:
    yield "state", [{"key": _NONE, "value": _little(0, numeric_value(settings, "bytes"))}]


def _helper(experiment: Experiment, settings: ParameterValues) -> Tables:
    """Yield the name and the entries of the map that a kernel helper uses.

    The map has one entry if calls of the helper must find it, else none.
    """
    packet = packet_of(experiment, numeric_value(settings, SIZE))
    payload = payload_offset(experiment)
    kind, helper = settings["map"], settings["helper"]
    if kind in _FEW or helper not in ("map_lookup_elem", "map_update_elem"):
        yield "table", []
        return
    if kind in ("array", "percpu_array"):
        yield "table", [{"key": _NONE, "value": _little(0, 8)}]
        return
    key = packet[payload : payload + 4].hex()
    if kind == "lpm_trie":
        key = _little(32, 4) + key
    yield "table", [{"key": key, "value": _little(0, 8)}]


_TABLES: dict[str, Callable[[Experiment, ParameterValues], Tables]] = {
    "table-exact": _exact,
    "table-array": _array,
    "table-lpm": _lpm,
    "table-ternary": _ternary,
    "state": _state,
    "copy": _copy,
    "helper": _helper,
}


FOLDER, ENDING = Path(__file__).parent / "templates/xdp", ".bpf.c"
ENTRY = "program"
"""Name of the entry function of generated programs."""
_INSTRUCTIONS = {
    "add": "%0 += %1",
    "xor": "%0 ^= %1",
    "shift": "%0 <<= 1",
    "multiply": "%0 *= %1",
    "divide": "%0 /= %1",
    "modulo": "%0 %%= %1",
    "byte-swap": "%0 = be64 %0",
    "constant": "%0 = 0x123456789abcdef ll",
    "move": "%0 = %1",
}


class XdpProgram(NamedTuple):
    """A generated XDP program with its map content and its packet."""

    text: str  # C source
    maps: str  # content of maps in the format of `--maps`, as JSON
    packet: bytes


def xdp_program(experiment: Experiment, value: int, *, component: bool) -> XdpProgram:
    """Return the XDP program of an experiment at one value of its swept parameter.

    If `component` is false, the program lacks the measured component.

    Raises:
        InputError: when the parameters do not fit together.
    """
    part = experiment["component"]
    settings = settings_at(experiment, value)
    check_parameters(experiment, settings)
    if settings.get("method") == "acl":
        reject(
            experiment,
            "the method acl is for the test bed dpdk; XDP programs support linear and tuples",
        )
    values = {**settings, **_names(experiment, settings), "component": int(component)}
    role = f"{part['sweep']['parameter']} = {value}"
    values["role"] = role if component else f"{role}, without the component"
    text = expand(FOLDER, f"{part['kind']}{ENDING}", values)
    maps = json.dumps(maps_of(experiment, settings, text), separators=(",", ":")) + "\n"
    shape = numeric_value(settings, "headers"), numeric_value(settings, "header_bytes")
    parser = shape if part["kind"] == "parser" else None
    return XdpProgram(text, maps, packet_of(experiment, numeric_value(settings, SIZE), parser))


def empty_program(experiment: Experiment, value: int) -> XdpProgram:
    """Return a program that does nothing, with the experiment's packet at one parameter value."""
    size = numeric_value(settings_at(experiment, value), SIZE)
    titles = {"title": experiment["description"], "experiment": experiment["name"]}
    text = expand(FOLDER, "empty.c", {**titles, "role": "an empty program"})
    return XdpProgram(text, "{}\n", packet_of(experiment, size))


def _remainder(byte: int) -> int:
    """Return the CRC-32 (IEEE 802.3) of a byte, without the inversions, as in P4's `crc32`."""
    for _ in range(8):
        byte = byte >> 1 ^ (0xEDB88320 if byte & 1 else 0)
    return byte


def _names(experiment: Experiment, settings: ParameterValues) -> dict[str, int | str]:
    """Return the values of placeholders that are not parameters of the experiment."""
    count, key = numeric_value(settings, "count"), numeric_value(settings, "key_bytes") or 4
    vary, size = experiment["traffic"]["vary"], numeric_value(settings, "bytes") // 4
    kind = experiment["component"]["kind"]
    map_type = str(settings.get("map", "")).upper()
    entries = numeric_value(settings, "entries")
    copied = numeric_value(settings, "bytes") // 8
    front, own_bits = prefix_shape(numeric_value(settings, "prefix_bits"))
    return {
        "title": experiment["description"],
        "experiment": experiment["name"],
        "payload": payload_offset(experiment),
        "key_offset": key_offset(experiment),
        "key_bits": 8 * key,
        "key_words": key // 4,
        "other_words": key // 4 - 1,
        "value_words": numeric_value(settings, "value_bytes") // 8,
        "header_words": numeric_value(settings, "header_bytes") // 4,
        "words": copied if kind in ("copy", "digest") else size,
        "blocks": (key // 4 - 1) // 3,
        "rest_word": (key // 4 - 1) // 3 * 3,
        "second_rest": int(key // 4 % 3 != 1),
        "third_rest": int(key // 4 % 3 == 0),
        "remainders": ", ".join(f"{_remainder(byte):#x}" for byte in range(256)),
        "quarters": count // 4,
        "rest": count % 4,
        "instruction": _INSTRUCTIONS.get(str(settings.get("operation")), ""),
        "map_type": map_type,
        # Allocate more entries than needed, because an LRU map evicts entries before it is full.
        "max_entries": 2 * entries + 1024 if map_type.startswith("LRU") else entries,
        "type": TYPE,
        "spread": SPREAD,
        "front": front,
        "own_bits": own_bits,
        "behind": key - 4 - front,
        "turns": numeric_value(settings, "turns") or count // 64,
        "mixture": "\n\t".join(mixture(str(settings["mix"]), count)) if kind == "mixture" else "",
        "hit": settings.get("hit", YES),
        "vary": int(bool(vary)),
        "how": vary[0]["how"] if vary else "",
        "values": varied_value_count(experiment, settings),
        **helper_names(settings),
    }


VALUES = 5
"""Number of C variables that random instructions use as operands."""
_SLOTS = 32
"""Number of 8-byte slots in the packet and in the map's value that random instructions access. All
accesses to a slot have the same size, so that the core can forward a stored value to a later load.
"""
_SIZES = (("u64", 8), ("u32", 4), ("u16", 2), ("u8", 1))
_SUMS = ("+=", "-=", "^=", "|=", "&=")
_CONDITIONS = ("==", "!=", ">", "s<")


def mixture(mix: str, count: int) -> list[str]:
    """Return `count` random instructions of a mix of kinds, as inline assembly in C.

    The same arguments always yield the same instructions.
    """
    luck = random.Random(f"{mix} {count}")  # noqa: S311 - no secret
    kinds, shares = zip(*MIXES[mix].items(), strict=True)
    lines, left = list[str](), count
    while left > 0:
        kind = luck.choices(kinds, shares)[0]
        if kind == "branch" and left < 2:  # noqa: PLR2004 - a branch and the skipped addition
            kind = "move"
        lines.append(MAKERS[kind](luck))
        left -= 2 if kind == "branch" else 1
    return lines


def _two(luck: random.Random) -> tuple[int, int]:
    to, by = luck.sample(range(VALUES), 2)
    return to, by


def _sum(luck: random.Random) -> str:
    to, by = _two(luck)
    operation = luck.choice(_SUMS)
    if luck.random() < 0.5:  # noqa: PLR2004 - half have an immediate operand
        return _changed(f"%0 {operation} {luck.randrange(1, 1 << 12)}", to)
    return _changed(f"%0 {operation} %1", to, by)


def _shift(luck: random.Random) -> str:
    return _changed(f"%0 {luck.choice(('<<=', '>>='))} {luck.randrange(1, 8)}", _two(luck)[0])


def _move(luck: random.Random) -> str:
    to, by = _two(luck)
    return f'asm volatile("%0 = %1" : "=r"(value{to}) : "r"(value{by}));'


def _multiply(luck: random.Random) -> str:
    return _changed("%0 *= %1", *_two(luck))


def _swap(luck: random.Random) -> str:
    return _changed(f"%0 = be{luck.choice((16, 32))} %0", _two(luck)[0])


def _constant(luck: random.Random) -> str:
    text = f"%0 = {luck.getrandbits(62):#x} ll"
    return f'asm volatile("{text}" : "=r"(value{_two(luck)[0]}));'


def _branch(luck: random.Random) -> str:
    """Return a conditional jump over an addition, with random operands, as inline assembly."""
    left, right = _two(luck)
    changed = luck.randrange(VALUES)
    compared = f"if %1 {luck.choice(_CONDITIONS)} %2 goto +1\\n\\t%0 += 3"
    inputs = f'"r"(value{left}), "r"(value{right})'
    return f'asm volatile("{compared}" : "+r"(value{changed}) : {inputs});'


def _load(luck: random.Random) -> str:
    return _loaded(luck, luck.choice(("packet", "packet", "state")))


def _reload(luck: random.Random) -> str:
    """Return a load from the map value, which an earlier instruction may have stored."""
    return _loaded(luck, "state")


def _loaded(luck: random.Random, where: str) -> str:
    size, at = _slot(luck)
    text = f"%0 = *({size} *)(%1 + {at})"
    return f'asm volatile("{text}" : "=r"(value{_two(luck)[0]}) : "r"({where}) : "memory");'


def _store(luck: random.Random) -> str:
    size, at = _slot(luck)
    text = f"*({size} *)(%0 + {at}) = %1"
    return f'asm volatile("{text}" : : "r"(state), "r"(value{_two(luck)[0]}) : "memory");'


def _slot(luck: random.Random) -> tuple[str, int]:
    number = luck.randrange(_SLOTS)
    return _SIZES[number % len(_SIZES)][0], 8 * number


def _changed(text: str, to: int, by: int | None = None) -> str:
    other = "" if by is None else f' : "r"(value{by})'
    return f'asm volatile("{text}" : "+r"(value{to}){other});'


MAKERS: dict[str, Callable[[random.Random], str]] = {
    "sum": _sum,
    "shift": _shift,
    "move": _move,
    "multiply": _multiply,
    "swap": _swap,
    "constant": _constant,
    "branch": _branch,
    "load": _load,
    "reload": _reload,
    "store": _store,
}
"""Functions that write a random instruction of one kind, by the names of kinds in `MIXES`."""
