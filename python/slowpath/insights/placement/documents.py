"""Types of the documents of placements."""

from typing import Literal, TypedDict


class PlacedPart(TypedDict):
    """A structure, or some of its parts, on a level."""

    structure: str
    """Name of the structure."""
    level: str
    """Advised level."""
    parts: int
    """Number of the structure's parts on this level."""
    of_parts: int
    """Number of all parts of the structure; 1 if it is undivided."""
    size_bytes: int
    """Size of the parts on this level."""
    cost: float
    """Cost of the accesses to these parts, with copies from them."""
    share: float | None
    """`cost` as a share of the cost of all structures; null if all costs are 0."""


class UsedLevel(TypedDict):
    """A memory level, with its use."""

    level: str
    """Name of the level."""
    capacity_bytes: int
    """Capacity in the scope of the case."""
    used_bytes: int
    """Bytes that structures occupy."""
    busy: float | None
    """Utilisation at the throughput of the case, as a share of the time; null for cases without
    cores."""


class Through(TypedDict):
    """Maximum throughput of a card."""

    packetrate_pps: float
    """Packets per second."""
    bottleneck: str
    """Bottleneck: a level; `waiting`, contexts that wait for accesses; `computing`, cores;
    `wanted`, the requested rate."""


class ComparedPlacement(TypedDict):
    """Another placement, for comparison."""

    placement: str
    """Origin: `published` and `as it is` are from the file, `all in LEVEL` puts everything on the
    largest level, `least cost` ignores bandwidths."""
    cost: float
    """Cost of its accesses."""
    stated_cost: float | None
    """Cost of its accesses as the file states it; null if the file does not."""
    unpriced: bool
    """True if it has accesses without a price; these count as 0."""
    overfull: list[str]
    """Levels whose capacity it exceeds."""
    throughput: Through | None
    """Throughput of the card; null for cases without cores, or if packets take no time."""
    better: float | None
    """Relative improvement by the advised placement, of cost or of throughput, by `objective`;
    negative if this placement is better; null if this placement costs nothing."""


class UnpricedLevel(TypedDict):
    """A level without prices for some operations of structures."""

    level: str
    """Name of the level."""
    operations: list[str]
    """Operations without a price on this level."""


class Unpriced(TypedDict):
    """Best placement if accesses without a price were free instead of forbidden."""

    levels: list[UnpricedLevel]
    """Levels without some prices that this placement uses."""
    structures: list[str]
    """Structures with accesses that lack a price in this placement."""
    cost: float
    """Cost of this placement; if `verdict` is `optimal`, no placement costs less, whatever the
    missing prices are."""
    packetrate_pps: float | None
    """Packets per second with this placement; null for cases without cores."""
    verdict: Literal["optimal", "stopped"]
    """`optimal` if no other such placement is better, `stopped` if that is not proved."""


class PlacementCase(TypedDict):
    """Advised placement for a case of the file."""

    case: str
    """Name of the case."""
    scope: str
    """Scope whose capacities apply."""
    objective: Literal["cost", "throughput"]
    """Objective: `throughput`, then cost; or `cost` alone."""
    verdict: Literal["optimal", "stopped"]
    """`optimal`: no placement is better; `stopped`: the time was over, `bound` is what may be
    possible."""
    cost: float
    """Cost of all accesses."""
    throughput: Through | None
    """Throughput of the card; null for cases without cores, or if packets take no time."""
    bound: float | None
    """Lower bound of the cost, or upper bound of the packets per second, by `objective`; null if
    no bound is known."""
    structures: list[PlacedPart]
    """Structures in the order of the file, with a row for each level that holds parts."""
    levels: list[UsedLevel]
    """All levels."""
    compared: list[ComparedPlacement]
    """Other placements, for comparison."""
    unpriced: Unpriced | None
    """Better placement on levels that are forbidden for lack of prices; null if there is none, or
    if accesses without a price are free."""


class StatePlacement(TypedDict):
    """Output of `slowpath insights placement --format json`."""

    slowpath: str
    """Version of slowpath."""
    file: str
    """Name of the file, as the user gave it."""
    without_price: Literal["forbidden", "free"]
    """Treatment of accesses without a price."""
    cases: list[PlacementCase]
    """Cases in the order of the file."""
