"""Schema of assessments."""

from typing import Literal, TypedDict


class CardPart(TypedDict):
    """A data structure, with the accesses of a packet to it."""

    structure: str
    """Name of the structure."""
    memory: Literal["imem", "emem"]
    """Assumed location, according to the placement."""
    fewest: float
    """Accesses per packet, if one access fetches all touched bytes of a 16-byte window."""
    most: float
    """Accesses per packet, if each access in the source is an access on the card."""


class CardWork(TypedDict):
    """Work of a packet on the card."""

    instructions: float
    """Instructions of LLVM's intermediate language per packet."""
    parts: list[CardPart]
    """Data structures; packets and local variables are excluded, as they are in registers."""


class CardPrice(TypedDict):
    """Price of an operation, learnt from published elements."""

    what: str
    """The operation, such as an instruction or an access."""
    ns: float
    """Median over elements, mean over fits."""
    spread: float
    """Root mean square deviation of elements and fits from the price, as a share of it."""


class CardPoint(TypedDict):
    """Prediction at a number of cores."""

    cores: int
    """Number of cores, with four threads each."""
    throughput_pps: float
    """Median throughput."""
    low_pps: float
    """Lower end of the interval of the throughput."""
    high_pps: float
    """Upper end of the interval of the throughput."""
    outside: bool
    """True if no function was measured on so few cores."""


class CardLimit(TypedDict):
    """A possible bottleneck of the function on all cores."""

    limit: str
    """`computation`, `IMEM`, `EMEM` or `line`; `waiting for memory` if none of these is full."""
    share: float
    """Share of the price draws with this bottleneck."""


class CardCores(TypedDict):
    """Advised number of cores for the function."""

    knee_cores: int
    """Advised number of cores."""
    knee_low: int
    """Lower end of the interval of the advised number."""
    knee_high: int
    """Upper end of the interval of the advised number."""
    throughput_pps: float
    """Median throughput at the advised number."""
    low_pps: float
    """Lower end of the interval of the throughput."""
    high_pps: float
    """Upper end of the interval of the throughput."""
    share: float
    """Median throughput as a share of that on all 60 cores."""
    limits: list[CardLimit]
    """Possible bottlenecks, the likeliest first."""
    points: list[CardPoint]
    """Predictions at 1 to 60 cores."""


class CardNeighbour(TypedDict):
    """Another function on the same card; each has 30 cores."""

    neighbour: str
    """Name of the function, or its kind."""
    about: str
    """Description of its elements or its source."""
    typical: bool
    """True for a typical function of its kind; false for a function of `--beside`, or the function
    itself."""
    kept: float
    """Median share of its solo throughput that the function keeps."""
    low: float
    """Lower end of the interval of `kept`."""
    high: float
    """Upper end of the interval of `kept`."""
    others: float
    """Median share of its own solo throughput that the neighbour keeps."""


class CardUse(TypedDict):
    """Assessment of a function on the card; all values are predicted."""

    work: CardWork
    """Work of a packet, counted on the trace."""
    prices: list[CardPrice]
    """Prices of this work."""
    confidence: float
    """Confidence of all intervals."""
    cores: CardCores
    """Advised number of cores for the function alone."""
    neighbours: list[CardNeighbour]
    """Predictions beside other functions, ordered by the share that the function keeps."""
