"""Suggests the mixes of functions whose measurement would save the most NICs.

If promises must be kept with a high probability (`--confidence`), unmeasured mixes are assumed to
have low shares, so fleets need more NICs. A fleet uses only a few of all mixes. So a plan
(`policies.cover`) is made for the arrivals that the fleet declares, as if all predictions were
true. The unmeasured mixes in this plan are worth measuring. If there are too many of them, the
least used ones are dropped, and the plan is made again. A measured mix also gives information about
all mixes that lack some of its functions.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.placement.fleet import Fleet, Mix, counts_of, possible_mixes
from slowpath.contention.placement.policies import Column, Cover, Demand, cover
from slowpath.contention.placement.shares import Measured, MonotonicBounds, PredictedShares
from slowpath.core.arrays import Floats

ARRIVALS = 100.0
"""Number of arrivals for which plans are made."""
_USED = 1e-6
"""Number of NICs below which a mix in a plan counts as unused."""
_LEFT_OUT = 4
"""Each round drops at least one mix. It drops the number of surplus mixes divided by this constant.
"""


class Suggested(NamedTuple):
    """A mix whose measurement would save NICs, with the shares that its functions probably keep."""

    mix: Mix
    nics: float  # for 100 arrivals, NICs with this mix, or with smaller mixes that it informs about
    kept: dict[int, float]  # predicted shares by function


class Plan(NamedTuple):
    """Suggested measurements, and the number of NICs that they would save."""

    alone: tuple[int, ...]  # functions without a measured solo throughput
    mixes: list[Suggested]  # the most used ones first
    now: float  # NICs for 100 arrivals with current knowledge
    then: float  # NICs with these mixes measured, if predictions are true
    best: float  # NICs with all mixes measured, if predictions are true
    guesses: int  # number of functions in mixes outside the training range
    guessed: Mapping[int, set[str]]  # their columns outside this range, by function


def suggest(fleet: Fleet, count: int, sure: float, measured: Measured | None = None) -> Plan:
    """Suggest at most `count` mixes whose measurement would save the most NICs.

    `sure` is the probability with which placements have to keep promises, `measured` has the mixes
    that are already measured.

    Raises:
        InputError: if there are too many mixes, or the noise of measurements is unknown.
    """
    known = _Known(fleet, sure, measured)
    chosen = known.fewer(known.worth(), count)
    then = known.plan(chosen)
    use = known.use(then, chosen)
    order = sorted(range(len(chosen)), key=lambda at: -use[at])
    alone = range(len(fleet.functions))
    return Plan(
        tuple(at for at in alone if measured is None or measured.solo(at) is None),
        [known.suggested(chosen[at], float(use[at])) for at in order],
        known.plan([]).cover.total,
        then.cover.total,
        known.plan(known.unmeasured).cover.total,
        known.guesses,
        known.guessed,
    )


class _Planned(NamedTuple):
    """The plan with the fewest NICs, and the throughput shares that it assumes."""

    kept: Floats  # `[mix, function]`
    cover: Cover


class _Known:
    """Measured and predicted throughput shares in all mixes of functions that fit on a NIC."""

    def __init__(self, fleet: Fleet, sure: float, measured: Measured | None) -> None:
        self._mixes = possible_mixes(fleet)
        self._wanted = Demand(fleet).expected(ARRIVALS)
        self._counts = counts_of(self._mixes, len(fleet.functions))
        predicted = PredictedShares(fleet, sure, measured)
        self._sure = self._shares(predicted)
        self.guesses, self.guessed = predicted.shares.guesses, predicted.shares.guessed
        self._likely = self._shares(PredictedShares(fleet, None, measured))
        known = set() if measured is None else set(measured.known)
        self.unmeasured = [
            at for at, mix in enumerate(self._mixes) if len(mix) > 1 and mix not in known
        ]

    def _shares(self, predicted: PredictedShares) -> Floats:
        rows = predicted.rows(self._mixes)  # adds missing mixes to the table
        return predicted.shares.kept[rows]

    def plan(self, trusted: Sequence[int]) -> _Planned:
        """Return the plan that assumes likely shares for some mixes, and low shares for all others.

        `trusted` has the indices of the former mixes, as if they were measured.
        """
        kept = self._sure
        if trusted:
            likely = self._likely[trusted]
            bounds = MonotonicBounds([self._mixes[at] for at in trusted], likely)
            kept = bounds.limit(self._mixes, kept)
            kept[trusted] = likely
        levels = self._wanted.levels(kept)
        return _Planned(kept, cover(self._wanted, Column(self._counts, levels)))

    def use(self, planned: _Planned, trusted: Sequence[int]) -> Floats:
        """Return the number of NICs in a plan that profit from measuring each mix in `trusted`.

        These NICs have the mix itself, or a mix about which its measurement gives information.
        """
        nics = planned.cover.nics
        others = ~np.isin(np.arange(len(nics)), trusted)
        informed = others & (planned.kept > self._sure).any(axis=1)
        below = np.array(
            [informed & (self._counts <= self._counts[at]).all(axis=1) for at in trusted]
        ).reshape(len(trusted), len(nics))
        found: Floats = nics[trusted] + below @ nics
        return found

    def worth(self) -> list[int]:
        """Return the unmeasured mixes that the plan uses if all predictions are assumed true."""
        nics = self.plan(self.unmeasured).cover.nics
        return [at for at in self.unmeasured if nics[at] > _USED]

    def fewer(self, chosen: Sequence[int], count: int) -> list[int]:
        """Drop the least used mixes until at most `count` are left, and return these."""
        left = list(chosen)
        while len(left) > count:
            out = max(1, (len(left) - count) // _LEFT_OUT)
            use = self.use(self.plan(left), left)
            least = set(np.argsort(use, kind="stable")[:out].tolist())
            left = [one for at, one in enumerate(left) if at not in least]
        return left

    def suggested(self, at: int, nics: float) -> Suggested:
        """Return the suggestion to measure the mix with index `at`.

        `nics` NICs would profit from it.
        """
        mix = self._mixes[at]
        kept = {function: float(self._likely[at, function]) for function in mix}
        return Suggested(mix, nics, kept)
