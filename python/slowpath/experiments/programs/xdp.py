"""XDP programs of experiments: C for clang, what maps hold, and the packet.

The templates are in `templates/xdp/`, one for each component. The program without the component is
made of the same template, so that it differs in nothing else.
"""

import json
from pathlib import Path
from typing import NamedTuple

from slowpath.experiments.programs.entries import SPREAD, drawn_values, prefix_shape
from slowpath.experiments.programs.fitting_together import check_together, refuse
from slowpath.experiments.programs.mixture import mixture
from slowpath.experiments.programs.packet import TYPE, headers_end, key_offset, packet_of
from slowpath.experiments.programs.template import expand
from slowpath.experiments.programs.xdp_helpers import helper_names
from slowpath.experiments.programs.xdp_maps import maps_of
from slowpath.experiments.specification.components import SIZE, YES
from slowpath.experiments.specification.documents import Experiment
from slowpath.experiments.specification.points import Settings, number_of, settings_at

FOLDER = Path(__file__).parent / "templates/xdp"
ENTRY = "program"
"""Name of the program in the object."""
_INSTRUCTIONS = {
    "add": "%0 += %1",
    "xor": "%0 ^= %1",
    "shift": "%0 <<= 1",
    "multiply": "%0 *= %1",
    "divide": "%0 /= %1",
    "modulo": "%0 %%= %1",
    "byte-swap": "%0 = be64 %0",
    "constant": "%0 = 0x123456789abcdef ll",
}


class XdpProgram(NamedTuple):
    """What a point is measured with."""

    text: str  # C
    maps: str  # as `--maps` takes it (JSON)
    packet: bytes


def kinds() -> list[str]:
    """The components that there are templates for."""
    return sorted(path.name.removesuffix(".bpf.c") for path in FOLDER.glob("*.bpf.c"))


def xdp_program(experiment: Experiment, value: int, *, component: bool) -> XdpProgram:
    """The program of a point, or the one without the component.

    Raises:
        InputError: when the parameters do not fit together.
    """
    part = experiment["component"]
    settings = settings_at(experiment, value)
    check_together(experiment, settings)
    if settings.get("method") == "acl":
        refuse(experiment, "method: acl is for dpdk; XDP programs have linear and tuples")
    values = {**settings, **_names(experiment, settings), "component": int(component)}
    role = f"{part['sweep']['parameter']} = {value}"
    values["role"] = role if component else f"{role}, without the component"
    text = expand(FOLDER, f"{part['kind']}.bpf.c", values)
    maps = json.dumps(maps_of(experiment, settings, text), separators=(",", ":")) + "\n"
    shape = number_of(settings, "headers"), number_of(settings, "header_bytes")
    parser = shape if part["kind"] == "parser" else None
    return XdpProgram(text, maps, packet_of(experiment, number_of(settings, SIZE), parser))


def empty_program(experiment: Experiment, value: int) -> XdpProgram:
    """A program that does nothing, for the packet of a point."""
    size = number_of(settings_at(experiment, value), SIZE)
    titles = {"title": experiment["description"], "experiment": experiment["name"]}
    text = expand(FOLDER, "empty.c", {**titles, "role": "an empty program"})
    return XdpProgram(text, "{}\n", packet_of(experiment, size))


def _names(experiment: Experiment, settings: Settings) -> dict[str, int | str]:
    """What templates need besides parameters."""
    count, key = number_of(settings, "count"), number_of(settings, "key_bytes") or 4
    vary, size = experiment["traffic"]["vary"], number_of(settings, "bytes") // 4
    kind = experiment["component"]["kind"]
    map_type = str(settings.get("map", "")).upper()
    entries = number_of(settings, "entries")
    copied = number_of(settings, "bytes") // 8
    front, own_bits = prefix_shape(number_of(settings, "prefix_bits"))
    return {
        "title": experiment["description"],
        "experiment": experiment["name"],
        "payload": headers_end(experiment),
        "key_offset": key_offset(experiment),
        "key_bits": 8 * key,
        "key_words": key // 4,
        "other_words": key // 4 - 1,
        "value_words": number_of(settings, "value_bytes") // 8,
        "header_words": number_of(settings, "header_bytes") // 4,
        "words": copied if kind == "copy" else size,
        "quarters": count // 4,
        "rest": 0 if settings.get("dependent") == YES else count % 4,
        "instruction": _INSTRUCTIONS.get(str(settings.get("operation")), ""),
        "map_type": map_type,
        # An LRU map evicts before it is full.
        "max_entries": 2 * entries + 1024 if map_type.startswith("LRU") else entries,
        "type": TYPE,
        "spread": SPREAD,
        "front": front,
        "own_bits": own_bits,
        "behind": key - 4 - front,
        "turns": number_of(settings, "turns") or count // 64,
        "mixture": "\n\t".join(mixture(str(settings["mix"]), count)) if kind == "mixture" else "",
        "hit": settings.get("hit", YES),
        "vary": int(bool(vary)),
        "how": vary[0]["how"] if vary else "",
        "values": drawn_values(experiment, settings),
        **helper_names(settings),
    }
