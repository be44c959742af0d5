"""What an error metric is."""

from typing import Protocol

from slowpath.models.templates.batch import Floats


class Metric(Protocol):
    """A measure of how far fitted values are from measured ones; zero where they are the same.

    It is a function of the mean over points, so that errors of segments can be combined.
    """

    def each(self, measured: Floats, fitted: Floats) -> Floats:
        """What each point adds."""

    def whole(self, mean: float) -> float:
        """The error whose points add so much in the mean."""
