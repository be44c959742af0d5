"""The models that are compared: which features, which kind of model, what it is to predict."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

Target = Literal["throughput", "log throughput"]


class Member(NamedTuple):
    """One model."""

    learner: str  # of `learners.LEARNERS`
    features: str  # of `features.SETS`
    target: Target = "log throughput"
    traffic: bool = True  # whether it sees the traffic


class Recipe(NamedTuple):
    """A candidate: the mean of its members' predictions, of logarithms."""

    name: str
    words: str  # what it is
    members: tuple[Member, ...]
    baseline: bool = False  # what others did: never chosen


_LOG = "log throughput"


def _one(name: str, words: str, *member: str) -> Recipe:
    learner, features = member
    return Recipe(name, words, (Member(learner, features),))


_AVERAGED = (
    Member("rough process", "pressure"),
    Member("smooth process", "accesses, kind"),
    Member("smooth process", "accesses"),
    Member("boosted", "pressure"),
)

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe("constant", "the median", (Member("median", "none"),), baseline=True),
        Recipe(
            "slomo",
            "boosted trees on the counters alone (SLOMO)",
            (Member("boosted as published", "raw counters", "throughput", traffic=False),),
            baseline=True,
        ),
        Recipe(
            "published",
            "boosted trees on counters and traffic (the paper)",
            (Member("boosted as published", "raw counters", "throughput"),),
            baseline=True,
        ),
        _one("boosted-accesses", "boosted trees, cache accesses", "boosted", "accesses"),
        _one("boosted-pressure", "boosted trees, cache misses", "boosted", "pressure"),
        _one("monotone-accesses", "monotone boosted trees, cache accesses", "monotone", "accesses"),
        _one("monotone-pressure", "monotone boosted trees, cache misses", "monotone", "pressure"),
        _one("process-counters", "Gaussian process, all counters", "smooth process", "counters"),
        _one(
            "process-accesses",
            "Gaussian process, cache accesses and IPC",
            "smooth process",
            "accesses, kind",
        ),
        _one("process-pressure", "Gaussian process, cache misses", "smooth process", "pressure"),
        _one("rough-pressure", "rough Gaussian process, cache misses", "rough process", "pressure"),
        _one("ridge-counters", "log-log ridge, all counters", "ridge", "counters"),
        _one("ridge-pressure", "log-log ridge, cache misses", "ridge", "pressure"),
        _one(
            "segments-pressure", "lines by segment of flows, cache misses", "segments", "pressure"
        ),
        Recipe("average", "mean of three processes and boosted trees", _AVERAGED),
    )
}
"""By name; in this order they are tried, and the first of equals is taken."""
