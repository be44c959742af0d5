"""Generates C programs that measure experiments with DPDK's libraries.

The templates are in `templates/dpdk/`, one for each component; `main.h` in that folder documents
the timing.
"""

from pathlib import Path

from slowpath.calibrate.experiments.components import COMPONENTS, SIZE
from slowpath.calibrate.experiments.specification import (
    Experiment,
    ParameterValues,
    settings_at,
    swept_values,
)
from slowpath.calibrate.testbeds.generation import (
    SPREAD,
    check_parameters,
    expand,
    key_offset,
    packet_of,
    payload_offset,
    reject,
)
from slowpath.core.spanned import Word

FOLDER = Path(__file__).parent / "templates/dpdk"
_LINE = 64  # bytes of a cache line
_ADDRESSES = (4, 16)
"""Sizes of addresses in bytes for which DPDK has prefix tables; each size has its own functions."""
_METHODS = {
    "table-exact": ("map", "hash"),
    "table-ternary": ("method", "acl"),
    "checksum": ("method", "helper"),
}
"""Parameters of components for which DPDK supports only a single value, with this value."""


def dpdk_program(experiment: Experiment) -> str:
    """Return the C program that measures an experiment with DPDK.

    Raises:
        InputError: when parameters do not fit together, or DPDK has no equivalent.
    """
    part = experiment["component"]
    sweep, points = part["sweep"], swept_values(experiment)
    if sweep["parameter"] == SIZE:
        reject(
            experiment,
            "the test bed dpdk sweeps only parameters of components, not the packet size",
        )
    for value in points:
        check_parameters(experiment, settings_at(experiment, value))
    settings = settings_at(experiment, points[0])
    key, word = _METHODS.get(part["kind"], ("", None))
    if word is not None and settings[key] != word:
        reject(experiment, f"the test bed dpdk supports only {key}: {word}")
    if part["kind"] == "table-lpm":
        _check_addresses(experiment, settings)
    return expand(FOLDER, f"{part['kind']}.c", driver_names(experiment))


def _check_addresses(experiment: Experiment, settings: ParameterValues) -> None:
    if experiment["component"]["sweep"]["parameter"] == "key_bytes":
        reject(
            experiment,
            "the test bed dpdk cannot sweep key_bytes, as it has a separate table "
            "for each key size",
        )
    if settings["key_bytes"] not in _ADDRESSES:
        reject(
            experiment,
            f"the test bed dpdk supports only key_bytes: 4 or 16, not {settings['key_bytes']}",
        )


def driver_names(experiment: Experiment) -> dict[str, int | str]:
    """Return the values of the placeholders that all templates of the test bed `dpdk` have."""
    part, vary = experiment["component"], experiment["traffic"]["vary"]
    sweep, points = part["sweep"], swept_values(experiment)
    settings = settings_at(experiment, points[0])
    packet = packet_of(experiment, int(settings[SIZE]))
    return {
        **settings,
        "title": experiment["description"],
        "experiment": experiment["name"],
        "parameters": _declared(part["kind"], settings, sweep["parameter"]),
        "points": ", ".join(map(str, points)),
        "swept": sweep["parameter"],
        "key_offset": key_offset(experiment),
        "payload": payload_offset(experiment),
        "stride": -(-len(packet) // _LINE) * _LINE,
        "packet": ", ".join(map(str, packet)),
        "vary": int(bool(vary)),
        "how": vary[0]["how"] if vary else "",
        "values": vary[0]["values"] if vary else 1,
        "spread": SPREAD,
        "pipeline": 0,
        "arguments": "",
    }


def _declared(kind: str, settings: ParameterValues, swept: str) -> str:
    """Return declarations of the parameters in C; all but the swept one are constants."""
    numbers = [
        name for name, one in COMPONENTS[kind].parameters.items() if not isinstance(one, Word)
    ]
    constants = [f"{name} = {settings[name]}" for name in numbers if name != swept]
    lines = [f"enum {{ {', '.join(constants)} }};"] if constants else []
    return "\n".join([*lines, f"static long {swept};"])
