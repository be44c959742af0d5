"""Types of the JSON document of `slowpath insights accelerators`."""

from typing import Literal, NotRequired, TypedDict

from slowpath.core.schema import Document

Kind = Literal["crc", "checksum", "hash", "cipher", "lpm"]


class Called(TypedDict):
    """A line of a source that calls a library function."""

    name: str
    """Name of the function called there: the library function itself, or one that calls it."""
    caller: str
    """Function of the source that contains the call."""
    file: str
    """File of the call."""
    line: int
    """Line of the call."""


class Accelerated(TypedDict):
    """A function that an accelerator could replace, proved by execution."""

    function: str
    """Name in the source."""
    symbol: str
    """Name in the module; differs from `function` in C++."""
    file: str
    """File of the definition, for a library function of the first call; empty without debug
    information."""
    line: int
    """Line in this file; 0 if unknown."""
    calls: list[Called]
    """Lines of the source that call a function of slowpath's headers; empty for a function of the
    source."""
    kind: Kind
    """Kind of accelerator."""
    algorithm: str
    """Algorithm that the function computes."""
    parameters: dict[str, str]
    """Recovered parameters of the algorithm, by name."""
    inputs: int
    """Number of random inputs, all of which agree with the reference; 0: see `part_of`."""
    shortest: int
    """Length of the shortest input in bytes."""
    longest: int
    """Length of the longest input in bytes; longer ones were not tried."""
    together: list[str]
    """Functions that ran with it, to prepare or to read its state."""
    part_of: str | None
    """Proved function that calls this one; it ran only as a part of that, or is a library function
    that nothing else calls."""
    confidence: float | None
    """Confidence of the classifier, from 0 to 1; it has no effect on the proof."""


class Alike(TypedDict):
    """A function that looks like one for an accelerator, without a proof."""

    function: str
    """Name in the source."""
    symbol: str
    """Name in the module."""
    file: str
    """File of the definition."""
    line: int
    """Line of the definition."""
    kind: Kind
    """Kind of accelerator that the function looks like."""
    confidence: float
    """Confidence of the classifier, from 0 to 1."""
    reason: str
    """Reason why there is no proof: it agrees with no reference, or could not be run."""


class Unexamined(TypedDict):
    """A function that computes something, but whose examination was left out or ended early."""

    function: str
    """Name in the source."""
    symbol: str
    """Name in the module."""
    file: str
    """File of the definition, for a library function of the first call."""
    line: int
    """Line in this file; 0 if unknown."""
    calls: list[Called]
    """Lines of the source that call a function of slowpath's headers; empty for a function of the
    source."""
    reason: str
    """Reason why it was not examined."""


class Confinement(TypedDict):
    """Sandbox restrictions under which code of the module was run."""

    network: bool
    """True if the code ran in a network namespace of its own, without a network."""
    system_calls: bool
    """True if the kernel refused all system calls except those for memory and the answer."""


class AcceleratorsReport(Document):
    """The document that `slowpath insights accelerators --format json` writes."""

    compiler: NotRequired[str]
    """Version of clang, as clang prints it; absent if nothing was compiled."""
    file: str
    """File as the user named it."""
    llvm: str
    """Version of LLVM that read and ran the file."""
    functions: int
    """Number of examined functions, including those of slowpath's headers."""
    proved: list[Accelerated]
    """Proved functions in the order of the file."""
    alike: list[Alike]
    """Functions that look like one for an accelerator, most likely ones first."""
    unexamined: list[Unexamined]
    """Functions that were not run, or not in all ways, in the order of the file. Functions in
    `alike` are not repeated, because each has its own reason."""
    confinement: Confinement
    """Sandbox restrictions under which code of the module was run."""
    stopped: str | None
    """Reason why not all functions were examined (`deadline`, `interrupted`, `memory limit`); null
    if all were."""
