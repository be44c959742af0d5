"""Types of the request and the JSON document of `slowpath insights blocks`."""

from typing import Literal, NamedTuple, NotRequired, TypedDict

from slowpath.core.programs.sources import Clang
from slowpath.core.schema import Document

TARGET = "agilio-cx-2x40"
"""Card for which instructions are predicted."""
Way = Literal["auto", "exact", "learnt"]
"""Method: count (`exact`), predict with a model (`learnt`), or count where possible (`auto`)."""


class Question(NamedTuple):
    """A request to predict the SmartNIC instructions of each block in a source file."""

    file: str
    entry: str | None  # None: all programs; without programs, all functions that take packets
    map_abi: str  # `--map-abi`
    clang: Clang
    way: Way = "auto"


class Accesses(TypedDict):
    """Numbers of memory accesses, without those to local variables."""

    packet: int
    """Accesses to the packet."""
    state: int
    """Accesses to map elements and variables of the module."""
    unknown: int
    """Accesses to packet or state by instructions that the card lacks."""


class Times(TypedDict):
    """A call or missing operation in a block, with its number of occurrences."""

    what: str
    """Name, or reason."""
    times: int
    """Number of occurrences."""


class PredictedBlock(TypedDict):
    """The instructions and accesses that a basic block of LLVM IR needs on the card."""

    name: str
    """Name in LLVM; empty for instructions outside of any block."""
    file: str
    """File of its first instruction with a source line."""
    line: int
    """Line of that instruction; 0 if unknown."""
    llvm: int
    """Number of LLVM instructions."""
    bpf: int | None
    """Number of BPF instructions; null if none were generated."""
    instructions: float
    """Card instructions without those for framework calls; an integer if counted."""
    low: float
    """Lower end of the model's interval, which contains four in five blocks; equal to
    `instructions` if they were counted."""
    high: float
    """Upper end of the interval; equal to `instructions` if they were counted."""
    call_instructions: int | None
    """Card instructions for framework calls: moves of arguments, and the call; null if unknown."""
    accesses: Accesses
    """Memory accesses without those of framework calls."""
    calls: list[Times]
    """Calls of the framework (kernel helpers) by name."""
    refused: list[Times]
    """Operations that the card lacks, by reason; instruction counts do not include them."""


class PredictedFunction(TypedDict):
    """A function of a predicted program, with its blocks."""

    name: str
    """Name in the source."""
    file: str
    """File with the definition."""
    line: int
    """Line of the definition; 0 if unknown."""
    blocks: list[PredictedBlock]
    """Blocks in the order of the LLVM IR."""


class PredictedProgram(TypedDict):
    """Predictions for a program or function and its callees."""

    entry: str
    """Function where execution starts."""
    model: Literal["exact", "learnt"]
    """`exact`: instructions counted in generated code; `learnt`: predicted by a model."""
    why: str | None
    """Reason why instructions were not counted; null if they were, or the model was requested."""
    functions: list[PredictedFunction]
    """Functions of the program, the entry first."""
    instructions: float
    """Sum over all blocks."""
    wrapper: int | None
    """Instructions of the wrapper that makes a function a program: they find the packet, its
    headers and state. 0 for a program; null if unknown."""
    around: int | None
    """Instructions that the driver adds around the program; null if unknown."""
    total: int | None
    """All instructions of the listing (`slowpath compile`), including those for framework calls;
    null if the card lacks an operation, or if nothing was compiled."""


class Uncounted(TypedDict):
    """A program or function that could be neither counted nor predicted."""

    entry: str
    """Name of the program or function."""
    reason: str
    """Reason for the missing counts."""


class BlocksReport(Document):
    """The JSON document that `slowpath insights blocks --format json` prints."""

    compiler: NotRequired[str]
    """Version of clang, as clang prints it; absent if nothing was compiled."""
    file: str
    """Name of the file, as the user gave it."""
    target: str
    """Target device."""
    map_abi: str
    """Access of programs to maps (`--map-abi`)."""
    programs: list[PredictedProgram]
    """Programs in the order of the file."""
    uncounted: list[Uncounted]
    """Programs that could be neither counted nor predicted."""
    stopped: str | None
    """Reason for an incomplete report (`deadline`, `interrupted`, `memory limit`), else null."""
