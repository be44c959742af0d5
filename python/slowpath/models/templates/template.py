"""What a function template is: a function with free parameters, and how it is fitted to points.

Rank (paper § 2.2) is the number of free parameters. Parameters are in the units of the data.
"""

from typing import Protocol

from slowpath.models.templates.batch import Batch, Floats


class Template(Protocol):
    """A function of x with free parameters.

    `value` and `formula` know x by its distance from an `origin`, where `origin_at_start` says so:
    there, polynomials of high degree and exponentials lose no digits.
    """

    name: str
    """As documents have it."""
    rank: int
    """How many free parameters it has."""
    parameters: tuple[str, ...]
    """Their names, as the formula has them."""
    origin_at_start: bool
    """Whether x counts from the start of the segment, and not from zero."""
    exact: bool
    """Whether `each` yields the best parameters, and not only good ones to start from."""
    whole: bool
    """Whether it is a shape of whole curves only, and not of a segment among others."""
    simple: bool
    """Whether it may go on beyond what was measured; others keep their last value there."""

    def fitted(self, batch: Batch) -> Floats:
        """The values at the points of each piece, fitted to it; not finite where it does not fit.

        The sum of squared residuals is the smallest one, or close to it.
        """

    def each(self, batch: Batch) -> Floats:
        """The parameters for each piece, the origin being its first x or zero.

        A row for each parameter, a column for each piece.
        """

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Its values at x, which counts from the origin; parameters may differ from x to x."""

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """How its values at x change with each parameter: a row for each x."""

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """The parameters in other units, in which numbers are so many times as large.

        For one piece or, with a column for each, for many.
        """

    def formula(self) -> str:
        """How it is written, with the names of the parameters and `x`."""
