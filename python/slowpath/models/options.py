"""Options that control how a model is derived."""

from typing import Literal, NamedTuple, TypeAlias, get_args

Rule: TypeAlias = Literal["criterion", "margins", "held-out"]
Direction: TypeAlias = Literal["increasing", "decreasing"]
Method: TypeAlias = Literal["dynamic", "exhaustive", "extrema"]
RULES: tuple[Rule, ...] = get_args(Rule)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
METHODS: tuple[Method, ...] = get_args(Method)
MOST_SEGMENTS = 12


class Options(NamedTuple):
    """Options of a derivation; the defaults suit most data."""

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
    """True if segments and parameters cost little. The rule `criterion` also tries such a model,
    and selects it if it predicts held-out points clearly better."""
    monotone: Direction | None = None
    """Restricts the model to rise, or to fall, with x; for one x column."""
    non_negative: bool = False
    """Restricts the model to values of zero or more."""
    least_parameter: float = 0.0
    """Minimum size of parameters (paper, Eq. 2), in units in which the largest x and the median of
    y are one; for one x column."""
    confidence: float = 0.9
    """Confidence level of intervals, as a share."""
    hold_out: bool = True
    """Hold points out to judge predictions; this takes most of the time."""
    seed: int = 1
    """Seed of the bootstrap; the same seed yields the same intervals."""
    margin: float = 0.1
    """For the rule `margins`: relative error that a simpler model may add (paper, Eq. 3)."""
    least_margin: float = 0.001
    """For the rule `margins`: the same as an absolute error; the larger of both margins counts."""
