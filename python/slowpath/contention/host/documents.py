"""The shape of `profile.json`: how a profile of this machine was measured.

The machine itself is in `environment.json` beside it (`measurements/environment.py`).
"""

from typing import Literal, TypedDict


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
