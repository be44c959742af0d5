"""Types of the JSON documents that `slowpath annotate` writes."""

from typing import NotRequired, TypedDict

from slowpath.core.schema.results import Verdict

Costs = dict[str, float]


class AnnotatedLine(TypedDict):
    """A source line with instructions, on the path or not.

    Copies of the line in several functions are joined.
    """

    file: str
    """Path of the file in the debug information."""
    line: int
    """Number of the line, from 1."""
    text: str
    """Text of the line; empty if the object does not contain it."""
    runs: int
    """Number of executions of the line's most executed instruction on the path."""
    instructions: int
    """Number of the line's instructions that the path executes."""
    share: float
    """Share of the path's cost on `component`, from 0 to 1."""
    cost: Costs
    """Cost of all executions, by component."""


class AnnotatedInstruction(TypedDict):
    """An instruction of the program, on the path or not."""

    instruction: int
    """Number of the instruction."""
    text: str
    """Text of the instruction."""
    file: str | None
    """File of its source line; null if not known."""
    line: int | None
    """Number of its source line; null if not known."""
    runs: int
    """Number of executions on the path."""
    share: float
    """Share of the path's cost on `component`, from 0 to 1."""
    cost: Costs
    """Cost of all executions, by component."""


class Annotation(TypedDict):
    """A program with the costs of the path behind its guarantee.

    If the verdict is `bound`, the costs are those of the path that sets the bound.
    """

    file: str
    """Same as in a result of `bound`."""
    section: str | None
    """Same as in a result of `bound`."""
    program: str
    """Same as in a result of `bound`."""
    target: str
    """Same as in a result of `bound`."""
    metric: str
    """Same as in a result of `bound`."""
    verdict: Verdict | None
    """Same as in `guarantee`; null after an error."""
    exact: bool
    """True if `verdict` is `exact`."""
    assumptions: list[str]
    """Same as in a result of `bound`."""
    stopped: str | None
    """Same as in `guarantee`."""
    component: str | None
    """Component that the shares refer to: the slowest one on the path, or the one that `metric`
    names; null after an error."""
    cost: Costs
    """Same as in `profile`; empty after an error."""
    overhead: Costs
    """Same as in `profile`; empty after an error."""
    lines: list[AnnotatedLine]
    """All source lines with instructions. Files are in the order in which the path reaches them,
    lines by number."""
    instructions: list[AnnotatedInstruction]
    """All instructions of the program."""
    error: str | None
    """Same as in a result of `bound`."""


class AnnotateDocument(TypedDict):
    """Output of `slowpath annotate --format json`."""

    slowpath: str
    """Version of slowpath."""
    compiler: NotRequired[str]
    """Version of clang, as it prints it; absent where nothing was compiled."""
    annotations: list[Annotation]
    """In the order of the command line."""
