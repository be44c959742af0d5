"""Further packets, which take another path because of what the first one left in maps."""

import math
from typing import NamedTuple

from slowpath.engine.kernel import cold_caches, stations
from slowpath.measurements.documents import LaterPath, action_name
from slowpath.measurements.timing.sampling import Measured


class LaterCase(NamedTuple):
    """Packets from the second one on, as what can be timed."""

    record: LaterPath
    case: stations.Case


def later_path(later: cold_caches.Later) -> LaterPath:
    """What is known of further packets before they are timed."""
    return {
        "instructions": later.instructions,
        "action": action_name(later.action),
        "measured_ns": None,
        "spread_ns": None,
        "low_ns": None,
        "high_ns": None,
        "reason": later.reason or "it was not measured",
    }


def fill_later(record: LaterPath, measured: Measured | None, why: str) -> None:
    """Writes into the record what further packets take, or why that is not known."""
    if measured is None:
        record["reason"] = why
        return
    run = measured.run
    record["measured_ns"], record["spread_ns"], record["reason"] = run.value, run.spread, None
    if math.isfinite(run.interval.half_width):
        record["low_ns"], record["high_ns"] = run.interval
