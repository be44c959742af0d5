"""Shape of fitted models."""

from typing import Annotated, TypedDict


class Errors(TypedDict):
    """How far measured values are from the model."""

    smape: float
    """Mean of |model - measured| / (|model| + |measured|), a share (paper, Eq. 1)."""
    mape: float | None
    """Mean of |model - measured| / |measured|, a share; null where a measured value is zero."""
    rmse: float
    """Root of the mean square of model - measured, in the unit of y."""


class Parameter(TypedDict):
    """A parameter of a segment's function."""

    name: str
    """As the formula has it."""
    value: float
    """In the units of the data."""
    low: float | None
    """Lower end of its interval; null where as many points as parameters leave nothing to tell."""
    high: float | None
    """Upper end of its interval."""


_Ends = TypedDict(
    "_Ends",
    {
        "from": Annotated[float, "First measured x of the segment."],
        "to": Annotated[
            float,
            "Last measured x of it. Between it and where the next segment starts, a straight line "
            "joins the two.",
        ],
    },
)


class Segment(_Ends):
    """A part of the model: one function of the first x column."""

    points: int
    """How many values of x it was fitted to."""
    template: str
    """Which function: `polynomial-0` to `-5`, `logarithm`, `hyperbola`, `exponential`; of a whole
    curve also `min-` or `max-` with `proportional`, `reciprocal` or `line`; with `inverse-` in
    front, one divided by it; with several x columns, `terms`."""
    rank: int
    """How many free parameters it has."""
    formula: str
    """How it is written, in `x` and the names of its parameters; several x columns are `x1`, `x2`
    and so on."""
    origin: float
    """`x` in the formula is what was measured less this."""
    terms: list[list[str]] | None
    """With several x columns, the product that each parameter is a factor of: for each column one
    of `1`, `x`, `x^2`, `ln(x)` and `1/x`. Null for one column."""
    parameters: list[Parameter]
    """In the order of the formula."""
    covariance: list[list[float]]
    """Of the parameters, in their order: what intervals are made of."""
    noise: float
    """Standard deviation of measured values around it, as a share of them."""
    at_least: float | None
    """The model is no less here, whatever the formula yields; null without such a limit."""
    at_most: float | None
    """The model is no more here."""
    extrapolates: bool
    """Whether the function goes on beyond what was measured, where the segment is the first or the
    last one; else the value at the end is kept."""
    errors: Errors
    """How far its points are from its function."""


class Residuals(TypedDict):
    """What neighbouring points have in common that no function has."""

    x: list[float]
    """Measured x of the first column, ascending."""
    share: list[float]
    """At each of them, what is expected beyond the functions, as a share of these. Between two, a
    straight line joins them; beyond the first and the last it stays."""


class FittedModel(TypedDict):
    """A model of a curve."""

    x: list[str]
    """Names of the x columns."""
    y: str
    """Name of what the model predicts."""
    points: int
    """How many rows it was fitted to."""
    outliers: int
    """How many values of x have a y so far off that it counts less."""
    range: list[tuple[float, float]]
    """`[smallest, largest]` of each x column: beyond them the model is a guess."""
    segments: list[Segment]
    """Ascending."""
    residuals: Residuals | None
    """The structure of the curve that is finer than the functions; null where nothing tells it from
    noise. The model is the functions, more by this share."""
    metric: str
    """Which error the user chose."""
    select: str
    """By which rule templates and the number of segments were selected."""
    least_parameter: float
    """Parameters are no smaller (paper, Eq. 2), in units in which the largest x and the median of y
    are one; 0 without such a limit."""
    rank: float
    """Mean of the segments' ranks, weighted by their points (paper, Eq. 4)."""
    errors: Errors
    """How far all points are from it."""
    held_out: Errors | None
    """The same for points that were left out, each in turn with a fifth of the others, when a
    model was derived from the rest; null where there are too few."""
    floor: float
    """Relative differences are differences divided by the value, or by this if it is larger."""
    confidence: float
    """How often an interval has what it is about."""
    quantile: float
    """So many standard deviations of the parameters make an interval."""
    widening: float
    """Intervals of predictions are so many times as wide as residuals say, such that they have
    this share of the points that were left out; 1 where none were."""
    noise_quantiles: tuple[float, float]
    """Where single measurements lie around the model, in units of `noise`: ends of an interval."""


class Predicted(TypedDict):
    """What a model says at one place."""

    x: list[float]
    """The x columns."""
    y_pred: float
    """What it predicts."""
    low: float
    """Lower end of the interval in which single measurements are expected."""
    high: float
    """Upper end of it."""
    outside: bool
    """Whether this is beyond what was measured: a guess."""
