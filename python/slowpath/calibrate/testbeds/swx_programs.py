"""Generates SWX pipelines for experiments, as the compiler p4c would, and their expected outputs.

`templates/swx/` has one template for each component, and `driver.c`, which reads the expanded
templates. The source address of the Ethernet header holds the component's result.
"""

from pathlib import Path
from typing import NamedTuple

from slowpath.calibrate.experiments.components import SIZE, YES
from slowpath.calibrate.experiments.specification import (
    HEADERS,
    Experiment,
    ParameterValues,
    numeric_value,
    settings_at,
    swept_values,
)
from slowpath.calibrate.testbeds.dpdk_programs import driver_names
from slowpath.calibrate.testbeds.generation import (
    TYPE,
    address_of,
    check_parameters,
    expand,
    key_offset,
    packet_of,
    payload_offset,
    reject,
)
from slowpath.calibrate.testbeds.p4 import TABLES, layers_of

FRESH = 0x01020304
"""Value that the component `checksum` with the method `update` writes to each word."""
DESTINATION = 0x020000000001
"""Destination address of the Ethernet header, which components use as an operand."""
INITIAL = 3
"""Initial value of all state words in experiments that read these words."""
_MASK = (1 << 64) - 1
_WORD = (1 << 32) - 1
_ADDRESS = (1 << 48) - 1
_ONES = 0xFFFF
_MISSES = {"table-exact": 3, "table-lpm": 0}
"""Index of the key byte whose highest bit is set in packets that must miss the table, by component.
"""


def input_packet(experiment: Experiment, settings: ParameterValues, packet: bytes) -> bytes:
    """Return a copy of `packet` with input for the component, such as a key that hits the table."""
    kind, data = experiment["component"]["kind"], bytearray(packet)
    end = payload_offset(experiment)
    if kind in ("parser", "checksum"):
        for at in range(end, len(data)):
            data[at] = data[at] or (7 * at + 1) & 0xFF
    if kind == "parser":
        each = numeric_value(settings, "header_bytes")
        for number in range(numeric_value(settings, "headers")):
            place = end + number * each
            data[place : place + 2] = packet[place : place + 2]
    if kind == "table-lpm":
        place, width = key_offset(experiment), numeric_value(settings, "key_bytes")
        others = bytes(data[place + 4 : place + width])
        data[place : place + width] = address_of(0, numeric_value(settings, "prefix_bits"), others)
    if settings.get("hit", YES) != YES:
        data[key_offset(experiment) + _MISSES[kind]] |= 0x80
    return bytes(data)


def expected_packet(
    experiment: Experiment, settings: ParameterValues, packet: bytes, *, component: bool
) -> bytes:
    """Return the packet that a pipeline must output for the input `packet`.

    If `component` is false, the pipeline lacks the measured component.
    """
    kind, headers = experiment["component"]["kind"], numeric_value(settings, "headers")
    each = numeric_value(settings, "header_bytes")
    if kind == "forward":
        swapped = packet[6:12] + packet[:6] + packet[12:]
        return swapped if component else packet
    if kind == "pop":
        return packet[headers * each :] if component else packet
    result = _RESULTS[kind](experiment, settings, packet, component)
    out = packet[:6] + (result & _ADDRESS).to_bytes(6, "big") + packet[12:]
    if kind == "checksum":
        checked = _checksum(experiment, settings, packet) if component else 0
        out = out[:12] + checked.to_bytes(2, "big") + out[14:]
    if kind == "field-writes" and settings["where"] == "header" and component:
        start, value = payload_offset(experiment), packet[4:6]
        written = value * numeric_value(settings, "writes")
        out = out[:start] + written + out[start + len(written) :]
    if kind == "push" and component:
        out = b"".join(at.to_bytes(2, "big") + bytes(each - 2) for at in range(headers)) + out
    return out


def _checksum(experiment: Experiment, settings: ParameterValues, packet: bytes) -> int:
    """Return the Internet checksum that the component computes over the payload (RFC 1071, 1624).

    It is never zero.
    """
    start, count = payload_offset(experiment), numeric_value(settings, "bytes")
    words = [int.from_bytes(packet[at : at + 4], "big") for at in range(start, start + count, 4)]
    if settings["method"] == "update":
        words = [FRESH - word for word in words]
    return _ONES - sum(words) % _ONES


def _arithmetic(_: Experiment, settings: ParameterValues, __: bytes, component: bool) -> int:
    operand = DESTINATION | 3
    sums = [operand] * 4
    used = 1 if settings["dependent"] == YES else len(sums)
    for at in range(numeric_value(settings, "count") if component else 0):
        before = sums[at % used]
        after = {
            "add": before + operand,
            "xor": before ^ operand,
            "shift": before << 1,
            "constant": at + 1,
        }[str(settings["operation"])]
        sums[at % used] = after & _MASK
    return sums[0] ^ sums[1] ^ sums[2] ^ sums[3]


def _branches(_: Experiment, settings: ParameterValues, __: bytes, component: bool) -> int:
    del component  # the baseline adds the same without jumps
    return 5 * (numeric_value(settings, "count") // 2)


def _fields(_: Experiment, settings: ParameterValues, packet: bytes, component: bool) -> int:
    in_metadata = settings["where"] == "metadata"
    return int.from_bytes(packet[4:6], "big") if component and in_metadata else 0


def _parsed(
    experiment: Experiment, settings: ParameterValues, packet: bytes, component: bool
) -> int:
    total, each = 0, numeric_value(settings, "header_bytes")
    for number in range(numeric_value(settings, "headers") if component else 0):
        at = payload_offset(experiment) + number * each + 2
        for field in range(numeric_value(settings, "fields")):
            total += int.from_bytes(packet[at + 2 * field : at + 2 * field + 2], "big")
    return total


def _passes(_: Experiment, settings: ParameterValues, __: bytes, component: bool) -> int:
    return numeric_value(settings, "passes") if component else 0


def _state(_: Experiment, settings: ParameterValues, __: bytes, component: bool) -> int:
    reading = component and settings["operation"] == "read"
    return INITIAL * numeric_value(settings, "accesses") if reading else 0


def _table(experiment: Experiment, settings: ParameterValues, __: bytes, component: bool) -> int:
    if not component or settings.get("hit", YES) != YES:
        return 0
    look_ups = numeric_value(settings, "tables") * numeric_value(settings, "repeats")
    if experiment["component"]["kind"] == "table-ternary":
        # Only the last entry matches, and its action adds its number, counted from 1.
        return look_ups * numeric_value(settings, "entries")
    return look_ups


def _hashed(
    experiment: Experiment, settings: ParameterValues, packet: bytes, component: bool
) -> int:
    start, width = key_offset(experiment), numeric_value(settings, "key_bytes")
    hashed = jenkins if settings["method"] == "jhash" else castagnoli
    key = packet[start : start + width]
    return numeric_value(settings, "hashes") * hashed(key) if component else 0


def jenkins(key: bytes) -> int:
    """Return the hash lookup3 (Jenkins) of a key of whole 32-bit words, with initial value 0."""
    words = [int.from_bytes(key[at : at + 4], "little") for at in range(0, len(key), 4)]
    state = [(0xDEADBEEF + len(key)) & _WORD] * 3

    def step(target: int, source: int, bits: int, *, final: bool) -> None:
        value, other = state[target], state[source]
        turned = (other << bits | other >> (32 - bits)) & _WORD
        state[target] = ((value ^ other) - turned if final else (value - other) ^ turned) & _WORD

    while True:
        taken, words = words[:3], words[3:]
        for at, word in enumerate(taken):
            state[at] = (state[at] + word) & _WORD
        if not words:
            break
        for at, bits in enumerate((4, 6, 8, 16, 19, 4)):
            step(at % 3, (at + 2) % 3, bits, final=False)
            state[(at + 2) % 3] = (state[(at + 2) % 3] + state[(at + 1) % 3]) & _WORD
    for at, bits in enumerate((14, 11, 25, 16, 4, 14, 24)):
        step((at + 2) % 3, (at + 1) % 3, bits, final=True)
    return state[2]


def castagnoli(key: bytes) -> int:
    """Return the CRC-32C of a key without inversions, as DPDK's `rte_hash_crc` with value 0."""
    crc = 0
    for byte in key:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


def _nothing(_: Experiment, __: ParameterValues, ___: bytes, component: bool) -> int:
    del component
    return 0


_RESULTS = {
    "arithmetic": _arithmetic,
    "branches": _branches,
    "checksum": _nothing,
    "field-writes": _fields,
    "clone": _nothing,
    "hash": _hashed,
    "meter": _nothing,
    "parser": _parsed,
    "push": _nothing,
    "recirculate": _passes,
    "state": _state,
    "table-exact": _table,
    "table-lpm": _table,
    "table-ternary": _table,
}

WORDS = 63
"""Maximum number of 32-bit words in a header; SWX stores its size and offsets in 8 bits."""


class ComponentHeaders(NamedTuple):
    """Headers that only the component under test reads or writes."""

    structs: str  # declarations of the header types
    headers: list[tuple[str, str]]  # type and name of each header
    parsed: list[str]  # names of the headers that the parser extracts


def own_headers(kind: str, settings: ParameterValues) -> ComponentHeaders:
    """Return the headers of a component that the rest of the pipeline does not use."""
    count, size = numeric_value(settings, "headers"), 8 * numeric_value(settings, "header_bytes")
    fields = numeric_value(settings, "fields")
    if kind in ("parser", "push", "pop"):
        widths = [("type", 16), *((f"field{at}", 16) for at in range(fields))]
        rest = size - 16 * len(widths)
        own = [("own_t", f"own{at}") for at in range(count)]
        struct = _struct("own_t", [*widths, ("rest", rest)] if rest else widths)
        return ComponentHeaders(struct, own, [name for _, name in own])
    if kind == "field-writes" and settings["where"] == "header":
        widths = [(f"field{at}", 16) for at in range(numeric_value(settings, "writes"))]
        return ComponentHeaders(_struct("own_t", widths), [("own_t", "own0")], ["own0"])
    if kind == "checksum":
        return _words(numeric_value(settings, "bytes") // 4)
    return ComponentHeaders("", [], [])


def _words(count: int) -> ComponentHeaders:
    """Return headers with a total of `count` 32-bit words, each with at most `WORDS` words."""
    structs, headers = [_struct("fresh_t", [("word", 32)])], [("fresh_t", "fresh")]
    for number, first in enumerate(range(0, count, WORDS)):
        words = min(WORDS, count - first)
        structs.append(_struct(f"words{number}_t", [(f"word{at}", 32) for at in range(words)]))
        headers.append((f"words{number}_t", f"words{number}"))
    return ComponentHeaders("\n\n".join(structs), headers, [name for _, name in headers[1:]])


def _struct(name: str, fields: list[tuple[str, int]]) -> str:
    lines = "".join(f"\tbit<{bits}> {field}\n" for field, bits in fields)
    return f"struct {name} {{\n{lines}}}"


INSTRUCTIONS = {
    "add": "add {} m.operand",
    "xor": "xor {} m.operand",
    "shift": "shl {} 1",
    "constant": "mov {} {}",
}
"""SWX instruction of each arithmetic operation, with a placeholder for the destination.
Instructions with a constant have a second placeholder for it.
"""
_SUMS = ["m.sum", "m.sum0", "m.sum1", "m.sum2"]


_FIELDS = {
    "arithmetic": ["bit<64> operand", *(f"bit<64> sum{at}" for at in range(3))],
    "branches": ["bit<64> order"],
    "clone": ["bit<32> slot", "bit<32> session"],
    "hash": ["bit<32> value"],
    "meter": ["bit<32> at", "bit<32> length", "bit<32> color", "bit<32> value"],
    "state": ["bit<32> at", "bit<64> value"],
}
"""Metadata fields of each component, without the port and the result."""


def metadata(kind: str, settings: ParameterValues) -> list[str]:
    """Return declarations of a component's metadata fields, without the port and the result."""
    if kind == "field-writes":
        in_metadata = settings["where"] == "metadata"
        fields = range(numeric_value(settings, "writes") if in_metadata else 0)
        return ["bit<16> value", *(f"bit<16> field{at}" for at in fields)]
    return _FIELDS.get(kind, [])


def parser_names(settings: ParameterValues) -> dict[str, int | str]:
    """Return the values of the placeholders in the template of `parser`: labels and header types.

    Label `OWN<i>_END` marks the first instruction after the type checks of header i.
    """
    headers, fields = numeric_value(settings, "headers"), numeric_value(settings, "fields")
    ends = {at: "" if fields else f"OWN{at}_END : " for at in range(headers)}
    names: dict[str, int | str] = {"entry0": "", "first0": "OWN${i}_END : "}
    names |= {f"entry{at + 1}": end for at, end in ends.items()}
    names |= {f"first{at}": "" for at in range(1, fields)}
    # Packets contain no header with one of these types.
    names |= {f"other{at}": 0x1000 + at for at in range(numeric_value(settings, "branches"))}
    swapped = int.from_bytes(TYPE.to_bytes(2, "little"), "big")
    return names | {"leave": ends.get(headers - 1, ""), "type": swapped}


def body_names(kind: str, settings: ParameterValues) -> dict[str, int | str]:
    """Return the values of the placeholders in repeated lines of a component's template.

    Lines count from 0.
    """
    count = numeric_value(settings, "count")
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
        words = numeric_value(settings, "bytes") // 4
        named = {f"word{at}": f"h.words{at // WORDS}.word{at % WORDS}" for at in range(words)}
        return {"words": words, "pieces": -(-words // WORDS), "fresh": FRESH} | named
    if kind == "field-writes":
        writes, where = numeric_value(settings, "writes"), settings["where"]
        place = "h.own0" if where == "header" else "m"
        written = {f"written{at}": f"{place}.field{at}" for at in range(writes)}
        return {"read": f"{place}.field{writes - 1}", **written}
    return {}


FOLDER = Path(__file__).parent / "templates/swx"
_ETHERNET = 14
_LONGEST = 255
"""Maximum length of a header in bytes."""
_MATCHES = {"table-exact": "exact", "table-lpm": "lpm", "table-ternary": "wildcard"}
_LACKING = {
    "table-exact": ("map", ("hash",)),
    "table-lpm": ("method", ("lpm",)),
    "table-ternary": ("method", ("acl",)),
    "checksum": ("method", ("helper", "update")),
    "branches": ("predictable", (YES,)),
    "arithmetic": ("operation", tuple(INSTRUCTIONS)),
}
"""Parameters of components that SWX supports only for some values, with these values."""


class Pipeline(NamedTuple):
    """The text of an SWX pipeline, and the packet that it must output."""

    text: str
    sent: bytes


class Pipelines(NamedTuple):
    """Pipelines with and without the component under test, and their common input packet."""

    component: Pipeline
    baseline: Pipeline
    packet: bytes


def swx_driver(experiment: Experiment) -> str:
    """Return a C program that builds the pipelines of an experiment and measures their times.

    Raises:
        InputError: when parameters do not fit together, or SWX has no equivalent.
    """
    return _program(experiment, "driver.c")


def swx_load(experiment: Experiment) -> str:
    """Return a C program that sends packets to the pipelines of an experiment at given rates.

    Raises:
        InputError: when parameters do not fit together, or SWX has no equivalent.
    """
    if experiment["component"]["kind"] == "clone":
        reject(experiment, "under offered load, copies of packets would return to the sender")
    return _program(experiment, "load.c")


def _program(experiment: Experiment, file: str) -> str:
    """Return a C program for the pipelines of an experiment, from the template `file`."""
    part = experiment["component"]
    for value in swept_values(experiment):
        _check(experiment, settings_at(experiment, value))
    names = driver_names(experiment) | {
        "pipeline": 1,
        "arguments": " FOLDER",
        "initial": INITIAL,
        "kind": part["kind"],
        "tabled": int(part["kind"] in TABLES),
        "indexed": int(part["kind"] in ("state", "meter")),
    }
    return expand(FOLDER, file, names)


def swx_pipelines(experiment: Experiment, value: int) -> Pipelines:
    """Return the pipelines of an experiment at one value of its swept parameter.

    Raises:
        InputError: when parameters do not fit together, or SWX has no equivalent.
    """
    part, settings = experiment["component"], settings_at(experiment, value)
    _check(experiment, settings)
    kind, role = part["kind"], f"{part['sweep']['parameter']} = {value}"
    shape = numeric_value(settings, "headers"), numeric_value(settings, "header_bytes")
    plain = packet_of(experiment, int(settings[SIZE]), shape if kind == "parser" else None)
    packet = input_packet(experiment, settings, plain)

    def pipeline(*, component: bool) -> Pipeline:
        names = {**settings, **_names(experiment, settings), "component": int(component)}
        names["role"] = role if component else f"{role}, without the component"
        empty = experiment["baseline"] == "empty" and not component
        text = expand(FOLDER, "empty.part" if empty else f"{kind}.spec", names)
        if empty:
            return Pipeline(text, packet)
        return Pipeline(text, expected_packet(experiment, settings, packet, component=component))

    return Pipelines(pipeline(component=True), pipeline(component=False), packet)


def _check(experiment: Experiment, settings: ParameterValues) -> None:
    """Check that SWX pipelines support the parameters of an experiment.

    Raises:
        InputError: if they do not.
    """
    check_parameters(experiment, settings)
    kind = experiment["component"]["kind"]
    key, words = _LACKING.get(kind, ("", ()))
    if key and settings[key] not in words:
        reject(
            experiment,
            f"the test bed dpdk-swx supports only {key}: {', '.join(words)}, not {settings[key]}",
        )
    layers = layers_of(experiment)
    if experiment["traffic"]["vary"] and not layers.keyed:
        reject(experiment, "the test bed dpdk-swx varies only the keys of tables and of state")
    if layers.keyed and key_offset(experiment) < _ETHERNET:
        reject(experiment, "the key cannot begin in the Ethernet header, which dpdk-swx parses")
    if layers.split > _LONGEST:
        reject(
            experiment,
            f"the test bed dpdk-swx does not support headers of {layers.split} bytes in front "
            "of the key",
        )


def _names(experiment: Experiment, settings: ParameterValues) -> dict[str, int | str]:
    """Return the values of placeholders that are not parameters of the experiment."""
    kind, layers = experiment["component"]["kind"], layers_of(experiment)
    own = own_headers(kind, settings)
    parsed = [name for _, name in layers.headers]
    if kind in ("checksum", "field-writes"):
        parsed += own.parsed
    declared = [*layers.headers, *own.headers]
    return {
        "title": experiment["description"],
        "experiment": experiment["name"],
        "own_structs": own.structs,
        "headers_declared": "\n".join(f"header {name} instanceof {one}" for one, name in declared),
        "metadata": "".join(f"\n\t{line}" for line in metadata(kind, settings)),
        "extractions": "\n".join(f"\textract h.{name}" for name in parsed),
        "emissions": "\n".join(f"\temit h.{name}" for name in parsed),
        "keyed": int(layers.keyed),
        "key_bits": 8 * (numeric_value(settings, "key_bytes") or 4),
        "split": int(layers.split > 0),
        "split_bits": 8 * layers.split,
        "match": _MATCHES.get(kind, ""),
        "tables": numeric_value(settings, "tables"),
        "repeats": numeric_value(settings, "repeats"),
        "value_words": numeric_value(settings, "value_bytes") // 8 or 1,
        "initial": INITIAL if settings.get("operation") == "read" else 0,
        **{f"{name}_t": int(f"{name}_t" in dict(layers.headers)) for name in HEADERS},
        **parser_names(settings),
        **body_names(kind, settings),
    }
