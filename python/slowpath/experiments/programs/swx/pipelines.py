"""Pipelines of DPDK's SWX, as p4c writes them for P4 programs, and the program that times them.

The templates are in `templates/swx/`, one for each component, and `driver.c`, which reads what they
come to. What packets have to look like behind a pipeline is said by `expected.py`.
"""

from pathlib import Path
from typing import NamedTuple

from slowpath.experiments.programs.dpdk import driver_names
from slowpath.experiments.programs.fitting_together import check_together, refuse
from slowpath.experiments.programs.layers import TABLES, layers_of
from slowpath.experiments.programs.packet import key_offset, packet_of
from slowpath.experiments.programs.swx.bodies import (
    INSTRUCTIONS,
    body_names,
    metadata,
    parser_names,
)
from slowpath.experiments.programs.swx.expected import INITIAL, filled, sent
from slowpath.experiments.programs.swx.own_headers import own_headers
from slowpath.experiments.programs.template import expand
from slowpath.experiments.specification.components import SIZE, YES
from slowpath.experiments.specification.documents import Experiment
from slowpath.experiments.specification.points import (
    Settings,
    number_of,
    points_of,
    settings_at,
)
from slowpath.experiments.specification.reading import HEADERS

FOLDER = Path(__file__).parent.parent / "templates/swx"
_ETHERNET = 14
_LONGEST = 255
"""Bytes of a header."""
_MATCHES = {"table-exact": "exact", "table-lpm": "lpm", "table-ternary": "wildcard"}
_LACKING = {
    "table-exact": ("map", ("hash",)),
    "table-lpm": ("method", ("lpm",)),
    "table-ternary": ("method", ("acl",)),
    "checksum": ("method", ("helper", "update")),
    "branches": ("predictable", (YES,)),
    "arithmetic": ("operation", tuple(INSTRUCTIONS)),
}
"""What a component is in such a pipeline, where it is more elsewhere."""


class Pipeline(NamedTuple):
    """A pipeline, and the packet that has to come out of it."""

    text: str
    sent: bytes


class Pipelines(NamedTuple):
    """What a point is measured with."""

    component: Pipeline
    baseline: Pipeline
    packet: bytes


def kinds() -> list[str]:
    """The components that there are templates for."""
    return sorted(path.stem for path in FOLDER.glob("*.spec"))


def swx_driver(experiment: Experiment) -> str:
    """The program that builds and times the pipelines of an experiment, in C.

    Raises:
        InputError: when parameters do not fit together, or SWX has nothing like it.
    """
    part = experiment["component"]
    for value in points_of(experiment):
        _check(experiment, settings_at(experiment, value))
    names = driver_names(experiment) | {
        "pipeline": 1,
        "arguments": " FOLDER",
        "initial": INITIAL,
        "kind": part["kind"],
        "tabled": int(part["kind"] in TABLES),
    }
    return expand(FOLDER, "driver.c", names)


def swx_pipelines(experiment: Experiment, value: int) -> Pipelines:
    """The pipelines of a point.

    Raises:
        InputError: when parameters do not fit together, or SWX has nothing like it.
    """
    part, settings = experiment["component"], settings_at(experiment, value)
    _check(experiment, settings)
    kind, role = part["kind"], f"{part['sweep']['parameter']} = {value}"
    shape = number_of(settings, "headers"), number_of(settings, "header_bytes")
    plain = packet_of(experiment, int(settings[SIZE]), shape if kind == "parser" else None)
    packet = filled(experiment, settings, plain)

    def pipeline(*, component: bool) -> Pipeline:
        names = {**settings, **_names(experiment, settings), "component": int(component)}
        names["role"] = role if component else f"{role}, without the component"
        empty = experiment["baseline"] == "empty" and not component
        text = expand(FOLDER, "empty.part" if empty else f"{kind}.spec", names)
        if empty:
            return Pipeline(text, packet)
        return Pipeline(text, sent(experiment, settings, packet, component=component))

    return Pipelines(pipeline(component=True), pipeline(component=False), packet)


def _check(experiment: Experiment, settings: Settings) -> None:
    """Finds what such pipelines do not have."""
    check_together(experiment, settings)
    kind = experiment["component"]["kind"]
    key, words = _LACKING.get(kind, ("", ()))
    if key and settings[key] not in words:
        refuse(experiment, f"dpdk-swx has {key}: {', '.join(words)} only, not {settings[key]}")
    layers = layers_of(experiment)
    if experiment["traffic"]["vary"] and not layers.keyed:
        refuse(experiment, "dpdk-swx varies only what tables and state are asked for")
    if layers.keyed and key_offset(experiment) < _ETHERNET:
        refuse(experiment, "dpdk-swx parses the Ethernet header, and the key begins in it")
    if layers.split > _LONGEST:
        refuse(experiment, f"dpdk-swx has no headers of {layers.split} bytes in front of the key")


def _names(experiment: Experiment, settings: Settings) -> dict[str, int | str]:
    """What templates need besides parameters."""
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
        "key_bits": 8 * (number_of(settings, "key_bytes") or 4),
        "split": int(layers.split > 0),
        "split_bits": 8 * layers.split,
        "match": _MATCHES.get(kind, ""),
        "tables": number_of(settings, "tables"),
        "repeats": number_of(settings, "repeats"),
        "value_words": number_of(settings, "value_bytes") // 8 or 1,
        "initial": INITIAL if settings.get("operation") == "read" else 0,
        **{f"{name}_t": int(f"{name}_t" in dict(layers.headers)) for name in HEADERS},
        **parser_names(settings),
        **body_names(kind, settings),
    }
