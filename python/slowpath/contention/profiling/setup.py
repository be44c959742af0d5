"""Classes for the setup of a profile, and the type of the record that is stored with the profile.

A setup has the function, its traffic, competitors, and the effort for measuring. The file
`environment.json` of the profile describes the machine (`measure/environment.py`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, get_args

from slowpath.core.schema import Warned

if TYPE_CHECKING:
    from slowpath.core.engine.neighbours import Object


Stage = str | Mapping[str, Mapping[str, int]]
"""A header-processing stage of a function, as in `slowpath_neighbours::HeaderStage`."""
Service = Literal["regex", "compression"]
Pattern = Literal["pipeline", "run-to-completion"]
Plan = Literal["random", "grid", "adaptive", "active"]
PLANS: tuple[Plan, ...] = get_args(Plan)
"""Names of the plans that choose the mixes to measure; the first is the default."""
ASKING: tuple[Plan, ...] = ("adaptive", "active")
"""Names of the plans that choose the rows of the memory model by earlier measurements."""
NOTHING_TO_CHOOSE = "needs competitors for memory in the description; add some"
"""Error text for a plan in `ASKING` if the description has no competitors for memory."""


class Span(NamedTuple):
    """A range of values of a parameter; both ends can be equal."""

    least: float
    most: float


class Program(NamedTuple):
    """An XDP program to measure in the kernel, and the destination of its packets."""

    object: "Object"
    number: int  # index of the program in the object
    destination: str | None  # IPv4 address in all packets; None: differs by flow
    destination_port: int | None  # port in all packets; None: differs by flow


class Function(NamedTuple):
    """The network function to measure: an XDP program, or a sequence of stages in user space.

    Stages process headers on a CPU. `service` is the kind of accelerator that they use; None: no
    accelerator.
    """

    name: str
    stages: tuple[Stage, ...]
    service: Service | None
    pattern: Pattern
    queue: int  # capacity of its queue at the accelerator, in requests
    program: Program | None = None


class TrafficRange(NamedTuple):
    """Ranges of the traffic under which a function is measured."""

    flows: Span
    size: Span  # packet size, bytes
    mtbr: Span  # matches per MB


class MemoryRange(NamedTuple):
    """Ranges from which the parameters of the memory competitor `mem-bench` are drawn."""

    working_set: Span  # size, bytes
    rate: Span | None  # accesses per second; None: unlimited
    touches: tuple[str, ...]  # `updates`, `copies`
    configurations: int  # number of configurations to draw


class ClientRange(NamedTuple):
    """Ranges of parameters for `regex-bench` or `compression-bench`, clients of the accelerator."""

    size: int  # packet size, bytes
    mtbr: Span
    rate: Span | None  # requests per second; None: always one pending
    queues: int


class Effort(NamedTuple):
    """Number and length of measurements, and the plan that chooses the points to measure."""

    mixes: int  # points of traffic and competitors: the quota
    pairs: int  # blocks alone and with competitors at each point
    block_seconds: float
    warm_seconds: float
    repetitions: int  # measurements of one point, for the noise floor
    plan: Plan
    seed: int


class Setup(NamedTuple):
    """All settings for measuring a profile: function, traffic, competitors, effort and CPUs."""

    function: Function
    traffic: TrafficRange
    memory: MemoryRange | None
    client: ClientRange | None
    effort: Effort
    cpus: tuple[int, ...] | None  # None: all CPUs available to the process


class BubbleLevel(TypedDict):
    """A bubble (competitor with a known working set), used to calibrate the probe."""

    megabytes: float
    """Working set of the bubble."""
    slowdown: float
    """Ratio of the probe's step time beside the bubble to that alone."""


class ProbeRecord(TypedDict):
    """The probe program whose slowdown measures contention, and its calibration."""

    bytes: int
    """Working set of the probe."""
    measured: list[BubbleLevel]
    """Measured levels, in order of size."""
    curve: list[BubbleLevel]
    """Monotonic curve through these levels, which determines scores."""
    largest_shift: float
    """Largest deviation of the probe's rate alone from its median over all levels, as a share: a
    lower limit on the uncertainty of slowdowns."""


class NoiseRecord(TypedDict):
    """Measurement noise: how much repeated measurements of one point differ."""

    repetitions: int
    """Number of measurements of one point, each with new tables in new memory."""
    spread: float | None
    """Standard deviation between these measurements, as a share of the throughput; null after
    one."""
    within: float
    """Median difference of two medians over blocks in turns of the same run, as a share."""


class PlanRecord(TypedDict):
    """Plan by which the measured mixes (traffic with competitors) were chosen."""

    name: str
    """`random`, `grid`, `adaptive` or `active`."""
    relevant: list[str] | None
    """Of `adaptive`: attributes of the traffic that change solo throughput. The others then stay at
    their default, except for random mixes at the end. Null for other plans, and if the plan ended
    before they were known."""
    threshold: float | None
    """Of `adaptive`: the least difference that counts, as a share of the solo throughput under
    default traffic; null for other plans."""
    unused: list[str]
    """Of `adaptive`: mixes that showed that an attribute is irrelevant, if no other mix varies it.
    They are left out of `memory.csv`, so that predictions mark other values of it as `outside`."""


class ProfileRecord(Warned):
    """Record of how a profile was measured: setup, machine, plan and noise."""

    function: str
    """Name of the function."""
    pattern: Literal["pipeline", "run-to-completion"]
    """Execution pattern in the description; programs run to completion."""
    device: str
    """The machine, as named in tables."""
    cpus: list[int]
    """CPUs of the function, of its first competitor or accelerator, and so on."""
    cache_bytes: int
    """Size of the last-level cache of the first CPU."""
    mixes: int
    """Number of measured mixes."""
    wanted: int
    """Number of requested mixes."""
    plan: PlanRecord
    """Choice of mixes."""
    left_out: list[str]
    """Measurements that were not possible, with reasons."""
    counters: str | None
    """Reason for missing hardware counters; null if there are counters."""
    probe: ProbeRecord
    """The probe for scores."""
    noise: NoiseRecord
    """The noise floor: repeatability of measurements."""
    disturbed_blocks: int
    """Number of blocks in which a thread waited for its CPU, or with other load on the processor
    before or after."""
    elsewhere: float
    """Share of observations with the CPUs on one core, or behind different last-level caches."""
