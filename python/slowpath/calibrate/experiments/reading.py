"""Reader for experiment specifications in YAML, including those that come with slowpath.

`docs/experiments.md` describes the format.
"""

from itertools import pairwise
from pathlib import Path
from typing import cast

from slowpath.calibrate.experiments.components import COMPONENTS, SIZE, Component
from slowpath.calibrate.experiments.specification import (
    Baseline,
    ComponentPart,
    Experiment,
    Header,
    Metric,
    Scale,
    Sweep,
    Traffic,
    ValueOrder,
    Variation,
)
from slowpath.core.errors import OptionError
from slowpath.core.inputs import read_text
from slowpath.core.spanned import (
    Number,
    Spanned,
    items,
    mapping,
    name,
    number,
    read_spanned,
    setting,
    table,
    text,
    word,
)

METRICS = ("ns", "cycles", "instructions")
HEADERS = {"ethernet": 14, "ipv4": 20, "ipv6": 40, "udp": 8, "tcp": 20, "vxlan": 8}
"""Bytes of each supported header, without options (RFC 791, 8200, 768, 9293, 7348)."""
SIZES = Number("bytes of a packet", 14, 3000, 64)
POINTS = Number("values of a sweep", 1, 1000, 12)
_FOLLOWS = {
    "ethernet": ("ipv4", "ipv6"),
    "ipv4": ("udp", "tcp"),
    "ipv6": ("udp", "tcp"),
    "udp": ("vxlan",),
    "tcp": (),
    "vxlan": ("ethernet",),
}


def load_experiment(file: str) -> Experiment:
    """Read a specification from a file.

    Raises:
        InputError: when the file cannot be read or is invalid.
        UnavailableError: when PyYAML is not installed.
    """
    return read_experiment(file, read_text(file))


def read_experiment(file: str, content: str) -> Experiment:
    """Read a specification from a text; errors refer to `file`.

    Raises:
        InputError: when the specification is invalid.
        UnavailableError: when PyYAML is not installed.
    """
    whole = table(
        read_spanned(file, content),
        ("schema", "name", "description", "metrics", "traffic", "component"),
        ("baseline", "testbeds"),
    )
    number(whole["schema"], Number("version", 1, 1, 1))
    component = _component(whole["component"])
    experiment: Experiment = {
        "schema": 1,
        "name": name(whole["name"]),
        "description": text(whole["description"]),
        "metrics": _metrics(whole["metrics"]),
        "traffic": _traffic(whole["traffic"], component),
        "component": component,
        "baseline": "without",
    }
    if "baseline" in whole:
        experiment["baseline"] = cast("Baseline", word(whole["baseline"], ("without", "empty")))
    if "testbeds" in whole:
        experiment["testbeds"] = [name(one) for one in items(whole["testbeds"])]
    return experiment


def _metrics(found: Spanned) -> list[Metric]:
    metrics = [cast("Metric", word(one, METRICS)) for one in items(found)]
    if not metrics or len({*metrics}) < len(metrics):
        found.place.refuse(f"names each of {', '.join(METRICS)} at most once, and one at least")
    return metrics


def _component(found: Spanned) -> ComponentPart:
    part = table(found, ("kind", "sweep"), ("fixed",))
    kind = word(part["kind"], COMPONENTS)
    known = COMPONENTS[kind]
    sweep = _sweep(part["sweep"], known)
    fixed = dict[str, int | str]()
    for key, one in mapping(part["fixed"]).items() if "fixed" in part else ():
        if key == sweep["parameter"]:
            one.place.refuse("is swept; it cannot be fixed, too")
        if key not in known.parameters:
            one.place.refuse(f"{kind} has no such parameter; {_parameters(known)}")
        fixed[key] = setting(one, known.parameters[key])
    return {"kind": kind, "sweep": sweep, "fixed": fixed}


def _parameters(component: Component) -> str:
    return f"there are {', '.join(component.parameters)}" if component.parameters else "it has none"


def _sweep(found: Spanned, component: Component) -> Sweep:
    part = table(found, ("parameter", "first", "last"), ("points", "scale"))
    numbers = {key: one for key, one in component.parameters.items() if isinstance(one, Number)}
    limits = {**numbers, SIZE: SIZES}
    parameter = word(part["parameter"], limits)
    first, last = (number(part[key], limits[parameter]) for key in ("first", "last"))
    if last < first:
        part["last"].place.refuse(f"{last} is less than the first value, {first}")
    return {
        "parameter": parameter,
        "first": first,
        "last": last,
        "points": number(part["points"], POINTS) if "points" in part else POINTS.usual,
        "scale": cast("Scale", word(part["scale"], ("linear", "log")))
        if "scale" in part
        else "linear",
    }


def _traffic(found: Spanned, component: ComponentPart) -> Traffic:
    part = table(found, ("size", "headers"), ("vary",))
    size = number(part["size"], SIZES)
    headers = [cast("Header", word(one, HEADERS)) for one in items(part["headers"])]
    if headers[:1] != ["ethernet"]:
        part["headers"].place.refuse("begins with ethernet")
    for outer, inner in pairwise(headers):
        if inner not in _FOLLOWS[outer]:
            allowed = " or ".join(_FOLLOWS[outer]) or "nothing"
            part["headers"].place.refuse(f"has {inner} behind {outer}, where only {allowed} can be")
    sweep = component["sweep"]
    least = sweep["first"] if sweep["parameter"] == SIZE else size
    needed = sum(HEADERS[header] for header in headers)
    if least < needed:
        part["size"].place.refuse(f"packets of {least} bytes have no room for {needed} of headers")
    vary = (
        [_variation(one, component, least) for one in items(part["vary"])] if "vary" in part else []
    )
    if len(vary) > 1:
        part["vary"].place.refuse("has more than one range of bytes; one is all that there can be")
    return {"size": size, "headers": headers, "vary": vary}


def _variation(found: Spanned, component: ComponentPart, size: int) -> Variation:
    part = table(found, ("offset", "bytes", "how", "values"))
    offset = number(part["offset"], Number("offset", 0, size - 1, 0))
    count = number(part["bytes"], Number("bytes", 1, 4, 4))
    if offset + count > size:
        found.place.refuse(f"ends behind the packet, which has {size} bytes")
    values: int | str = text(part["values"])
    parameters = COMPONENTS[component["kind"]].parameters
    if isinstance(parameters.get(str(values)), Number):
        how = cast("ValueOrder", word(part["how"], ("random", "sequence")))
        return {"offset": offset, "bytes": count, "how": how, "values": values}
    if not str(values)[:1].isdigit():
        numbers = [key for key, one in parameters.items() if isinstance(one, Number)]
        named = f", or one of {', '.join(numbers)}" if numbers else ""
        part["values"].place.refuse(f"{values!r} is neither a number{named}")
    limits = Number("values", 1, 1 << (8 * count), 1)
    how = cast("ValueOrder", word(part["how"], ("random", "sequence")))
    return {"offset": offset, "bytes": count, "how": how, "values": number(part["values"], limits)}


_FOLDER = Path(__file__).parent / "catalogue"


def shipped_names() -> list[str]:
    """Return the names of the experiments that come with slowpath."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def shipped_experiment(name: str) -> Experiment:
    """Return the experiment of this name that comes with slowpath.

    Raises:
        OptionError: when no experiment has this name.
    """
    if name not in shipped_names():
        reason = f"{name!r} is no experiment; slowpath calibrate --list has them"
        raise OptionError("--component", reason)
    return load_experiment(str(_FOLDER / f"{name}.yaml"))
