"""Shape of placements of state."""

from typing import Literal, TypedDict


class PlacedPart(TypedDict):
    """A structure, or parts of it, on a level."""

    structure: str
    """Its name."""
    level: str
    """Where it should be."""
    parts: int
    """So many of its parts."""
    of_parts: int
    """As many as it has; 1: it is in one place."""
    size_bytes: int
    """Of the parts that are there."""
    cost: float
    """What their accesses cost, copies from them included."""
    share: float | None
    """The same as a share of the cost of all structures; null where nothing costs anything."""


class UsedLevel(TypedDict):
    """A memory."""

    level: str
    """Its name."""
    capacity_bytes: int
    """What it holds in the scope of the case."""
    used_bytes: int
    """What structures take of it."""
    busy: float | None
    """Share of the time for which accesses keep it busy at the throughput of the case; null where
    nobody asks for throughput."""


class Through(TypedDict):
    """How many packets a card lets through at most."""

    packetrate_pps: float
    """Packets in a second."""
    bottleneck: str
    """What limits them: a level; `waiting`, contexts that wait for accesses; `computing`, cores;
    `wanted`, the rate that is asked for."""


class ComparedPlacement(TypedDict):
    """Another placement."""

    placement: str
    """Whose it is: `published` and `as it is` are of the file, `all in LEVEL` is the one that puts
    everything on the largest level, `least cost` the one that looks at no bandwidth."""
    cost: float
    """What its accesses cost."""
    stated_cost: float | None
    """What the file says that they cost; null where it does not."""
    unpriced: bool
    """Whether it has accesses without a price, which are counted as nothing."""
    overfull: list[str]
    """Levels that do not hold what it puts there."""
    throughput: Through | None
    """What it lets through; null where nobody asks for throughput."""
    better: float | None
    """By which share the advised placement is better: of cost, or of throughput where that is asked
    for; negative where this one is better; null where this one costs nothing."""


class UnpricedLevel(TypedDict):
    """A level without a price for something that structures need."""

    level: str
    """Its name."""
    operations: list[str]
    """What has no price there."""


class Unpriced(TypedDict):
    """What forbidden levels would change."""

    levels: list[UnpricedLevel]
    """Levels on which structures would be if all that has no price were free."""
    structures: list[str]
    """These structures."""
    cost: float
    """What that placement costs: whatever the prices are, none costs less where `verdict` is
    `optimal`."""
    packetrate_pps: float | None
    """What it lets through; null where nobody asks for throughput."""
    verdict: Literal["optimal", "stopped"]
    """Whether it is proved to be the best of its kind."""


class PlacementCase(TypedDict):
    """A case of the file."""

    case: str
    """Its name."""
    scope: str
    """Whose capacities count."""
    objective: Literal["cost", "throughput"]
    """What is as good as can be: `throughput`, then cost; or cost alone."""
    verdict: Literal["optimal", "stopped"]
    """`optimal`: no placement is better; `stopped`: the time was over, `bound` says what may be
    possible."""
    cost: float
    """What all accesses cost."""
    throughput: Through | None
    """What the card lets through; null where the case has no cores, or nothing takes time."""
    bound: float | None
    """No placement costs less, or lets more packets through in a second, by `objective`; null where
    nothing is known of that."""
    structures: list[PlacedPart]
    """In the order of the file, a row for each level that a structure is on."""
    levels: list[UsedLevel]
    """All of them."""
    compared: list[ComparedPlacement]
    """Other placements."""
    unpriced: Unpriced | None
    """What levels would change that are forbidden because they have no price; null where nothing,
    or where such accesses are free."""


class StatePlacement(TypedDict):
    """What `slowpath insights placement --format json` writes."""

    slowpath: str
    """Version of slowpath."""
    file: str
    """The file as the user named it."""
    without_price: Literal["forbidden", "free"]
    """What becomes of accesses without a price."""
    cases: list[PlacementCase]
    """In the order of the file."""
