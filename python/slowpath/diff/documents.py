"""Types of the JSON documents that `slowpath diff` writes."""

from typing import TypedDict

from slowpath.core.schema import Document
from slowpath.diff.changes import Change, Value


class ChangedLine(TypedDict):
    """A source line whose cost differs, or an instruction if there are no source lines."""

    function: str | None
    """Function that contains the line; null if not known."""
    text: str
    """Text of the line; empty if the objects do not contain it."""
    file_a: str | None
    """File in OLD; null for an instruction, and if the line is not on OLD's path."""
    line_a: int | None
    """Line or instruction number in OLD; null if it is not on OLD's path."""
    runs_a: int | None
    """Number of executions on OLD's path; null if it is not on the path."""
    cost_a: float | None
    """Cost of these executions; null if it is not on OLD's path."""
    file_b: str | None
    """Same as `file_a`, for NEW."""
    line_b: int | None
    """Same as `line_a`, for NEW."""
    runs_b: int | None
    """Same as `runs_a`, for NEW."""
    cost_b: float | None
    """Same as `cost_a`, for NEW."""
    cost_diff: float
    """Increase of the cost. All these differences add up to the difference of the paths' costs."""


class ComparedProgram(TypedDict):
    """The comparison of a program that is in OLD and NEW, or in one of them only."""

    change: Change
    """Change of the guarantee: `new` or `gone` for a program on one side only; `unknown` if a side
    could not be analysed."""
    values: dict[str, Value]
    """Values of the columns below, by name; null is N/A."""
    assumptions_a: list[str]
    """Conditions for the guarantee of OLD."""
    assumptions_b: list[str]
    """Conditions for the guarantee of NEW."""
    within_error: list[str]
    """Estimated times (`warm_ns`, `cold_ns`) whose change lies within the interval of their error:
    the time of one side is in the interval of the other."""
    component: str | None
    """Component that the costs of `lines` refer to; null if `lines` is null."""
    lines: list[ChangedLine] | None
    """Source lines whose cost changed; null if a side has no program or no `profile`."""


class StoppedProgram(TypedDict):
    """A program that fails `--require` or `--fail-on`, or for which they are undecided."""

    program: str
    """Name of the program, or `OLD -> NEW` if the names differ."""
    expression: str
    """Value of the option `--fail-on` or `--require`."""
    reason: str
    """Reason for the failure, in one line."""
    reproduce: str
    """Command that reproduces the failure."""


class DiffDocument(Document):
    """Output of `slowpath diff --format json`."""

    old: str
    """The file of the old side as the user named it."""
    new: str
    """The file of the new side as the user named it."""
    results: list[ComparedProgram]
    """In the order of `--sort`, else that of OLD, then those that only NEW has."""
    failures: list[StoppedProgram]
    """Of all programs, also those that `--filter` leaves out of `results`."""
