"""Types of the JSON documents that `slowpath annotate` writes."""

from typing import NotRequired, TypedDict

from slowpath.core.schema import Document
from slowpath.core.schema.results import Verdict

Costs = dict[str, float]


class AnnotatedLine(TypedDict):
    """A source line of the program that has instructions, with its costs on the slowest path.

    Lines that the path does not execute are included. Copies of a line in several functions are
    joined.
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
    """An instruction of the program, executed or not, with its costs on the slowest path."""

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
    """A program with the costs of the slowest path, from which its guarantee follows.

    If the verdict is `bound`, the costs are those of the path that sets the bound.
    """

    file: str
    """The file as the user named it."""
    section: str | None
    """Section of the program in its object; null for listings and chains."""
    program: str
    """Name of the program. For a listing or a chain, the file name without extension."""
    target: str
    """Name of the target, from its description."""
    metric: str
    """Metric of the guarantee, such as `bitrate` or `instructions`, as in a result of `bound`."""
    verdict: Verdict | None
    """Verdict of the guarantee, as in a result of `bound`; null after an error."""
    exact: bool
    """True if `verdict` is `exact`."""
    assumptions: list[str]
    """Assumptions that the costs hold under, as in a result of `bound`."""
    stopped: str | None
    """Reason why the search ended early, as in a guarantee of `bound`; null if it did not."""
    component: str | None
    """Component that the shares refer to: the slowest one on the path, or the one that `metric`
    names; null after an error."""
    cost: Costs
    """Cost of the whole path, by component; empty after an error."""
    overhead: Costs
    """Part of the cost that is the device's per-packet overhead; empty after an error."""
    lines: list[AnnotatedLine]
    """All source lines with instructions. Files are in the order in which the path reaches them,
    lines by number."""
    instructions: list[AnnotatedInstruction]
    """All instructions of the program."""
    error: str | None
    """Reason why there is no annotation, in one line; null if there is one."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""


class AnnotateDocument(Document):
    """Output of `slowpath annotate --format json`."""

    compiler: NotRequired[str]
    """Version of clang, as it prints it; absent where nothing was compiled."""
    notes: list[str]
    """Notes on files, which standard error has too: a file or program, a colon, and a sentence."""
    results: list[Annotation]
    """Annotated programs, in the order of the command line."""
