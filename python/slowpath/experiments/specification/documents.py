"""The shape of a specification; the JSON Schema `experiment` is derived from it."""

from typing import Literal, NotRequired, TypedDict

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
