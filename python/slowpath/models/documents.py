"""Types of the JSON documents that contain models derived by `slowpath fit`."""

from typing import Annotated, TypedDict

from slowpath.core.schema import Document


class Errors(TypedDict):
    """Errors of a model at measured points."""

    smape: float
    """Mean of |model - measured| / (|model| + |measured|), a share (Scholz et al. 2021, Eq. 1)."""
    mape: float | None
    """Mean of |model - measured| / |measured|, a share; null where a measured value is zero."""
    rmse: float
    """Root of the mean square of model - measured, in the unit of y."""


class Parameter(TypedDict):
    """A parameter of a segment's function."""

    name: str
    """Name of the parameter in the formula."""
    value: float
    """Value of the parameter in the units of the data."""
    low: float | None
    """Lower end of the parameter's interval; null if there are no more points than parameters."""
    high: float | None
    """Upper end of the parameter's interval; null if there are no more points than parameters."""


_Ends = TypedDict(
    "_Ends",
    {
        "from": Annotated[float, "First measured x of the segment."],
        "to": Annotated[
            float,
            "Last measured x of the segment. A straight line joins it to the start of the next "
            "segment.",
        ],
    },
)


class Segment(_Ends):
    """A part of the model: one function over a range of the first x column."""

    points: int
    """Number of x values that the function was fitted to."""
    template: str
    """Name of the function: `polynomial-0` to `-5`, `logarithm`, `hyperbola`, `exponential`; for
    whole curves also `min-` or `max-` with `proportional`, `reciprocal` or `line`. The prefix
    `inverse-` stands for one divided by the function. With several x columns: `terms`."""
    rank: int
    """Number of free parameters of the function."""
    formula: str
    """Formula with `x` and the names of the parameters; several x columns are `x1`, `x2` and so
    on."""
    origin: float
    """`x` in the formula is the measured x minus this value."""
    terms: list[list[str]] | None
    """With several x columns, the product that belongs to each parameter: for each column one of
    `1`, `x`, `x^2`, `ln(x)` and `1/x`. Null for one column."""
    parameters: list[Parameter]
    """Parameters in the order of the formula."""
    covariance: list[list[float]]
    """Covariance of the parameters, in their order; intervals follow from it."""
    noise: float
    """Standard deviation of measured values around the function, as a share of the values."""
    at_least: float | None
    """Lower limit of the model in this segment; null without a limit."""
    at_most: float | None
    """Upper limit of the model in this segment; null without a limit."""
    extrapolates: bool
    """True if the function of a first or last segment continues beyond the measured range; false if
    the model keeps the value at the end."""
    errors: Errors
    """Errors of the function at the points of the segment."""


class Residuals(TypedDict):
    """Systematic deviations of the measured values from the functions of a model.

    Neighbouring points share these deviations, so they are not noise.
    """

    x: list[float]
    """Measured x of the first column, ascending."""
    share: list[float]
    """Expected deviation at each x, as a share of the function. Straight lines join neighbouring
    shares; beyond the first and the last x the share is constant."""


class FittedModel(TypedDict):
    """A model of a curve: y as a function of one or several x columns."""

    x: list[str]
    """Names of the x columns."""
    y: str
    """Name of the measured column, which the model predicts."""
    points: int
    """Number of rows that the model was fitted to."""
    outliers: int
    """Number of x values with an outlying y, which has less weight in the fit."""
    range: list[tuple[float, float]]
    """`[smallest, largest]` of each x column; beyond this range the model is a guess."""
    segments: list[Segment]
    """Segments of the model by ascending x."""
    residuals: Residuals | None
    """Structure of the curve that is finer than the functions; null if it cannot be told from
    noise. The model is the function times one plus this share."""
    metric: str
    """Error metric that the user chose."""
    select: str
    """Rule that selected functions and the number of segments."""
    least_parameter: float
    """Minimum size of parameters (Scholz et al. 2021, Eq. 2), in units in which the largest x and
    the median of y are one; 0 without a limit."""
    rank: float
    """Mean of the segments' ranks, weighted by their points (Scholz et al. 2021, Eq. 4)."""
    errors: Errors
    """Errors of the model at all points that it was fitted to."""
    held_out: Errors | None
    """Errors at held-out points, a fifth at a time, of models derived from the other points; null
    if there are too few points."""
    floor: float
    """Minimum divisor of relative differences, which are divided by the value or by this minimum.
    """
    confidence: float
    """Confidence level of intervals, as a share."""
    quantile: float
    """Half width of the interval of a parameter, in standard deviations."""
    widening: float
    """Factor that widens prediction intervals such that they contain the share `confidence` of the
    held-out points; 1 if no points were held out."""
    noise_quantiles: tuple[float, float]
    """Ends of the interval that contains single measurements around the model, in units of `noise`.
    """


class Predicted(TypedDict):
    """Prediction of a model at one x."""

    x: list[float]
    """Values of the x columns."""
    y_pred: float
    """Value of y that the model predicts."""
    low: float | None
    """Lower end of the interval in which single measurements are expected; null if all points of a
    small table lie exactly on the model, so that its error is unknown."""
    high: float | None
    """Upper end of this interval; null if the error is unknown."""
    outside: bool
    """True if x is beyond the measured range, so that the prediction is a guess."""


class FitDocument(Document):
    """Output of `slowpath fit --format json`."""

    file: str | None
    """The file of measurements as the user named it; null where columns came from Python."""
    model: FittedModel
    """Model that was derived from the measurements."""
    predictions: list[Predicted] | None
    """With `--query`, a prediction for each row of that file; null otherwise."""
