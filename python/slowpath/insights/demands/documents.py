"""Shape of assessments."""

from typing import Literal, TypedDict


class CardPart(TypedDict):
    """A structure, with what a packet does to it."""

    structure: str
    """Its name."""
    memory: Literal["imem", "emem"]
    """Where it is taken to be: where the placement puts it."""
    fewest: float
    """Accesses for each packet, if one fetches 16 bytes that are touched."""
    most: float
    """The same, if each access of the source is one."""


class CardWork(TypedDict):
    """What a packet makes on the card."""

    instructions: float
    """Of LLVM's intermediate language, for each packet."""
    parts: list[CardPart]
    """Structures; accesses to packets and local variables are in registers."""


class CardPrice(TypedDict):
    """What one of something takes, as published elements tell."""

    what: str
    """An instruction, an access."""
    ns: float
    """The median over elements, mean over fits."""
    spread: float
    """How far elements and fits are apart from it, root mean square, as a share of it."""


class CardPoint(TypedDict):
    """A number of cores."""

    cores: int
    """So many, with four threads each."""
    throughput_pps: float
    """The median."""
    low_pps: float
    """The lower end of the interval."""
    high_pps: float
    """The upper one."""
    outside: bool
    """Whether no function was measured on so few."""


class CardLimit(TypedDict):
    """What may hold the function back on all cores."""

    limit: str
    """`computation`, `IMEM`, `EMEM`, `line`; `waiting for memory`: none of these is full."""
    share: float
    """Of all draws of the prices, those in which it is that."""


class CardCores(TypedDict):
    """How many cores the function is worth."""

    knee_cores: int
    """The advised number."""
    knee_low: int
    """The lower end of the interval."""
    knee_high: int
    """The upper one."""
    throughput_pps: float
    """There, the median."""
    low_pps: float
    """The lower end of the interval."""
    high_pps: float
    """The upper one."""
    share: float
    """Of the throughput on all 60 cores, the median."""
    limits: list[CardLimit]
    """The likeliest first."""
    points: list[CardPoint]
    """From 1 to 60 cores."""


class CardNeighbour(TypedDict):
    """Another function on the same card; each has 30 cores."""

    neighbour: str
    """Its name, or what kind of function it is."""
    about: str
    """What it consists of."""
    typical: bool
    """Whether it stands for a kind of functions; else it is of `--beside`, or the function
    itself."""
    kept: float
    """What the function keeps of its throughput alone, the median."""
    low: float
    """The lower end of the interval."""
    high: float
    """The upper one."""
    others: float
    """What the neighbour keeps of its own, the median."""


class CardUse(TypedDict):
    """What is said of a function on the card; predicted, nothing was measured."""

    work: CardWork
    """What a packet makes, as it was counted on the trace."""
    prices: list[CardPrice]
    """What that takes."""
    confidence: float
    """Of all intervals."""
    cores: CardCores
    """By itself."""
    neighbours: list[CardNeighbour]
    """Beside others, the one first with which it keeps most."""
