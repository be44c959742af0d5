"""Reads the specifications of experiments from YAML files.

`docs/reference/experiments.md` describes the format.
"""

from copy import deepcopy
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, cast

from slowpath.calibrate.experiments.components import COMPONENTS, SIZE, Component
from slowpath.core import codes
from slowpath.core.errors import InputError, OptionError
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

Metric = Literal["ns", "cycles", "instructions"]
Header = Literal["ethernet", "ipv4", "ipv6", "udp", "tcp", "vxlan"]
ValueOrder = Literal["random", "sequence"]
Scale = Literal["linear", "log"]
Baseline = Literal["without", "empty"]


class Variation(TypedDict):
    """Bytes of the packet that differ from packet to packet."""

    offset: int
    """Offset of the first byte, in bytes from the start of the Ethernet header."""
    bytes: int
    """Number of bytes, from 1 to 4."""
    how: ValueOrder
    """Order of the values."""
    values: int | str
    """Number of different values, or the name of a parameter with this number."""


class Traffic(TypedDict):
    """The packets that the component processes."""

    size: int
    """Packet size in bytes, with the Ethernet header, without the frame check sequence."""
    headers: list[Header]
    """Headers, the outermost first; the payload fills the rest of the packet."""
    vary: list[Variation]
    """Bytes that vary; empty if all packets are the same. Keys of tables begin at these bytes."""


class Sweep(TypedDict):
    """The parameter that an experiment varies, with its values."""

    parameter: str
    """A parameter of the component, or `size`, the packet size."""
    first: int
    """Least value."""
    last: int
    """Greatest value."""
    points: int
    """Maximum number of values: those that are equal after rounding count once."""
    scale: Scale
    """Spacing of the values: equal differences (`linear`) or equal ratios (`log`)."""


class ComponentPart(TypedDict):
    """The component whose cost an experiment measures, with its parameters."""

    kind: str
    """Kind of component; `slowpath calibrate --list --format json` has all kinds."""
    sweep: Sweep
    """Swept parameter."""
    fixed: dict[str, int | str]
    """Values of other parameters that differ from their defaults."""


class Experiment(TypedDict):
    """A specification: a YAML file that determines all other data of an experiment."""

    schema: Literal[1]
    """Version of this format."""
    name: str
    """Name of lower-case letters, digits and hyphens; the directory of results has it, too."""
    description: str
    """Description in one sentence."""
    metrics: list[Metric]
    """Metrics of a packet; the first one that a test bed yields is modelled."""
    traffic: Traffic
    """Packets."""
    component: ComponentPart
    """Component under test, and its sweep."""
    baseline: Baseline
    """Subtracted baseline: the same program without the component, or an empty program."""
    testbeds: NotRequired[list[str]]
    """Test beds that may run the experiment; absent: all that support the component."""


ParameterValues = dict[str, int | str]
"""Value of each parameter of a component, and the packet size (`size`), by name."""


def values_of(sweep: Sweep, step: int = 1) -> list[int]:
    """Return the values of the swept parameter in ascending order.

    All values except the first and the last are multiples of `step`.
    """
    first, last, points = sweep["first"], sweep["last"], sweep["points"]
    if points == 1 or first == last:
        return [first]
    shares = [at / (points - 1) for at in range(points)]
    if sweep["scale"] == "log" and first > 0:
        exact = [first * (last / first) ** share for share in shares]
    else:
        exact = [first + (last - first) * share for share in shares]
    rounded = {round(value / step) * step for value in exact[1:-1]}
    return sorted({first, last, *(value for value in rounded if first < value < last)})


def swept_values(experiment: Experiment) -> list[int]:
    """Return all values of the parameter that an experiment sweeps."""
    sweep = experiment["component"]["sweep"]
    swept = COMPONENTS[experiment["component"]["kind"]].parameters.get(sweep["parameter"])
    return values_of(sweep, swept.step if isinstance(swept, Number) else 1)


def settings_at(experiment: Experiment, value: int) -> ParameterValues:
    """Return the values of all parameters of an experiment; the swept parameter has this value."""
    part = experiment["component"]
    settings: ParameterValues = {SIZE: experiment["traffic"]["size"]}
    for key, parameter in COMPONENTS[part["kind"]].parameters.items():
        settings[key] = parameter.default if isinstance(parameter, Number) else parameter.words[0]
    return settings | part["fixed"] | {part["sweep"]["parameter"]: value}


def numeric_value(settings: ParameterValues, name: str) -> int:
    """Return the value of parameter `name`; 0 if the component does not have it."""
    return int(settings.get(name, 0))


def with_range(
    experiment: Experiment, first: int | None, last: int | None, points: int | None
) -> Experiment:
    """Return a copy of an experiment that sweeps another range, or another number of points.

    None keeps the value of the experiment.

    Raises:
        InputError: when the range exceeds the limits of the parameter.
    """
    part = experiment["component"]
    sweep = part["sweep"]
    swept = COMPONENTS[part["kind"]].parameters.get(sweep["parameter"])
    new: Sweep = {
        **sweep,
        "first": sweep["first"] if first is None else first,
        "last": sweep["last"] if last is None else last,
        "points": sweep["points"] if points is None else points,
    }
    if isinstance(swept, Number):
        for value in (new["first"], new["last"]):
            if not swept.least <= value <= swept.most or value % swept.step:
                multiple = f", a multiple of {swept.step}" if swept.step > 1 else ""
                raise InputError(
                    codes.EXPERIMENT_RANGE,
                    experiment["name"],
                    f"{sweep['parameter']} cannot be {value:,}; it must be between "
                    f"{swept.least:,} and "
                    f"{swept.most:,}{multiple}",
                )
    if new["last"] < new["first"]:
        raise InputError(
            codes.EXPERIMENT_RANGE,
            experiment["name"],
            f"the range {new['first']}..{new['last']} is empty, "
            "because it falls; exchange both ends",
        )
    return {**experiment, "component": {**part, "sweep": new}}


METRICS = ("ns", "cycles", "instructions")
HEADERS = {"ethernet": 14, "ipv4": 20, "ipv6": 40, "udp": 8, "tcp": 20, "vxlan": 8}
"""Size in bytes of each supported header, without options (RFC 791, 8200, 768, 9293, 7348)."""
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
    """Read a specification from the text of a file; `file` is its name in errors.

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
        found.place.refuse(
            f"metrics must have at least one of {', '.join(METRICS)}, each at most once"
        )
    return metrics


def _component(found: Spanned) -> ComponentPart:
    part = table(found, ("kind", "sweep"), ("fixed",))
    kind = word(part["kind"], COMPONENTS)
    known = COMPONENTS[kind]
    sweep = _sweep(part["sweep"], known)
    fixed = dict[str, int | str]()
    for key, one in mapping(part["fixed"]).items() if "fixed" in part else ():
        if key == sweep["parameter"]:
            one.place.refuse(
                "the parameter is swept, so it cannot also be fixed; remove one of the two"
            )
        if key not in known.parameters:
            one.place.refuse(f"the name is not a parameter of {kind}; {_parameters(known)}")
        fixed[key] = setting(one, known.parameters[key])
    return {"kind": kind, "sweep": sweep, "fixed": fixed}


def _parameters(component: Component) -> str:
    return (
        f"its parameters are {', '.join(component.parameters)}"
        if component.parameters
        else "it has no parameters"
    )


def _sweep(found: Spanned, component: Component) -> Sweep:
    part = table(found, ("parameter", "first", "last"), ("points", "scale"))
    numbers = {key: one for key, one in component.parameters.items() if isinstance(one, Number)}
    limits = {**numbers, SIZE: SIZES}
    parameter = word(part["parameter"], limits)
    first, last = (number(part[key], limits[parameter]) for key in ("first", "last"))
    if last < first:
        part["last"].place.refuse(f"the last value, {last}, is less than the first value, {first}")
    return {
        "parameter": parameter,
        "first": first,
        "last": last,
        "points": number(part["points"], POINTS) if "points" in part else POINTS.default,
        "scale": cast("Scale", word(part["scale"], ("linear", "log")))
        if "scale" in part
        else "linear",
    }


def _traffic(found: Spanned, component: ComponentPart) -> Traffic:
    part = table(found, ("size", "headers"), ("vary",))
    size = number(part["size"], SIZES)
    headers = [cast("Header", word(one, HEADERS)) for one in items(part["headers"])]
    if headers[:1] != ["ethernet"]:
        part["headers"].place.refuse("the list of headers must begin with ethernet")
    for outer, inner in pairwise(headers):
        if inner not in _FOLLOWS[outer]:
            allowed = " or ".join(_FOLLOWS[outer]) or "nothing"
            part["headers"].place.refuse(
                f"the header {inner} follows {outer}, where only {allowed} may follow"
            )
    sweep = component["sweep"]
    least = sweep["first"] if sweep["parameter"] == SIZE else size
    needed = sum(HEADERS[header] for header in headers)
    if least < needed:
        part["size"].place.refuse(
            f"packets of {least} bytes have no room for headers of {needed} bytes"
        )
    vary = (
        [_variation(one, component, least) for one in items(part["vary"])] if "vary" in part else []
    )
    if len(vary) > 1:
        part["vary"].place.refuse(
            "the key has several ranges of bytes; only one range is supported"
        )
    return {"size": size, "headers": headers, "vary": vary}


def _variation(found: Spanned, component: ComponentPart, size: int) -> Variation:
    part = table(found, ("offset", "bytes", "how", "values"))
    offset = number(part["offset"], Number("offset", 0, size - 1, 0))
    count = number(part["bytes"], Number("bytes", 1, 4, 4))
    if offset + count > size:
        found.place.refuse(f"the range ends beyond the packet, which has {size} bytes")
    values: int | str = text(part["values"])
    parameters = COMPONENTS[component["kind"]].parameters
    if isinstance(parameters.get(str(values)), Number):
        how = cast("ValueOrder", word(part["how"], ("random", "sequence")))
        return {"offset": offset, "bytes": count, "how": how, "values": values}
    if not str(values)[:1].isdigit():
        numbers = [key for key, one in parameters.items() if isinstance(one, Number)]
        named = f", or one of {', '.join(numbers)}" if numbers else ""
        part["values"].place.refuse(f"{values!r} is not a number{named}")
    limits = Number("values", 1, 1 << (8 * count), 1)
    how = cast("ValueOrder", word(part["how"], ("random", "sequence")))
    return {"offset": offset, "bytes": count, "how": how, "values": number(part["values"], limits)}


_FOLDER = Path(__file__).parent / "catalogue"


def shipped_names() -> list[str]:
    """Return the names of the experiments that come with slowpath."""
    return list(_names())


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


def shipped_experiment(name: str) -> Experiment:
    """Return the experiment with this name from those that come with slowpath.

    Raises:
        OptionError: when no experiment has this name.
    """
    if name not in (names := shipped_names()):
        from slowpath.core.spelling import did_you_mean, with_common_words

        hint = did_you_mean(name, names) or with_common_words(name, names)
        if not hint:
            first_words = dict.fromkeys(one.partition("-")[0] for one in names)
            hint = f"; names begin with {', '.join(first_words)}; --list prints all"
        raise OptionError(codes.UNKNOWN_NAME, "--component", f"{name!r} is not an experiment{hint}")
    return deepcopy(_read_shipped(name))


@cache
def _read_shipped(name: str) -> Experiment:
    """Read the specification of an experiment that comes with slowpath.

    Results are cached, because copying one takes a tenth of the time of reading YAML.
    """
    return load_experiment(str(_FOLDER / f"{name}.yaml"))
