"""Whether promises are kept where functions went, and how many NICs that took (paper, 7.5.1).

A promise is broken where a function keeps less of its throughput alone, beside those that are on
its NIC in the end. SLA violations are the share of placed functions whose promise is broken;
wastage is by how much more NICs are in use than the reference has, the best plan for all arrivals.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.placement.known.fleet import Arrivals
from slowpath.contention.placement.known.shares import Predicted, Shares
from slowpath.contention.placement.known.truth import Mix
from slowpath.contention.placement.policies import AWAY, Placement

Floats = NDArray[np.float64]


class Judge(NamedTuple):
    """What functions really keep: as measured, or else as predicted."""

    shares: Shares
    predicted: Predicted | None  # where it is the models that judge

    def known(self, mixes: Sequence[Mix]) -> set[Mix]:
        """Those of which something is known."""
        if self.predicted is not None:
            self.predicted.fill(mixes)
        return set(mixes) - set(self.shares.missing(mixes))


class Judged(NamedTuple):
    """By arrival."""

    kept: Floats  # share of its throughput alone; not a number where it is not known
    throughput: Floats
    broken: NDArray[np.bool_]  # whether it is less than promised

    @property
    def violations(self) -> float | None:
        """Share of functions whose promise is broken, among those of which it is known."""
        count = int(np.isfinite(self.kept).sum())
        return float(self.broken.sum() / count) if count else None


def mixes_of(placement: Placement, arrivals: Arrivals) -> list[Mix]:
    """What is on each NIC in the end."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for nic, function in zip(placement.nic, arrivals.function, strict=True):
        if nic != AWAY:
            found[int(nic)].append(int(function))
    return [tuple(sorted(found[at])) for at in range(placement.nics)]


def judge(placement: Placement, arrivals: Arrivals, by: Judge) -> Judged:
    """Whether promises are kept."""
    mixes = mixes_of(placement, arrivals)
    known = by.known(mixes)
    count = len(arrivals.function)
    kept, throughput = np.full(count, np.nan), np.full(count, np.nan)
    rows = [by.shares.place(mix) if mix in known else AWAY for mix in mixes]
    for at, (nic, function) in enumerate(zip(placement.nic, arrivals.function, strict=True)):
        if nic != AWAY and rows[nic] != AWAY:
            kept[at] = by.shares.kept[rows[nic], function]
            throughput[at] = by.shares.throughput[rows[nic], function]
    return Judged(kept, throughput, kept < arrivals.sla)
