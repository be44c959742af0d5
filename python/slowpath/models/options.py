"""Options that control how a model is derived from measured points."""

from typing import Literal, NamedTuple, TypeAlias, get_args

Rule: TypeAlias = Literal["criterion", "margins", "held-out"]
Direction: TypeAlias = Literal["increasing", "decreasing"]
Method: TypeAlias = Literal["dynamic", "exhaustive", "extrema"]
RULES: tuple[Rule, ...] = get_args(Rule)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
METHODS: tuple[Method, ...] = get_args(Method)
MOST_SEGMENTS = 12


class Options(NamedTuple):
    """Options of the derivation of a model. The defaults suit most data."""

    metric: str = "smape"
    """Error metric of reports, by which `margins` and `held-out` also select models (`metrics`)."""
    select: Rule = "criterion"
    """Rule that selects templates and the number of segments (`selection`)."""
    search: Method = "dynamic"
    """Method that finds segments (`selection`); `extrema` restricts the cuts (`costs`)."""
    segments: int | None = None
    """Number of segments; None if the rule decides."""
    most_segments: int = MOST_SEGMENTS
    """Maximum number of segments if the rule decides."""
    detailed: bool = False
    """True if additional segments and parameters cost little in the selection. The rule `criterion`
    also tries such a model, and selects it if it predicts held-out points clearly better."""
    monotone: Direction | None = None
    """Direction in which the model must change with x, rise or fall; None for no restriction. Only
    for models of one x column."""
    non_negative: bool = False
    """True to restrict the model to values of zero or more."""
    least_parameter: float = 0.0
    """Minimum size of parameters (Scholz et al. 2021, Eq. 2), in units in which the largest x and
    the median of y are one. Only for models of one x column."""
    confidence: float = 0.9
    """Confidence level of intervals, as a share."""
    hold_out: bool = True
    """True to hold out points in order to judge predictions, which takes most of the time."""
    seed: int = 1
    """Seed of the bootstrap that computes intervals; the same seed yields the same intervals."""
    margin: float = 0.1
    """For the rule `margins`: relative error that a simpler model may add (Scholz et al. 2021, Eq.
    3)."""
    least_margin: float = 0.001
    """For the rule `margins`: absolute error that a simpler model may add; the larger of both
    margins counts."""
