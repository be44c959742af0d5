"""The function, traffic and competitors of a profile, and its shape as JSON.

The machine itself is in `environment.json` beside it (`measurements/environment.py`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, get_args

if TYPE_CHECKING:
    from slowpath.core.engine.neighbours import Object


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


class BubbleLevel(TypedDict):
    """A bubble that the probe was calibrated with."""

    megabytes: float
    """Its working set."""
    slowdown: float
    """How many times as long a step of the probe takes beside it."""


class ProbeRecord(TypedDict):
    """The probe that scores are of."""

    bytes: int
    """Its working set."""
    measured: list[BubbleLevel]
    """What was measured, in order of size."""
    curve: list[BubbleLevel]
    """The rising curve of it, by which scores are told."""
    largest_shift: float
    """How far the probe alone was from its median over all levels, a share: what it says is no
    surer than that."""


class NoiseRecord(TypedDict):
    """How far the same measurement is from itself."""

    repetitions: int
    """How often one point was measured, each time with new tables in new memory."""
    spread: float | None
    """Standard deviation between these, a share of the throughput; null after one."""
    within: float
    """Median difference of two medians over blocks in turns of the same run, a share."""


class PlanRecord(TypedDict):
    """How mixes were chosen."""

    name: str
    """`random`, `grid`, `adaptive` or `active`."""
    relevant: list[str] | None
    """Of `adaptive`: attributes of the traffic on which throughput alone depends. The others stay
    at their default once that is known, but for random mixes at the end. Null for other plans, and
    where it ended before that was known."""
    threshold: float | None
    """Of `adaptive`: the least difference that counts, a share of the throughput alone under the
    default traffic; null for other plans."""
    unused: list[str]
    """Of `adaptive`: mixes that showed that an attribute makes no difference, where nothing else
    was measured of it. They are no rows of `memory.csv`, so that predictions call what differs in
    it `outside`."""


class ProfileRecord(TypedDict):
    """How a profile was measured."""

    slowpath: str
    """Version of slowpath."""
    function: str
    """Its name."""
    pattern: Literal["pipeline", "run-to-completion"]
    """Its execution pattern, as its description has it; programs run to completion."""
    device: str
    """The machine, as tables name it."""
    cpus: list[int]
    """CPUs: of the function, of what is beside it, and so on."""
    cache_bytes: int
    """The last-level cache of the first one."""
    mixes: int
    """How many mixes were measured."""
    wanted: int
    """How many were asked for."""
    plan: PlanRecord
    """How they were chosen."""
    left_out: list[str]
    """What could not be measured, and why."""
    counters: str | None
    """Why there are no hardware counters; null where there are."""
    probe: ProbeRecord
    """The probe."""
    noise: NoiseRecord
    """The noise floor."""
    disturbed_blocks: int
    """Blocks in which a thread waited for its CPU, or around which others were on the processor."""
    elsewhere: float
    """In which share of looks the CPUs were on one core, or behind different last-level caches."""
