"""Types of the JSON document with the times of pipelines' paths in DPDK's interpreter (SWX)."""

from typing import TypedDict

from slowpath.core.schema import Document
from slowpath.core.schema.results import PathEstimate
from slowpath.measure.disturbances import Disturbance
from slowpath.measure.environment import Environment


class TimedPath(TypedDict):
    """A path of a pipeline, with its time in DPDK's interpreter."""

    rank: int
    """Rank among the found paths, 1 for the slowest by the estimate."""
    instructions: int
    """Number of instructions on the path."""
    lookups: int
    """Number of lookups in tables on the path."""
    measured_ns: float | None
    """Nanoseconds per packet: mean over all builds without outliers. Null if not measured, see
    `error`."""
    spread_ns: float | None
    """Standard deviation between builds, which give tables other addresses."""
    low_ns: float | None
    """Lower end of the 95 % interval of `measured_ns`; null after a single build."""
    high_ns: float | None
    """Upper end of the 95 % interval."""
    baseline_ns: float | None
    """Nanoseconds per packet of a pipeline that only receives and sends, with as many ports;
    included in `measured_ns`."""
    program_ns: float | None
    """Part of `measured_ns` beyond `baseline_ns`."""
    estimate: PathEstimate | None
    """Estimate of `program_ns`; null without an estimate of the target."""
    packetrate_pps: float | None
    """Packets per second on one dedicated core, with ports in memory instead of a network card."""
    builds: int
    """Number of times that the path was timed with a newly built pipeline."""
    port: int
    """Number of the port that receives the packet. DPDK also asks all ports with lower numbers for
    packets, up to a power of two, and finds none."""
    packet: str
    """The packet, two hexadecimal digits per byte."""
    output: str | None
    """The packet that the pipeline sends; null if it drops the packet."""
    source: list[tuple[str, int]]
    """Executed lines in order, as `[file, line]`."""
    entries: list[str]
    """Entries that the path needs, as `TABLE match KEY action ACTION DATA`. Tables without a hit
    also have an entry that no lookup of the path matches."""
    error: str | None
    """Reason why the path was not measured, in one line."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""


class MeasuredPipeline(TypedDict):
    """A pipeline with the measurements of its paths."""

    file: str
    """Path of the file, as the user gave it."""
    program: str | None
    """Name of the pipeline; null if the file could not be read."""
    found: int
    """Number of paths that the analysis found."""
    complete: bool
    """True if the analysis found all paths."""
    precise: bool
    """True if all intervals reached the requested `--precision`."""
    seconds: float
    """Duration of the measurement in seconds."""
    environment: Environment | None
    """Environment of the measurement, and events during it; null if nothing was measured."""
    paths: list[TimedPath]
    """Paths in the order of `rank`."""
    error: str | None
    """Reason why nothing was measured, in one line; null if something was."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""


class PipelinesDocument(Document):
    """Output of `slowpath measure --format json` for pipelines."""

    dpdk: str
    """Version of DPDK."""
    disturbances: list[Disturbance]
    """Disturbances that the environments show, each once: warnings, then notes."""
    results: list[MeasuredPipeline]
    """Results of the pipelines, in the order of the command line."""
