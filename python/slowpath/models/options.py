"""Options of derivations."""

from typing import Literal, NamedTuple, TypeAlias, get_args

Rule: TypeAlias = Literal["criterion", "margins", "held-out"]


Direction: TypeAlias = Literal["increasing", "decreasing"]


Method: TypeAlias = Literal["dynamic", "exhaustive", "extrema"]


RULES: tuple[Rule, ...] = get_args(Rule)


DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


METHODS: tuple[Method, ...] = get_args(Method)


MOST_SEGMENTS = 12


class Options(NamedTuple):
    """The defaults are what to take without a reason."""

    metric: str = "smape"
    """Which error is told, and judged where models are selected by it: see `metrics`."""
    select: Rule = "criterion"
    """By which rule templates and the number of segments are selected: see `selection`."""
    search: Method = "dynamic"
    """How segments are found: see `search`."""
    segments: int | None = None
    """How many segments there are to be; None: the rule decides."""
    most_segments: int = MOST_SEGMENTS
    """No more than these, where the rule decides."""
    detailed: bool = False
    """Segments and parameters cost little. The rule `criterion` takes such a model by itself where
    it clearly predicts points better that were left out."""
    monotone: Direction | None = None
    """The model may only rise, or only fall, with x; for one x column."""
    non_negative: bool = False
    """The model is nowhere below zero."""
    least_parameter: float = 0.0
    """Parameters are no smaller (paper, Eq. 2), where the largest x and the median of y are one;
    for one x column."""
    confidence: float = 0.9
    """How often an interval has what it is about."""
    hold_out: bool = True
    """Whether points are left out to see how well the others predict them; it takes most of the
    time."""
    seed: int = 1
    """Of the random numbers of the bootstrap: the same seed, the same intervals."""
    margin: float = 0.1
    """For the rule `margins`: a simpler model may have so much more of the error (paper, Eq. 3)."""
    least_margin: float = 0.001
    """The same, as an absolute error."""
