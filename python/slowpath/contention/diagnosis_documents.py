"""Schema of diagnoses."""

from typing import Literal, TypedDict


class ResourcePart(TypedDict):
    """Throughput that a resource allows if no other resource limits the function."""

    resource: str
    """Name of the resource: `memory` or `regex`."""
    throughput: float
    """Throughput in the unit of the profile, as all throughputs."""
    low: float
    """Lower end of the interval of `throughput`."""
    high: float
    """Upper end of the interval of `throughput`."""


class Diagnosed(TypedDict):
    """Bottleneck of the function in one setting."""

    throughput: float
    """Predicted throughput with all resources."""
    low: float
    """Lower end of the interval of `throughput`."""
    high: float
    """Upper end of the interval of `throughput`."""
    bottleneck: str
    """The limiting resource. In a pipeline, it is the slowest stage. In run-to-completion, it is
    the resource whose contention adds the most time."""
    sure: bool
    """True if the intervals of the bottleneck and the next resource do not overlap."""
    next: str | None
    """The resource that would limit the function without the bottleneck; null if the function uses
    only one resource."""
    margin: float | None
    """Speedup without the bottleneck, as a share of `throughput`; null without a next resource."""
    resources: list[ResourcePart]
    """Throughput that each resource allows on its own."""
    outside: list[str]
    """Attributes of the setting outside the training range."""


class SettingTraffic(TypedDict):
    """Traffic of all functions."""

    flows: float
    """Number of flows."""
    size: float
    """Packet size in bytes."""
    mtbr: float | None
    """Matches per MB; null if no function uses an accelerator."""


class WhatIf(TypedDict):
    """Diagnosis after one hypothetical change."""

    change: str
    """The change, as the user wrote it."""
    gain: float
    """Speedup of the function, as a share of its throughput now."""
    diagnosis: Diagnosed
    """Bottleneck after the change."""


class SweptPoint(TypedDict):
    """A point of the sweep."""

    value: float
    """Value of the attribute."""
    diagnosis: Diagnosed
    """Bottleneck at this value."""


class Crossing(TypedDict):
    """A change of the bottleneck."""

    at: float
    """The first value with the new bottleneck: a whole number of flows or bytes, or a match ratio
    to 12 digits."""
    before: str
    """The bottleneck below this value."""
    after: str
    """The bottleneck from this value on."""


class DiagnosedSweep(TypedDict):
    """Bottlenecks along an attribute of the traffic."""

    attribute: Literal["flows", "size", "mtbr"]
    """The swept attribute."""
    points: list[SweptPoint]
    """Sampled values in ascending order, including those where the bottleneck changes."""
    crossings: list[Crossing]
    """Values where the bottleneck changes."""


class DiagnosisReport(TypedDict):
    """Output of `slowpath contention diagnose --format json`."""

    slowpath: str
    """Version of slowpath."""
    function: str | None
    """The network function; null if the model does not name it. The same holds for the two fields
    below."""
    device: str | None
    """The device of the function's profile."""
    unit: str | None
    """Unit of throughput."""
    pattern: Literal["pipeline", "run-to-completion"]
    """Execution pattern of the function."""
    beside: list[str]
    """Models of the co-located functions, as the user named them."""
    traffic: SettingTraffic
    """Traffic of all functions."""
    confidence: float
    """Coverage of intervals, as a share."""
    now: Diagnosed
    """Bottleneck in the given setting."""
    what_if: list[WhatIf]
    """Results of `--what-if`, in the order of the command line."""
    sweep: DiagnosedSweep | None
    """Result of `--sweep`; null without the option."""
