"""How long a function that runs to completion waits at its accelerator, as its profile tells.

Mixes with one client that always has requests, and nobody else, tell how much longer a packet then
takes. They are of different traffic, so it is the time that is added which is taken as the same,
and neighbours are taken together, as waits scatter more than throughputs. Where the waits of
`accelerator/waiting.py` predict mixes that are left out no better than a whole round of the
client's requests does (Eq. 1), that is what is added.
"""

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.accelerator.identification import CoRun, IdentificationError
from slowpath.contention.accelerator.waiting import Others, Waits, measured_waits, taken, waited
from slowpath.contention.tables.columns import TRAFFIC_NAMES
from slowpath.contention.tables.profiles import Clients, CoRuns, Mixes, Query

Floats = NDArray[np.float64]

_POINTS = 8
"""Co-runs are taken together such that no more are left."""
_JUDGED = 4
"""So many different co-runs can judge waits: those between the ends are left out in turn."""
_TINY = 1e-300
_MOST = 0.999
"""The share of a packet's time that its own request takes, at most."""


def co_runs_of(mixes: Mixes) -> CoRuns | None:
    """The mixes that tell of waits; None where there are none."""
    contention = [values for name, values in mixes.columns.items() if name not in TRAFFIC_NAMES]
    alone = ~np.any(contention, axis=0)
    some = mixes.where(alone & (mixes.queues > 0) & np.isinf(mixes.rate))
    if not some.rows:
        return None
    return CoRuns(
        some.origin, some.rows, some.queues, some.request_time, some.alone, some.throughput
    )


def waits_by(runs: CoRuns) -> Waits | None:
    """The waits that co-runs show; None where they show none, or whole rounds are nearer."""
    round_time, added = runs.queues * runs.request_time, 1 / runs.throughput - 1 / runs.alone
    found = _waits(round_time, added)
    if found is None or len(np.unique(round_time)) < _JUDGED:
        return found
    inside = (round_time > round_time.min()) & (round_time < round_time.max())
    off, whole = np.zeros(0), np.zeros(0)
    for at in np.flatnonzero(inside):
        others = round_time != round_time[at]
        without = _waits(round_time[others], added[others])
        if without is None:
            return None
        said = np.array([float(without.at(round_time[at])), round_time[at]])
        errors = np.abs(1 / (1 / runs.alone[at] + said) / runs.throughput[at] - 1)
        off, whole = np.append(off, errors[0]), np.append(whole, errors[1])
    return found if off.mean() < whole.mean() else None


def _waits(round_time: Floats, added: Floats) -> Waits | None:
    """Waits by the time of a round, from what was added."""
    order = np.argsort(round_time, kind="stable")
    groups = np.array_split(order, min(len(order), _POINTS))
    # Only what is added counts, whatever a packet takes alone.
    packet = 2 * max(float(np.abs(added).max()), _TINY)
    runs = [
        CoRun(1.0, float(round_time[one].mean()), 1 / (packet + float(added[one].mean())))
        for one in groups
    ]
    try:
        return measured_waits(1 / packet, runs)
    except IdentificationError:
        return None


def waits_in(waits: Waits, query: Query, alone: Floats, own: Floats) -> Floats:
    """What waiting adds to a packet, by row.

    Args:
        waits: of the function.
        query: who else is at the accelerator.
        alone: time of a packet alone.
        own: time of its own request.
    """
    clients = query.clients
    if clients is None:
        queued = np.zeros(len(alone)) if query.queued is None else query.queued
        rate = np.where(queued > 0, np.inf, 0.0)[:, None]
        clients = Clients(np.ones_like(rate), np.maximum(queued, _TINY)[:, None], rate)
    others = Others(*clients)
    there = taken(others)
    found = waited(alone, np.minimum(own, _MOST * alone), waits.at(there), others)
    return np.where(there > 0, np.maximum(found, 0.0), 0.0)
