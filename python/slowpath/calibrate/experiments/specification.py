"""Types of specifications, swept values, and other ranges for sweeps."""

from typing import Literal, NotRequired, TypedDict

from slowpath.calibrate.experiments.components import COMPONENTS, SIZE
from slowpath.core.errors import InputError
from slowpath.core.spanned import Number

Metric = Literal["ns", "cycles", "instructions"]
Header = Literal["ethernet", "ipv4", "ipv6", "udp", "tcp", "vxlan"]
ValueOrder = Literal["random", "sequence"]
Scale = Literal["linear", "log"]
Baseline = Literal["without", "empty"]


class Variation(TypedDict):
    """Bytes that differ from packet to packet."""

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
    """The parameter that changes from point to point, with its values."""

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
    """The component of an experiment, with its parameters."""

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
"""Value of each parameter of a component, and of `size`."""


def values_of(sweep: Sweep, step: int = 1) -> list[int]:
    """Return the values of a sweep in ascending order; inner ones are multiples of `step`."""
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
    """Return the values of an experiment's swept parameter."""
    sweep = experiment["component"]["sweep"]
    swept = COMPONENTS[experiment["component"]["kind"]].parameters.get(sweep["parameter"])
    return values_of(sweep, swept.step if isinstance(swept, Number) else 1)


def settings_at(experiment: Experiment, value: int) -> ParameterValues:
    """Return the values of all parameters at one value of the swept parameter."""
    part = experiment["component"]
    settings: ParameterValues = {SIZE: experiment["traffic"]["size"]}
    for name, parameter in COMPONENTS[part["kind"]].parameters.items():
        settings[name] = parameter.usual if isinstance(parameter, Number) else parameter.words[0]
    return settings | part["fixed"] | {part["sweep"]["parameter"]: value}


def numeric_value(settings: ParameterValues, name: str) -> int:
    """Return the value of a numeric parameter; 0 if the component lacks the parameter."""
    return int(settings.get(name, 0))


def with_range(
    experiment: Experiment, first: int | None, last: int | None, points: int | None
) -> Experiment:
    """Return the experiment with another range or another number of points; None keeps a value.

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
                    experiment["name"],
                    f"{sweep['parameter']} cannot be {value:,}; it is between {swept.least:,} and "
                    f"{swept.most:,}{multiple}",
                )
    if new["last"] < new["first"]:
        raise InputError(experiment["name"], f"the range {new['first']}:{new['last']} is empty")
    return {**experiment, "component": {**part, "sweep": new}}
