"""Shape of diagnoses."""

from typing import Literal, TypedDict


class ResourcePart(TypedDict):
    """What a resource would let through if nothing else limited the function."""

    resource: str
    """`memory` or `regex`."""
    throughput: float
    """In the unit of the profile, as all throughputs."""
    low: float
    """Lower end of its interval."""
    high: float
    """Upper end."""


class Diagnosed(TypedDict):
    """What holds the function back in one setting."""

    throughput: float
    """The prediction, all resources together."""
    low: float
    """Lower end of its interval."""
    high: float
    """Upper end."""
    bottleneck: str
    """The resource that takes most: of a pipeline the slowest stage, of run-to-completion the one
    whose contention adds the most time."""
    sure: bool
    """Whether the intervals of bottleneck and next resource are apart."""
    next: str | None
    """The resource that would limit the function if the bottleneck did not; null where it uses
    one only."""
    margin: float | None
    """How much faster it would then be, as a share of `throughput`; null without a next one."""
    resources: list[ResourcePart]
    """Each by itself."""
    outside: list[str]
    """What of the setting is unlike all that was measured."""


class SettingTraffic(TypedDict):
    """Traffic of all functions."""

    flows: float
    """Flows."""
    size: float
    """Bytes of a packet."""
    mtbr: float | None
    """Matches per MB; null where nobody uses an accelerator."""


class WhatIf(TypedDict):
    """The same with one thing changed."""

    change: str
    """What, as it was written."""
    gain: float
    """How much faster the function would be, as a share of its throughput now."""
    diagnosis: Diagnosed
    """What would hold it back then."""


class SweptPoint(TypedDict):
    """A value of the attribute."""

    value: float
    """Of the attribute."""
    diagnosis: Diagnosed
    """What holds the function back there."""


class Crossing(TypedDict):
    """Where the bottleneck changes."""

    at: float
    """The first value with the new one: a whole number of flows or bytes, else to 12 digits."""
    before: str
    """The bottleneck below."""
    after: str
    """The bottleneck from there on."""


class DiagnosedSweep(TypedDict):
    """How the bottleneck moves along an attribute of the traffic."""

    attribute: Literal["flows", "size", "mtbr"]
    """Which."""
    points: list[SweptPoint]
    """Values that were looked at, ascending, among them those where the bottleneck changes."""
    crossings: list[Crossing]
    """Where it changes."""


class DiagnosisReport(TypedDict):
    """What `slowpath contention diagnose --format json` writes."""

    slowpath: str
    """Version of slowpath."""
    function: str | None
    """The network function; null where its model does not say, as in what follows."""
    device: str | None
    """The device that it runs on."""
    unit: str | None
    """Unit of throughput."""
    pattern: Literal["pipeline", "run-to-completion"]
    """How the function uses resources."""
    beside: list[str]
    """Models of the functions beside it, as the user named them."""
    traffic: SettingTraffic
    """Traffic of all of them."""
    confidence: float
    """Of intervals, a share."""
    now: Diagnosed
    """What holds the function back."""
    what_if: list[WhatIf]
    """In the order of the command line."""
    sweep: DiagnosedSweep | None
    """With `--sweep`; null otherwise."""
