"""Types of the JSON documents that `slowpath sweep` writes."""

from typing import Literal, NotRequired, TypedDict

from slowpath.core.schema import Document
from slowpath.measure.disturbances import Disturbance
from slowpath.measure.environment import Environment


class SweptDefinition(TypedDict):
    """A preprocessor definition in the source, and its values."""

    name: str
    """Name of the definition."""
    values: list[str]
    """Values in the order of the command line, with ranges expanded."""


class SweptResult(TypedDict):
    """Result for one program on one target: a guarantee, or the reason why there is none."""

    target: str
    """Name of the target."""
    metric: str
    """Guaranteed quantity: `packetrate`, `bitrate`, or a quantity that the target counts."""
    packetrate_pps: float | None
    """Guaranteed packets per second; null on targets that count, and if there is no result."""
    bitrate_bps: float | None
    """Guaranteed bits per second; null in the same cases as `packetrate_pps`."""
    counts: dict[str, int] | None
    """Maximum counts per packet, on targets that count; null on others."""
    verdict: Literal["exact", "conditional", "bound"] | None
    """Verdict as in results of `slowpath bound`; null if there is no result."""
    bottleneck: str | None
    """Component that limits the rate; null on targets that count."""
    stopped: str | None
    """Reason why the search ended early; null if it did not."""
    assumptions: list[str]
    """Conditions for the result."""
    warm_ns: float | None
    """Estimated time of the program with few map entries in warm caches, in nanoseconds; null
    without an estimate."""
    warm_low_ns: float | None
    """Lower end of the interval of `warm_ns` that contains 90 of 100 measurements."""
    warm_high_ns: float | None
    """Upper end of this interval."""
    cold_ns: float | None
    """Estimated time of the program with full maps in cold caches, or with `--entries`."""
    cold_low_ns: float | None
    """Lower end of the interval of `cold_ns` that contains 90 of 100 measurements."""
    cold_high_ns: float | None
    """Upper end of this interval."""
    error: str | None
    """Reason why there is no result: the source does not compile, or the program cannot be
    analysed."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""


class SweptTime(TypedDict):
    """Measured time of the path with the most BPF instructions, in the running kernel."""

    ns: float | None
    """Nanoseconds of one run in the kernel's loop for test runs."""
    low_ns: float | None
    """Lower end of the 95 % interval."""
    high_ns: float | None
    """Upper end of the 95 % interval."""
    program_ns: float | None
    """Nanoseconds of one run minus those of an empty program."""
    instructions: int | None
    """Number of BPF instructions on the path."""
    error: str | None
    """Reason why there is no measurement; the other fields are then null."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""


class SweptProgram(TypedDict):
    """A program compiled with one combination of values."""

    values: dict[str, str]
    """Value of each definition, by name."""
    section: str | None
    """Section in the object; null if the source did not compile."""
    program: str | None
    """Name of the program; null if the source did not compile."""
    results: list[SweptResult]
    """Results, one for each target, in the order of the command line."""
    measured: SweptTime | None
    """Measured time with `--measure`, else null."""


class Sweep(Document):
    """JSON document of `slowpath sweep`."""

    compiler: NotRequired[str]
    """Version of clang, as clang prints it; absent if nothing was compiled."""
    file: str
    """Path of the C source, as the user gave it."""
    definitions: list[SweptDefinition]
    """Swept definitions."""
    complete: bool
    """True if all values were analysed; false after Ctrl-C."""
    results: list[SweptProgram]
    """Programs in the order of the values; the last definition varies fastest."""
    environment: Environment | None
    """Machine and conditions of the measurement; null if nothing was measured."""
    disturbances: list[Disturbance]
    """Disturbances and facts to know about the measurement: warnings first, then notes."""
