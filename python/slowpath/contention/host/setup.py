"""What is to be profiled, and how much: a function, ranges of its traffic and competitors."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

if TYPE_CHECKING:  # commands take words from here before anything else is imported
    from slowpath.engine.neighbours import Object

Stage = str | Mapping[str, Mapping[str, int]]
"""A stage for headers as `slowpath_neighbours::HeaderStage` has it."""
Service = Literal["regex", "compression"]
Pattern = Literal["pipeline", "run-to-completion"]
Plan = Literal["random", "grid", "adaptive", "active"]
PLANS: tuple[Plan, ...] = get_args(Plan)
"""How mixes are chosen; the first one where nothing is said."""
ASKING: tuple[Plan, ...] = ("adaptive", "active")
"""Those that see what came of the mixes before; they choose rows of the memory model."""
NOTHING_TO_CHOOSE = "is about competitors for memory, of which the description has none"
"""Why such a plan is refused."""


class Span(NamedTuple):
    """From the least to the greatest value; both can be the same."""

    least: float
    most: float


class Program(NamedTuple):
    """An XDP program, which the running kernel gives packets."""

    object: "Object"
    number: int  # of the program there
    destination: str | None  # IPv4 address of all packets; None: by flow
    destination_port: int | None  # the same for the port


class Function(NamedTuple):
    """A network function: a program, or stages and an accelerator in user space."""

    name: str
    stages: tuple[Stage, ...]
    service: Service | None
    pattern: Pattern
    queue: int  # requests that its queue at the accelerator has room for
    program: Program | None = None


class TrafficRange(NamedTuple):
    """Traffic that the function may get."""

    flows: Span
    size: Span  # of packets, bytes
    mtbr: Span  # matches per MB


class MemoryRange(NamedTuple):
    """What `mem-bench` may do."""

    working_set: Span  # bytes
    rate: Span | None  # accesses per second; None: as many as it can
    touches: tuple[str, ...]  # `updates`, `copies`
    configurations: int  # how many of these there are


class ClientRange(NamedTuple):
    """What `regex-bench` or `compression-bench` may do."""

    size: int  # of packets, bytes
    mtbr: Span
    rate: Span | None  # requests per second; None: there is one at any time
    queues: int


class Effort(NamedTuple):
    """How much is measured, and how long."""

    mixes: int  # points of traffic and competitors: the quota
    pairs: int  # blocks alone and beside, of each point
    block_seconds: float
    warm_seconds: float
    repetitions: int  # of one point, for the noise floor
    plan: Plan
    seed: int


class Setup(NamedTuple):
    """All of it."""

    function: Function
    traffic: TrafficRange
    memory: MemoryRange | None
    client: ClientRange | None
    effort: Effort
    cpus: tuple[int, ...] | None  # None: all that may be used
