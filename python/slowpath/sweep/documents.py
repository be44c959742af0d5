"""Shape of sweeps."""

from typing import Literal, NotRequired, TypedDict

from slowpath.measure.disturbances import Disturbance
from slowpath.measure.environment import Environment


class SweptDefinition(TypedDict):
    """A definition of the source, and its values."""

    name: str
    """What the preprocessor replaces."""
    values: list[str]
    """In the order of the command line; ranges are written out."""


class SweptResult(TypedDict):
    """What a target says of a program."""

    target: str
    """Name of the target."""
    metric: str
    """What was searched for on it: `packetrate` or `bitrate`, else what is counted."""
    packetrate_pps: float | None
    """Guaranteed packets per second; null on targets that count, and where nothing is known."""
    bitrate_bps: float | None
    """Guaranteed bits per second; null in the same cases."""
    counts: dict[str, int] | None
    """What packets cause at most, on targets that count; null on others."""
    verdict: Literal["exact", "conditional", "bound"] | None
    """As in results of `slowpath bound`; null where nothing is known."""
    bottleneck: str | None
    """The component that limits the rate; null on targets that count."""
    stopped: str | None
    """Why the search ended before it was done; null if it did not."""
    assumptions: list[str]
    """What it depends on."""
    estimated_ns: float | None
    """Nanoseconds that the slowest path is estimated to take; null where nothing is estimated."""
    estimated_low_ns: float | None
    """Lower end of the interval that has 90 of 100 measurements."""
    estimated_high_ns: float | None
    """Upper end of it."""
    error: str | None
    """Why nothing is known: the source is not compiled, or the program not analysed."""


class SweptTime(TypedDict):
    """What the slowest path takes in the running kernel, by BPF instructions."""

    ns: float | None
    """Nanoseconds of one run in the kernel's loop for test runs."""
    low_ns: float | None
    """The 95 % interval begins here."""
    high_ns: float | None
    """It ends here."""
    program_ns: float | None
    """The same without what an empty program takes."""
    instructions: int | None
    """BPF instructions of the path."""
    error: str | None
    """Why it was not measured; the others are null then."""


class SweptProgram(TypedDict):
    """A program under one choice of values."""

    values: dict[str, str]
    """By name, the value of each definition."""
    section: str | None
    """Section of the object; null if it was not compiled."""
    program: str | None
    """Name of the program; null if it was not compiled."""
    results: list[SweptResult]
    """One for each target, in the order of the command line."""
    measured: SweptTime | None
    """With `--measure`, what it takes; null without."""


class Sweep(TypedDict):
    """What `slowpath sweep --format json` writes."""

    slowpath: str
    """Version of slowpath."""
    compiler: NotRequired[str]
    """Version of clang, as it prints it; absent where nothing was compiled."""
    file: str
    """The C source as the user named it."""
    definitions: list[SweptDefinition]
    """What was swept."""
    complete: bool
    """Whether all values were analysed; false after Ctrl-C."""
    programs: list[SweptProgram]
    """In the order of the values, of which the last definition's change first."""
    environment: Environment | None
    """Where it was measured, and what happened there meanwhile; null where nothing was."""
    disturbances: list[Disturbance]
    """What of that disturbs, or has to be known: warnings, then notes."""
