"""Mixes whose measurement would save most NICs.

Whoever has to be sure (`--sure`) counts on little in a mix that nobody measured, and a fleet uses
few of all mixes. So a plan is made (`covering.py`) for arrivals as the fleet declares them, as if
all predictions were true: what it uses and nobody measured is worth measuring. Where that is more
than can be measured, mixes that it uses least are left out, and the plan is made again with what
the others say: a mix that is measured says something of all that lack some of its functions, too.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.placement.fleet import Fleet, Mix, counts_of, possible_mixes
from slowpath.contention.placement.measured import Measured, Nearby
from slowpath.contention.placement.prices import Column, Cover, Demand, cover
from slowpath.contention.placement.shares import Predicted

Floats = NDArray[np.float64]

ARRIVALS = 100.0
"""Plans are made for so many."""
_USED = 1e-6
"""Of fewer NICs, a mix is not used."""
_LEFT_OUT = 4
"""In each round, a fourth of those that are too many are left out; at least one."""


class Suggested(NamedTuple):
    """A mix that is worth measuring."""

    mix: Mix
    nics: float  # on how many NICs it is, or what it says of others, of 100 arrivals
    kept: dict[int, float]  # what functions are predicted to keep there


class Plan(NamedTuple):
    """What a fleet should measure, and what comes of that."""

    alone: tuple[int, ...]  # functions that were not measured by themselves
    mixes: list[Suggested]  # those that are used most first
    now: float  # NICs for 100 arrivals with what is known
    then: float  # if these are measured, and predictions are true
    best: float  # if everything is


def suggest(fleet: Fleet, count: int, sure: float, measured: Measured | None = None) -> Plan:
    """Up to `count` mixes that are worth measuring, for placements that have to be so sure.

    Raises:
        InputError: when there are too many mixes, or it is not known how sure measurements are.
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
    )


class _Planned(NamedTuple):
    """What is counted on, and the fewest NICs by that."""

    kept: Floats  # `[mix, function]`
    cover: Cover


class _Known:
    """What is known and predicted of all mixes that fit on a NIC."""

    def __init__(self, fleet: Fleet, sure: float, measured: Measured | None) -> None:
        self._mixes = possible_mixes(fleet)
        self._wanted = Demand(fleet).expected(ARRIVALS)
        self._counts = counts_of(self._mixes, len(fleet.functions))
        self._sure = self._shares(Predicted(fleet, sure, measured))
        self._likely = self._shares(Predicted(fleet, None, measured))
        there = set() if measured is None else set(measured.known)
        self.unmeasured = [
            at for at, mix in enumerate(self._mixes) if len(mix) > 1 and mix not in there
        ]

    def _shares(self, predicted: Predicted) -> Floats:
        rows = predicted.places(self._mixes)
        return predicted.shares.kept[rows]

    def plan(self, trusted: Sequence[int]) -> _Planned:
        """The fewest NICs if in these mixes, functions keep what is most likely."""
        kept = self._sure
        if trusted:
            likely = self._likely[trusted]
            kept = Nearby([self._mixes[at] for at in trusted], likely).limit(self._mixes, kept)
            kept[trusted] = likely
        levels = self._wanted.levels(kept)
        return _Planned(kept, cover(self._wanted, Column(self._counts, levels)))

    def use(self, planned: _Planned, trusted: Sequence[int]) -> Floats:
        """NICs that have each of these mixes, or one of which it says something."""
        nics = planned.cover.nics
        others = ~np.isin(np.arange(len(nics)), trusted)
        leaning = others & (planned.kept > self._sure).any(axis=1)
        below = np.array(
            [leaning & (self._counts <= self._counts[at]).all(axis=1) for at in trusted]
        ).reshape(len(trusted), len(nics))
        found: Floats = nics[trusted] + below @ nics
        return found

    def worth(self) -> list[int]:
        """Those that nobody measured and the plan uses that trusts all predictions."""
        nics = self.plan(self.unmeasured).cover.nics
        return [at for at in self.unmeasured if nics[at] > _USED]

    def fewer(self, chosen: Sequence[int], count: int) -> list[int]:
        """No more than so many, without those that are used least."""
        left = list(chosen)
        while len(left) > count:
            out = max(1, (len(left) - count) // _LEFT_OUT)
            use = self.use(self.plan(left), left)
            least = set(np.argsort(use, kind="stable")[:out].tolist())
            left = [one for at, one in enumerate(left) if at not in least]
        return left

    def suggested(self, at: int, nics: float) -> Suggested:
        """One of them."""
        mix = self._mixes[at]
        kept = {function: float(self._likely[at, function]) for function in mix}
        return Suggested(mix, nics, kept)
