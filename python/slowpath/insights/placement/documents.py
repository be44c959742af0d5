"""Types of the JSON document of the command `slowpath insights placement`."""

from typing import Literal, TypedDict

from slowpath.core.schema import Document


class PlacedPart(TypedDict):
    """A data structure, or some of its parts, on a memory level."""

    structure: str
    """Name of the data structure."""
    level: str
    """Name of the advised memory level."""
    parts: int
    """Number of the structure's parts on this level."""
    of_parts: int
    """Number of all parts of the structure; 1 if it is undivided."""
    size_bytes: int
    """Size in bytes of the parts on this level."""
    cost: float
    """Cost of the accesses to the parts on this level, with copies from them."""
    share: float | None
    """`cost` as a share of the cost of all structures; null if all costs are 0."""


class UsedLevel(TypedDict):
    """A memory level, with its use."""

    level: str
    """Name of the level."""
    capacity_bytes: int
    """Capacity of the level in bytes, in the scope of the case."""
    used_bytes: int
    """Number of bytes that structures occupy on the level."""
    busy: float | None
    """Utilisation of the level at the throughput of the case, as a share of the time; null for
    cases without cores."""


class Through(TypedDict):
    """Maximum throughput of a SmartNIC, and its bottleneck."""

    packetrate_pps: float
    """Packets per second."""
    bottleneck: str
    """Bottleneck of the throughput: the name of a memory level; `waiting`, contexts that wait for
    accesses; `computing`, cores; `wanted`, the requested rate."""


class ComparedPlacement(TypedDict):
    """Another placement, for comparison with the advised one."""

    placement: str
    """Origin of the placement: `published` and `as it is` are from the file, `all in LEVEL` puts
    everything on the largest level, `least cost` ignores bandwidths."""
    cost: float
    """Cost of all accesses with this placement."""
    stated_cost: float | None
    """Cost of all accesses as the file states it; null if the file does not."""
    unpriced: bool
    """True if the placement has accesses without a price, which count as 0."""
    overfull: list[str]
    """Names of the memory levels whose capacity the placement exceeds."""
    throughput: Through | None
    """Throughput of the SmartNIC; null for cases without cores, or if packets take no time."""
    better: float | None
    """Relative improvement by the advised placement, of cost or of throughput, according to the
    objective of the case. Negative if this placement is better; null if this placement costs
    nothing."""


class UnpricedLevel(TypedDict):
    """A memory level on which some operations of the structures have no price."""

    level: str
    """Name of the level."""
    operations: list[str]
    """Operations without a price on this level."""


class Unpriced(TypedDict):
    """The best placement if accesses whose price is unknown were free instead of forbidden."""

    levels: list[UnpricedLevel]
    """Memory levels that this placement uses although they lack some prices."""
    structures: list[str]
    """Names of structures with accesses that lack a price in this placement."""
    cost: float
    """Cost of this placement. If `verdict` is `optimal`, no placement costs less, whatever the
    missing prices are."""
    packetrate_pps: float | None
    """Packets per second with this placement; null for cases without cores."""
    verdict: Literal["optimal", "stopped"]
    """`optimal` if no other placement is better when accesses without a price are free; `stopped`
    if this is not proved."""


class PlacementCase(TypedDict):
    """Advised placement for one case of the file."""

    case: str
    """Name of the case."""
    scope: str
    """Name of the scope whose capacities apply."""
    objective: Literal["cost", "throughput"]
    """Objective: `throughput` first, then cost; or `cost` alone."""
    verdict: Literal["optimal", "stopped"]
    """`optimal`: no placement is better; `stopped`: the time was over, and `bound` states what may
    be possible."""
    cost: float
    """Cost of all accesses with the advised placement."""
    throughput: Through | None
    """Throughput of the SmartNIC; null for cases without cores, or if packets take no time."""
    bound: float | None
    """Lower bound of the cost, or upper bound of the packets per second, according to `objective`;
    null if no bound is known."""
    structures: list[PlacedPart]
    """Data structures in the order of the file, with an entry for each level that holds parts."""
    levels: list[UsedLevel]
    """All memory levels, with their use."""
    compared: list[ComparedPlacement]
    """Other placements, for comparison."""
    unpriced: Unpriced | None
    """Better placement on memory levels that are forbidden for lack of prices. Null if there is
    none, or if accesses without a price are free."""


class StatePlacement(Document):
    """Output of `slowpath insights placement --format json`."""

    file: str
    """Name of the file, as the user gave it."""
    without_price: Literal["forbidden", "free"]
    """Treatment of accesses without a price: `forbidden` or `free`."""
    results: list[PlacementCase]
    """Cases in the order of the file."""
