"""The request of `slowpath insights blocks`, and the shape of its document."""

from typing import Literal, NamedTuple, NotRequired, TypedDict

from slowpath.core.programs.sources import Clang

TARGET = "agilio-cx-2x40"
"""The card that instructions are predicted for."""
Way = Literal["auto", "exact", "learnt"]
"""`auto`: counted where that can be done, else by the model."""


class Question(NamedTuple):
    """Which blocks are to be predicted, and how."""

    file: str
    entry: str | None  # None: all programs, or functions that take packets
    map_abi: str
    clang: Clang
    way: Way = "auto"


class Accesses(TypedDict):
    """Accesses to memory; variables of functions are in registers and local memory, without any."""

    packet: int
    """To the packet."""
    state: int
    """To elements of maps and variables of the module."""
    unknown: int
    """By instructions that the card has not, to either."""


class Times(TypedDict):
    """Something that a block has."""

    what: str
    """Its name, or the reason."""
    times: int
    """How often."""


class PredictedBlock(TypedDict):
    """A block of LLVM's language on the card."""

    name: str
    """As LLVM calls it; empty: instructions that belong to no block."""
    file: str
    """Where its first instruction with a line is from."""
    line: int
    """The same; 0 where nothing says it."""
    llvm: int
    """Its instructions in LLVM's language."""
    bpf: int | None
    """Its instructions of BPF; null where none were made."""
    instructions: float
    """On the card, but for framework calls; whole where they were counted."""
    low: float
    """Four in five blocks have no fewer than this and no more than `high`, where it is learnt."""
    high: float
    """The same as `instructions` where they were counted."""
    call_instructions: int | None
    """On the card, for framework calls: arguments that are moved, and the call; null: not known."""
    accesses: Accesses
    """Without those of framework calls."""
    calls: list[Times]
    """Of the framework (helpers of the kernel), by name."""
    refused: list[Times]
    """What the card has not, by reason: what it would take is in no number of instructions."""


class PredictedFunction(TypedDict):
    """A function of a program."""

    name: str
    """As the source calls it."""
    file: str
    """Where it is defined."""
    line: int
    """The same; 0 where nothing says it."""
    blocks: list[PredictedBlock]
    """In the order of LLVM's language."""


class PredictedProgram(TypedDict):
    """A program, or a function, with those that it calls."""

    entry: str
    """The function that it begins with."""
    model: Literal["exact", "learnt"]
    """Whether instructions were counted in generated code, or predicted by a model."""
    why: str | None
    """Why they were not counted; null where they were, or the model was asked for."""
    functions: list[PredictedFunction]
    """The entry first."""
    instructions: float
    """Of all blocks."""
    wrapper: int | None
    """Instructions that make a program of a function: they find the packet, its headers and state;
    0 where it is one by itself; null: not known."""
    around: int | None
    """Instructions that the driver puts around the program; null: not known."""
    total: int | None
    """Instructions of the listing (`slowpath compile`): all of these, those of framework calls too;
    null where the card refuses something, or nothing was compiled."""


class Uncounted(TypedDict):
    """A program, or a function, of which nothing can be said."""

    entry: str
    """Its name."""
    reason: str
    """Why not."""


class BlocksReport(TypedDict):
    """What `slowpath insights blocks --format json` writes."""

    slowpath: str
    """Version of slowpath."""
    compiler: NotRequired[str]
    """Version of clang, as it prints it; absent where nothing was compiled."""
    file: str
    """The file as the user named it."""
    target: str
    """The device."""
    map_abi: str
    """How programs reach maps: `--map-abi`."""
    programs: list[PredictedProgram]
    """In the order of the file."""
    uncounted: list[Uncounted]
    """Those that could not be said anything of."""
    stopped: str | None
    """Why not all was said (`deadline`, `interrupted`, `memory limit`); null where all was."""
