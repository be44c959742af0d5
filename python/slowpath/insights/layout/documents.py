"""Shape of layouts."""

from typing import Literal, TypedDict


class Member(TypedDict):
    """A variable in the struct."""

    variable: str
    """Its name."""
    offset: int
    """Bytes from the beginning."""
    size_bytes: int
    """Its size."""


class Pack(TypedDict):
    """What one access fetches: a window of the width, from a multiple of it."""

    offset: int
    """Where it begins."""
    fetch_bytes: int
    """From there, up to the end of the last variable that a block touches; 0: none touches any."""
    variables: list[str]
    """Those of which it has a part."""
    blocks: list[str]
    """Those that fetch it."""


class TouchedBlock(TypedDict):
    """A block of code."""

    block: str
    """Its name, or `block N` by its place in the file."""
    weight: float
    """How often it runs, for each packet."""
    accesses: int
    """Accesses that it takes with the advised order."""
    before: int
    """The same with the order of the source."""


class ComparedLayout(TypedDict):
    """Another order of the variables."""

    layout: str
    """Whose it is: `source`, `clusters` (the published way, computed here), or `published`."""
    accesses: float
    """Accesses for each packet."""
    saved: float | None
    """Share of these that the advised order saves; null where there are none."""
    order: list[str]
    """The variables in that order."""


class ElementLayout(TypedDict):
    """An element of the file."""

    element: str
    """Its name."""
    verdict: Literal["optimal", "stopped"]
    """`optimal`: no order takes fewer accesses; `stopped`: the search was over, `bound` says what
    may be possible."""
    accesses: float
    """Accesses for each packet: of each block, those that it takes times how often it runs."""
    accesses_per_block: float | None
    """The same divided by the sum of weights; null where no block runs."""
    bound: float
    """No order takes fewer accesses."""
    size_bytes: int
    """Size of the struct."""
    members: list[Member]
    """The variables in the advised order."""
    packs: list[Pack]
    """What accesses fetch."""
    blocks: list[TouchedBlock]
    """In the order of the file."""
    compared: list[ComparedLayout]
    """Other orders."""
    struct: str
    """The struct in C."""


class CoalescingReport(TypedDict):
    """What `slowpath insights coalescing --format json` writes."""

    slowpath: str
    """Version of slowpath."""
    file: str
    """The file as the user named it."""
    width: int
    """Bytes that an access fetches."""
    elements: list[ElementLayout]
    """In the order of the file."""
