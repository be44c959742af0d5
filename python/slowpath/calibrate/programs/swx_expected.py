"""Packets that SWX pipelines must emit.

The source address of the Ethernet header holds the component's result.
"""

from slowpath.calibrate.experiments.components import YES
from slowpath.calibrate.experiments.specification import Experiment, ParameterValues, numeric_value
from slowpath.calibrate.programs.packet import address_of, key_offset, payload_offset

FRESH = 0x01020304
"""New value of each word that a checksum update replaces."""
DESTINATION = 0x020000000001
"""Destination address of the Ethernet header, the operand of computing components."""
INITIAL = 3
"""Initial value of state words in experiments that read them."""
_MASK = (1 << 64) - 1
_ADDRESS = (1 << 48) - 1
_ONES = 0xFFFF
_MISSES = {"table-exact": 3, "table-lpm": 0}
"""By component, the key byte whose highest bit is set in packets that must miss."""


def input_packet(experiment: Experiment, settings: ParameterValues, packet: bytes) -> bytes:
    """Return the packet with data where the component reads, and with a key that hits or misses."""
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
    """Return the packet that a pipeline must emit for `packet`."""
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
    """Return an Internet checksum, which is never zero (RFC 1071, 1624)."""
    start, count = payload_offset(experiment), numeric_value(settings, "bytes")
    words = [int.from_bytes(packet[at : at + 4], "big") for at in range(start, start + count, 4)]
    if settings["method"] == "update":
        words = [FRESH - word for word in words]
    return _ONES - sum(words) % _ONES


def _arithmetic(_: Experiment, settings: ParameterValues, __: bytes, component: bool) -> int:
    operand = DESTINATION | 3
    sums = [operand] * 4
    apart = 1 if settings["dependent"] == YES else len(sums)
    for at in range(numeric_value(settings, "count") if component else 0):
        before = sums[at % apart]
        after = {
            "add": before + operand,
            "xor": before ^ operand,
            "shift": before << 1,
            "constant": at + 1,
        }[str(settings["operation"])]
        sums[at % apart] = after & _MASK
    return sums[0] ^ sums[1] ^ sums[2] ^ sums[3]


def _branches(_: Experiment, settings: ParameterValues, __: bytes, component: bool) -> int:
    del component  # the baseline adds the same without jumps
    return 5 * (numeric_value(settings, "count") // 2)


def _fields(_: Experiment, settings: ParameterValues, packet: bytes, component: bool) -> int:
    beside = settings["where"] == "metadata"
    return int.from_bytes(packet[4:6], "big") if component and beside else 0


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
        return look_ups * numeric_value(
            settings, "entries"
        )  # the matching last entry adds its number
    return look_ups


def _nothing(_: Experiment, __: ParameterValues, ___: bytes, component: bool) -> int:
    del component
    return 0


_RESULTS = {
    "arithmetic": _arithmetic,
    "branches": _branches,
    "checksum": _nothing,
    "field-writes": _fields,
    "parser": _parsed,
    "push": _nothing,
    "recirculate": _passes,
    "state": _state,
    "table-exact": _table,
    "table-lpm": _table,
    "table-ternary": _table,
}
