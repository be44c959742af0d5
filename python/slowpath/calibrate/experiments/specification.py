"""Shape of specifications, swept values, and overrides of both."""

from typing import Literal, NotRequired, TypedDict

from slowpath.calibrate.experiments.components import COMPONENTS, SIZE
from slowpath.core.errors import InputError
from slowpath.core.spanned import Number

Metric = Literal["ns", "cycles", "instructions"]
Header = Literal["ethernet", "ipv4", "ipv6", "udp", "tcp", "vxlan"]
How = Literal["random", "sequence"]
Scale = Literal["linear", "log"]
Baseline = Literal["without", "empty"]


class Variation(TypedDict):
    """Bytes that differ from packet to packet."""

    offset: int
    """Of the first of them, in bytes from the start of the Ethernet header."""
    bytes: int
    """How many they are, from 1 to 4."""
    how: How
    """In which order values come."""
    values: int | str
    """How many different values there are: a number, or the name of a parameter."""


class Traffic(TypedDict):
    """The packets that the component sees."""

    size: int
    """Bytes of a packet, Ethernet header included, frame check sequence not."""
    headers: list[Header]
    """From the outermost one on; the payload is what is left of the size."""
    vary: list[Variation]
    """Empty: all packets are the same. Tables look for what varies, and what stands behind it."""


class Sweep(TypedDict):
    """The parameter that is changed from point to point."""

    parameter: str
    """A parameter of the component, or `size`, that of packets."""
    first: int
    """Its least value."""
    last: int
    """Its greatest value."""
    points: int
    """How many values are measured, at most: whole numbers that are the same count once."""
    scale: Scale
    """Whether values have the same distance or the same ratio."""


class ComponentPart(TypedDict):
    """The one component of an experiment."""

    kind: str
    """Which one: `slowpath calibrate --list` has all."""
    sweep: Sweep
    """What is changed."""
    fixed: dict[str, int | str]
    """Its other parameters, where they are not as usual."""


class Experiment(TypedDict):
    """A specification: a YAML file from which everything else of an experiment follows."""

    schema: Literal[1]
    """Version of this format."""
    name: str
    """Small letters, digits and hyphens; the directory of its results has this name."""
    description: str
    """One sentence."""
    metrics: list[Metric]
    """What is wanted to know of each packet; the first one that a test bed has is modelled."""
    traffic: Traffic
    """The packets."""
    component: ComponentPart
    """What is measured, by what."""
    baseline: Baseline
    """What is taken off: the same program without the component, or an empty program."""
    testbeds: NotRequired[list[str]]
    """Test beds that it makes sense on; absent: all that have the component."""


Settings = dict[str, int | str]
"""A value for each parameter of a component, and for `size`."""


def values_of(sweep: Sweep, step: int = 1) -> list[int]:
    """What the parameter is at each point, in order; each value once, each a multiple of a step."""
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


def points_of(experiment: Experiment) -> list[int]:
    """The values of an experiment's parameter."""
    sweep = experiment["component"]["sweep"]
    swept = COMPONENTS[experiment["component"]["kind"]].parameters.get(sweep["parameter"])
    return values_of(sweep, swept.step if isinstance(swept, Number) else 1)


def settings_at(experiment: Experiment, value: int) -> Settings:
    """All parameters where the swept one has this value."""
    part = experiment["component"]
    settings: Settings = {SIZE: experiment["traffic"]["size"]}
    for name, parameter in COMPONENTS[part["kind"]].parameters.items():
        settings[name] = parameter.usual if isinstance(parameter, Number) else parameter.words[0]
    return settings | part["fixed"] | {part["sweep"]["parameter"]: value}


def number_of(settings: Settings, name: str) -> int:
    """A parameter that is a number; 0 where the component has none of that name."""
    return int(settings.get(name, 0))


def with_range(
    experiment: Experiment, first: int | None, last: int | None, points: int | None
) -> Experiment:
    """The experiment with another range, or another number of points.

    Raises:
        InputError: when the range is beyond what the parameter can be.
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
