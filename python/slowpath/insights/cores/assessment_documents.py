"""Types of the JSON entry `card`, with predictions for a function on the SmartNIC."""

from typing import Literal, TypedDict


class CardPart(TypedDict):
    """A data structure of the assessed function, with the accesses of a packet to it."""

    structure: str
    """Name of the data structure."""
    memory: Literal["imem", "emem"]
    """Memory that is assumed to contain the structure, according to the placement."""
    fewest: float
    """Accesses per packet, if one access fetches all touched bytes of a 16-byte window."""
    most: float
    """Accesses per packet, if each access in the source is an access on the SmartNIC."""


class CardWork(TypedDict):
    """Work of a packet on the SmartNIC."""

    instructions: float
    """Instructions of LLVM's intermediate language per packet."""
    parts: list[CardPart]
    """Data structures in memory. Packets and local variables are excluded, as they are in
    registers."""


class CardPrice(TypedDict):
    """Price of an operation on the SmartNIC, learnt from published measurements of elements."""

    what: str
    """The operation, such as an instruction or an access."""
    ns: float
    """Price in ns: the median over the published elements, and the mean over fitted models."""
    spread: float
    """Root mean square deviation of elements and fitted models from the price, as a share of the
    price."""


class CardPoint(TypedDict):
    """Predicted throughput at a number of cores."""

    cores: int
    """Number of cores, with four threads each."""
    throughput_pps: float
    """Median throughput, in packets per second."""
    low_pps: float
    """Lower end of the confidence interval of the throughput, in packets per second."""
    high_pps: float
    """Upper end of the confidence interval of the throughput, in packets per second."""
    outside: bool
    """True if no function was measured on so few cores."""


class CardLimit(TypedDict):
    """A resource that may limit the throughput of the function on all 60 cores."""

    limit: str
    """Name of the bottleneck: `computation`, `IMEM`, `EMEM` or `line`; `waiting for memory` if no
    resource is full."""
    share: float
    """Share of the random draws of prices with this bottleneck."""


class CardCores(TypedDict):
    """Advised number of cores for the assessed function."""

    knee_cores: int
    """Advised number of cores."""
    knee_low: int
    """Lower end of the confidence interval of the advised number."""
    knee_high: int
    """Upper end of the confidence interval of the advised number."""
    throughput_pps: float
    """Median throughput at the advised number of cores, in packets per second."""
    low_pps: float
    """Lower end of the confidence interval of the throughput, in packets per second."""
    high_pps: float
    """Upper end of the confidence interval of the throughput, in packets per second."""
    share: float
    """Median throughput as a share of the median throughput on all 60 cores."""
    limits: list[CardLimit]
    """Possible bottlenecks, the likeliest first."""
    points: list[CardPoint]
    """Predictions at 1 to 60 cores."""


class CardNeighbour(TypedDict):
    """Another function on the same SmartNIC; both functions have 30 cores."""

    neighbour: str
    """Name of the other function, or its kind."""
    about: str
    """Description of the other function's elements or its source."""
    typical: bool
    """True for a typical function of its kind; false for a function of `--beside`, or a second copy
    of the assessed function."""
    kept: float
    """Median share of its solo throughput that the assessed function keeps."""
    low: float
    """Lower end of the confidence interval of `kept`."""
    high: float
    """Upper end of the confidence interval of `kept`."""
    others: float
    """Median share of its own solo throughput that the other function keeps."""


class CardUse(TypedDict):
    """Assessment of a function on the SmartNIC; all values are predicted."""

    work: CardWork
    """Work of a packet, counted while the function processed the trace."""
    prices: list[CardPrice]
    """Prices of the operations in `work`."""
    confidence: float
    """Confidence level of all intervals, between 0 and 1."""
    cores: CardCores
    """Advised number of cores for the function if it runs alone."""
    neighbours: list[CardNeighbour]
    """Predictions beside other functions, ordered by the share that the function keeps."""
