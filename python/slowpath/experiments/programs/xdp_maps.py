"""What the maps of an XDP program of an experiment hold, as `--maps` takes it."""

from collections.abc import Callable, Iterator

from slowpath.experiments.programs.entries import prefix_of
from slowpath.experiments.programs.packet import headers_end, key_rest, packet_of
from slowpath.experiments.specification.components import SIZE
from slowpath.experiments.specification.documents import Experiment
from slowpath.experiments.specification.points import Settings, number_of

Entry = dict[str, str]
Maps = dict[str, list[Entry]]
_NONE = "0" * 8


def maps_of(experiment: Experiment, settings: Settings, text: str) -> Maps:
    """What each map holds that the text of a program defines."""
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


def _value(settings: Settings) -> str:
    """One, and as many zeros as there is room for."""
    return _little(1, number_of(settings, "value_bytes"))


def _rest(experiment: Experiment, settings: Settings) -> bytes:
    """The part of keys that is the same in all."""
    return key_rest(experiment, number_of(settings, SIZE), number_of(settings, "key_bytes"))


Tables = Iterator[tuple[str, list[Entry]]]


def _tables(settings: Settings, found: list[Entry]) -> Tables:
    """The same entries in all tables."""
    for table in range(number_of(settings, "tables")):
        yield f"table{table}", found


def _no_tables(_experiment: Experiment, _settings: Settings) -> Tables:
    yield from ()


def _exact(experiment: Experiment, settings: Settings) -> Tables:
    value, rest = _value(settings), _rest(experiment, settings).hex()
    found = [
        {"key": _little(at, 4) + rest, "value": value}
        for at in range(number_of(settings, "entries"))
    ]
    yield from _tables(settings, found)


def _array(_experiment: Experiment, settings: Settings) -> Tables:
    value = _value(settings)
    found = range(number_of(settings, "entries"))
    yield "table", [{"key": _little(at, 4), "value": value} for at in found]


def _lpm(experiment: Experiment, settings: Settings) -> Tables:
    bits, value = number_of(settings, "prefix_bits"), _value(settings)
    rest = _rest(experiment, settings)
    found = [prefix_of(at, bits, rest) for at in range(number_of(settings, "entries"))]
    key = _little(bits, 4)
    yield from _tables(settings, [{"key": key + one.hex(), "value": value} for one in found])


def _ternary(experiment: Experiment, settings: Settings) -> Tables:
    entries, masks = number_of(settings, "entries"), number_of(settings, "masks")
    rest, value = _rest(experiment, settings), _value(settings)
    high = 1 << 31  # no packet has this bit, so only the last entry matches
    if settings["method"] == "linear":
        whole = "ff" * number_of(settings, "key_bytes")
        rules = [whole + _little(high | at, 4) + rest.hex() for at in range(entries - 1)]
        rules.append(_little(high, 4) + bytes(len(rest) + 4 + len(rest)).hex())
        found = [{"key": _little(at, 4), "value": rule + value} for at, rule in enumerate(rules)]
    else:
        keys = [_little(at % masks, 4) + _little(high | at, 4) for at in range(entries - 1)]
        keys.append(_little(masks - 1, 4) + _little(0, 4))
        found = [{"key": key + rest.hex(), "value": value} for key in keys]
    yield from _tables(settings, found)


def _state(_experiment: Experiment, settings: Settings) -> Tables:
    size = 8 * number_of(settings, "accesses")
    found = range(number_of(settings, "entries"))
    yield "state", [{"key": _little(at, 4), "value": _little(0, size)} for at in found]


def _copy(_experiment: Experiment, settings: Settings) -> Tables:
    yield "state", [{"key": _NONE, "value": _little(0, number_of(settings, "bytes"))}]


def _helper(experiment: Experiment, settings: Settings) -> Tables:
    """Calls that look something up find it; what is deleted is not there."""
    packet, payload = packet_of(experiment, number_of(settings, SIZE)), headers_end(experiment)
    kind, helper = settings["map"], settings["helper"]
    if kind in _WITHOUT_CONTENT or helper not in ("map_lookup_elem", "map_update_elem"):
        yield "table", []
        return
    if kind in ("array", "percpu_array"):
        yield "table", [{"key": _NONE, "value": _little(0, 8)}]
        return
    key = packet[payload : payload + 4].hex()
    if kind == "lpm_trie":
        key = _little(32, 4) + key
    yield "table", [{"key": key, "value": _little(0, 8)}]


_WITHOUT_CONTENT = ("devmap", "devmap_hash", "cpumap", "xskmap")


_TABLES: dict[str, Callable[[Experiment, Settings], Tables]] = {
    "table-exact": _exact,
    "table-array": _array,
    "table-lpm": _lpm,
    "table-ternary": _ternary,
    "state": _state,
    "copy": _copy,
    "helper": _helper,
}
