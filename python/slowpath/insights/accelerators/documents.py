"""Shape of accelerator findings."""

from typing import Literal, NotRequired, TypedDict

Kind = Literal["crc", "checksum", "hash", "cipher", "lpm"]


class Called(TypedDict):
    """Where a source calls a function of a library."""

    name: str
    """How the source calls what it calls there: the function itself, or one that calls it."""
    caller: str
    """The function of the source that does."""
    file: str
    """The line of the source."""
    line: int
    """The same."""


class Accelerated(TypedDict):
    """A function that an accelerator could replace, proved by execution."""

    function: str
    """As the source calls it."""
    symbol: str
    """Its name in the module; another one than `function` in C++."""
    file: str
    """Where it is defined, of a library's where it is called first; empty where there is no debug
    information."""
    line: int
    """The same; 0 where nothing says it."""
    calls: list[Called]
    """Of a function of the headers that come along, each line of the source that calls it; of the
    source's own, empty."""
    kind: Kind
    """What accelerators are called that do this."""
    algorithm: str
    """What it computes."""
    parameters: dict[str, str]
    """Parameters of the algorithm, as they were recovered; by name."""
    inputs: int
    """So many random inputs agreed with the reference, and none disagreed; 0: see `part_of`."""
    shortest: int
    """Bytes of the shortest input."""
    longest: int
    """And of the longest one: what it does with more was not seen."""
    together: list[str]
    """Functions that were run with it: what prepares its state, or reads it."""
    part_of: str | None
    """The proved function that calls it: it was run as a part of that, not by itself, or is a
    library's that nothing else calls."""
    confidence: float | None
    """Of the classifier that names candidates, from 0 to 1; it decides nothing here."""


class Alike(TypedDict):
    """A function that looks like one for an accelerator, and is not proved to be."""

    function: str
    """As the source calls it."""
    symbol: str
    """Its name in the module."""
    file: str
    """Where it is defined."""
    line: int
    """The same."""
    kind: Kind
    """What it looks like."""
    confidence: float
    """Of the classifier, from 0 to 1."""
    reason: str
    """Why nothing was proved: it agrees with no reference, or could not be run."""


class Unexamined(TypedDict):
    """A function that works, and of which nothing could be found out, or not all that there is."""

    function: str
    """As the source calls it."""
    symbol: str
    """Its name in the module."""
    file: str
    """Where it is defined, of a library's where it is called first."""
    line: int
    """The same; 0 where nothing says it."""
    calls: list[Called]
    """Of a function of the headers that come along, each line of the source that calls it; of the
    source's own, empty."""
    reason: str
    """Why."""


class Confinement(TypedDict):
    """What code that was run could reach."""

    network: bool
    """Whether it was in a network namespace of its own, where there is nothing."""
    system_calls: bool
    """Whether the kernel refused all system calls but those for memory and the answer."""


class AcceleratorsReport(TypedDict):
    """What `slowpath insights accelerators --format json` writes."""

    slowpath: str
    """Version of slowpath."""
    compiler: NotRequired[str]
    """Version of clang, as it prints it; absent where nothing was compiled."""
    file: str
    """The file as the user named it."""
    llvm: str
    """Version of LLVM that read and ran it."""
    functions: int
    """Functions that were examined, those of the headers that come along, too."""
    proved: list[Accelerated]
    """In the order of the file."""
    alike: list[Alike]
    """Most likely ones first."""
    unexamined: list[Unexamined]
    """Functions that were not run, or not in all ways, in the order of the file; none of `alike`,
    which have a reason of their own."""
    confinement: Confinement
    """What code that was run could reach."""
    stopped: str | None
    """Why not all was examined (`deadline`, `interrupted`, `memory limit`); null where all was."""
