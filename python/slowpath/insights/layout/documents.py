"""Types of the documents of layouts."""

from typing import Literal, TypedDict


class Member(TypedDict):
    """A variable as a member of the struct."""

    variable: str
    """Name of the variable."""
    offset: int
    """Offset from the start of the struct, in bytes."""
    size_bytes: int
    """Size of the variable."""


class Pack(TypedDict):
    """A window that one access fetches: `width` bytes, aligned to `width`."""

    offset: int
    """Offset of the window, in bytes."""
    fetch_bytes: int
    """Bytes up to the end of the last variable that a block touches; 0 if no block touches any."""
    variables: list[str]
    """Variables that are at least partly in the window."""
    blocks: list[str]
    """Blocks that fetch the window."""


class TouchedBlock(TypedDict):
    """A block of code, with its accesses."""

    block: str
    """Name of the block, or `block N` with its position in the file."""
    weight: float
    """Runs of the block for each packet."""
    accesses: int
    """Accesses of one run with the advised order."""
    before: int
    """Accesses of one run with the order of the source."""


class ComparedLayout(TypedDict):
    """Another order of the variables, for comparison."""

    layout: str
    """Origin of the order: `source`, `clusters` (the published method, computed by slowpath), or
    `published`."""
    accesses: float
    """Accesses for each packet."""
    saved: float | None
    """Share of these accesses that the advised order saves; null if there are none."""
    order: list[str]
    """Variables in this order."""


class ElementLayout(TypedDict):
    """Layout of an element of the file."""

    element: str
    """Name of the element."""
    verdict: Literal["optimal", "stopped"]
    """`optimal`: no order takes fewer accesses; `stopped`: the search reached its limit, `bound` is
    what may be possible."""
    accesses: float
    """Accesses for each packet: the sum over blocks of accesses times runs."""
    accesses_per_block: float | None
    """`accesses` divided by the sum of weights; null if no block runs."""
    bound: float
    """Lower bound of the accesses of any order."""
    size_bytes: int
    """Size of the struct."""
    members: list[Member]
    """Variables in the advised order."""
    packs: list[Pack]
    """Windows that accesses fetch."""
    blocks: list[TouchedBlock]
    """Blocks in the order of the file."""
    compared: list[ComparedLayout]
    """Other orders, for comparison."""
    struct: str
    """Definition of the struct in C."""


class CoalescingReport(TypedDict):
    """Output of `slowpath insights coalescing --format json`."""

    slowpath: str
    """Version of slowpath."""
    file: str
    """Name of the file, as the user gave it."""
    width: int
    """Bytes that an access fetches."""
    elements: list[ElementLayout]
    """Elements in the order of the file."""
