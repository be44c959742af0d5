"""The models that are compared: which features, which kind of model, what it is to predict."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from slowpath.contention.memory.learning.features import DEVICE_SETS

Target = Literal["throughput", "log throughput"]


class Member(NamedTuple):
    """One model."""

    learner: str  # of `learners.LEARNERS`
    traffic: str  # of `features.TRAFFIC`
    contention: str  # of `features.SETS`
    target: Target = "log throughput"


class Recipe(NamedTuple):
    """A candidate: the mean of its members' predictions, of logarithms."""

    name: str
    words: str  # what it is
    members: tuple[Member, ...]
    baseline: bool = False  # what others did: never chosen

    @property
    def devices(self) -> bool:
        """Whether it sees what devices move in memory."""
        return any(one.contention in DEVICE_SETS for one in self.members)


_PUBLISHED = "boosted as published"
_TREES, _MONOTONE = "boosted", "monotone"
_SMOOTH, _ROUGH = "smooth process", "rough process"


def _one(name: str, words: str, *member: str) -> Recipe:
    learner, traffic, contention = member
    return Recipe(name, words, (Member(learner, traffic, contention),))


def _baseline(name: str, words: str, *member: str) -> Recipe:
    learner, traffic, contention = member
    one = Member(learner, traffic, contention, "throughput")
    return Recipe(name, words, (one,), baseline=True)


_AVERAGED = (
    Member(_ROUGH, "flows, table", "pressure"),
    Member(_ROUGH, "table, load", "pressure"),
    Member(_SMOOTH, "flows, table", "pressure"),
    Member(_SMOOTH, "flows, table", "accesses"),
)

_AVERAGED_BUS = (
    Member(_ROUGH, "flows, table", "pressure, bus"),
    Member(_SMOOTH, "flows, table", "pressure, bus"),
    Member(_SMOOTH, "flows, table", "accesses, moved"),
    Member(_SMOOTH, "flows, table", "roots, moved"),
)

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _baseline("constant", "the median", "median", "none", "none"),
        _baseline("slomo", "boosted trees, counters alone (SLOMO)", _PUBLISHED, "none", "raw"),
        _baseline(
            "published", "boosted trees, raw counters (the paper)", _PUBLISHED, "flows", "raw"
        ),
        _one("boosted-accesses", "boosted trees, cache accesses", _TREES, "flows", "accesses"),
        _one("boosted-pressure", "boosted trees, cache misses", _TREES, "flows", "pressure"),
        _one("monotone-accesses", "monotone trees, cache accesses", _MONOTONE, "flows", "accesses"),
        _one("monotone-pressure", "monotone trees, cache misses", _MONOTONE, "flows", "pressure"),
        _one("process-counters", "Gaussian process, counters", _SMOOTH, "flows", "counters"),
        _one("process-kind", "Gaussian process, accesses, IPC", _SMOOTH, "flows", "accesses, kind"),
        _one("process-plain", "Gaussian process, misses", _SMOOTH, "flows", "pressure"),
        _one("process-table", "the same, doublings", _SMOOTH, "flows, table", "pressure"),
        _one("rough-table", "rough process, doublings", _ROUGH, "flows, table", "pressure"),
        _one("rough-load", "rough process, size and load", _ROUGH, "table, load", "pressure"),
        _one("ridge-counters", "log-log ridge, counters", "ridge", "flows", "counters"),
        _one("ridge-pressure", "log-log ridge, cache misses", "ridge", "flows", "pressure"),
        _one("segments", "lines by segment of flows, misses", "segments", "flows", "pressure"),
        Recipe("average", "mean of four Gaussian processes", _AVERAGED),
        _one("ridge-bus", "log-log ridge, misses, bus", "ridge", "flows", "pressure, bus"),
        _one("boosted-bus", "boosted trees, misses, bus", _TREES, "flows", "pressure, bus"),
        _one("process-bus", "Gaussian process, bus", _SMOOTH, "flows, table", "pressure, bus"),
        _one("process-moved", "the same, accesses", _SMOOTH, "flows, table", "accesses, moved"),
        Recipe("average-bus", "mean of four Gaussian processes, bus", _AVERAGED_BUS),
    )
}
"""By name; in this order they are tried, and the first of equals is taken."""
