"""What a file of placements says, as data."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slowpath.insights.placement.problem import Case


class Before(NamedTuple):
    """A placement that a file has."""

    title: str
    placement: Mapping[str, str]
    """Level by structure."""
    cost: float | None
    """What the file says that it costs."""


class Described(NamedTuple):
    """A case of a file."""

    case: Case
    scope: str
    before: Sequence[Before]
