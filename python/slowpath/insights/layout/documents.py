"""Types of the JSON document of the command `slowpath insights coalescing`."""

from typing import Literal, TypedDict

from slowpath.core.schema import Document


class Member(TypedDict):
    """A variable as a member of the struct, with its position."""

    variable: str
    """Name of the variable."""
    offset: int
    """Offset from the start of the struct, in bytes."""
    size_bytes: int
    """Size of the variable in bytes."""


class Pack(TypedDict):
    """A window of the struct that one access fetches: `width` bytes, aligned to `width`."""

    offset: int
    """Offset of the window from the start of the struct, in bytes."""
    fetch_bytes: int
    """Bytes of the window up to the end of the last variable that a block touches; 0 if no block
    touches any."""
    variables: list[str]
    """Names of variables that are at least partly in the window."""
    blocks: list[str]
    """Names of code blocks that fetch the window."""


class TouchedBlock(TypedDict):
    """A block of code, with its memory accesses."""

    block: str
    """Name of the block, or `block N` with its position in the file."""
    weight: float
    """Runs of the block per packet."""
    accesses: int
    """Memory accesses of one run with the advised order of variables."""
    before: int
    """Memory accesses of one run with the source's order of variables."""


class ComparedLayout(TypedDict):
    """Another order of the variables, for comparison."""

    layout: str
    """Origin of the order: `source`, `clusters` (the published method, computed by slowpath), or
    `published`."""
    accesses: float
    """Memory accesses per packet with this order."""
    saved: float | None
    """Share of `accesses` that the advised order saves; null if `accesses` is 0."""
    order: list[str]
    """Names of the variables in this order."""


class ElementLayout(TypedDict):
    """Advised layout of the variables of one element (a function) of the file."""

    element: str
    """Name of the element."""
    verdict: Literal["optimal", "stopped"]
    """`optimal`: no order takes fewer accesses; `stopped`: the search reached its limit, and
    `bound` states what may be possible."""
    accesses: float
    """Memory accesses per packet: the sum over blocks of accesses times runs."""
    accesses_per_block: float | None
    """`accesses` divided by the sum of the blocks' weights; null if no block runs."""
    bound: float
    """Lower bound of the accesses per packet of any order."""
    size_bytes: int
    """Size of the struct in bytes, with padding."""
    members: list[Member]
    """Variables in the advised order, with their offsets."""
    packs: list[Pack]
    """Windows of the struct that accesses fetch."""
    blocks: list[TouchedBlock]
    """Blocks in the order of the file."""
    compared: list[ComparedLayout]
    """Other orders, for comparison."""
    struct: str
    """Definition of the struct in C."""


class CoalescingReport(Document):
    """Output of `slowpath insights coalescing --format json`."""

    file: str
    """Name of the file, as the user gave it."""
    width: int
    """Number of bytes that an access fetches."""
    results: list[ElementLayout]
    """Elements in the order of the file."""
