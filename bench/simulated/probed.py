"""Measures contention scores of competitors on the simulated NIC, by a probe.

The probe is a function whose slowdown shows the contention, as in `contention profile`. It runs
with each set of competitors, and for its calibration with bubbles, which are memory loads of
several sizes. Bubbles have all the cores that competitors can have: three copy loops of two cores,
which share a working set.
"""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nic_profiles import Bench, MemBench, competitors
from simulated.kept import Kept
from slowpath.contention.profiling import machine

if TYPE_CHECKING:
    from nic_simulation import SimulatedClient

Set = tuple[Bench, ...]

CACHE, PRIVATE = 6_291_456, 1_048_576
"""Bytes of the last-level cache and of the cache of two cores (`simulated-bluefield-2.toml`)."""
_LEVELS = 9
_INSTANCES = 3
_TIMES = 3
"""Number of measurements of each mix.

On hosts, pairs of blocks are measured instead.
"""


class Scores(NamedTuple):
    """Contention scores of sets of competitors, measured by the probe; 0 for the empty set."""

    together: dict[Set, float]  # measured with the whole set
    added: dict[Set, float]  # sum over each bench alone, as predictions do for functions


PROBE = machine.probe_bytes(CACHE, PRIVATE)
"""Probe size in bytes as on hosts: a third of the cache, but at least twice the private cache."""


def scores(kept: Kept, sets: Sequence[Set], size: int = PROBE) -> Scores:
    """Calibrate a probe of `size` bytes, and measure the contention score of each set.

    The single competitors in the sets are measured, too.
    """
    sizes = machine.bubble_sizes(CACHE, _LEVELS)
    bubbles = [
        (MemBench("stream", each / machine.MEGABYTE / _INSTANCES, None, _INSTANCES),)
        for each in sizes
    ]
    singles = list(dict.fromkeys((_single(one),) for some in sets for one in some))
    felt = _slowdowns(kept, size, [*bubbles, *sets, *singles])
    curve = machine.calibrated(
        [
            machine.Level(each / machine.MEGABYTE, felt[bubble])
            for each, bubble in zip(sizes, bubbles, strict=True)
        ]
    )
    found = {some: curve.score(slowdown) for some, slowdown in felt.items()}
    added = {some: sum(one.instances * found[(_single(one),)] for one in some) for some in sets}
    return Scores({(): 0.0, **{some: found[some] for some in sets}}, {(): 0.0, **added})


def _single(bench: Bench) -> Bench:
    return bench._replace(instances=1)


def _slowdowns(kept: Kept, size: int, each: Sequence[Set]) -> dict[Set, float]:
    """Return the median factor by which each set of competitors slows down the probe.

    `size` is that of the probe in bytes.
    """
    probe: SimulatedClient = {"function": "probe", "working_set": size}
    wanted = dict.fromkeys(each)
    mixes = [[probe], *([probe, *competitors(some)] for some in wanted)] * _TIMES
    rates = [one[0] for one in kept.throughputs("probe", mixes, kept.settings)]
    count = len(wanted) + 1
    alone = statistics.median(rates[::count])
    return {some: alone / statistics.median(rates[at::count]) for at, some in enumerate(wanted, 1)}
