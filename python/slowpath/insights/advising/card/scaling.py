"""Advice: how many cores the function is worth."""

from slowpath.insights.advising.advice import Advice, Said
from slowpath.insights.advising.card.doubts import doubts, gap
from slowpath.insights.advising.evidence import Evidence
from slowpath.insights.demands.documents import CardCores
from slowpath.insights.numbers import percent

_CALLED = {"line": "the line", "IMEM": "the internal memory", "EMEM": "the external memory"}
_MEGA = 1e6
_GIGA = 1e9


def scaling(evidence: Evidence) -> Said:
    """One piece of advice: from all 60 cores to the number where the curve bends."""
    card, traced = evidence.card, evidence.traced
    if card is None or traced is None:
        yield gap(evidence, "how many cores it is worth")
        return
    cores = card["cores"]
    knee, every = cores["knee_cores"], cores["points"][-1]
    before = every["cores"] / every["throughput_pps"] * _GIGA
    after = knee / cores["throughput_pps"] * _GIGA
    file, line = traced.entry
    confidence = percent(card["confidence"], 0)
    yield Advice(
        "cores",
        f"Give it {knee} cores" if knee < every["cores"] else f"Give it all {knee} cores",
        traced.counts["entry"],
        file,
        line,
        _reason(cores),
        before,
        after,
        "ns of cores",
        None,
        "estimated",
        f"{cores['knee_low']} to {cores['knee_high']} cores ({confidence}), predicted from counts "
        "on the trace and from what instructions and accesses of published elements take; state "
        "where the placement puts it; no card was measured, and nobody measured fewer than 24 "
        f"cores, which are never advised{doubts(traced)}",
        share=max(1 - after / before, 0.0),
    )


def _reason(cores: CardCores) -> str:
    rate, low, high = (cores[end] / _MEGA for end in ("throughput_pps", "low_pps", "high_pps"))
    most = cores["limits"][0]
    return (
        f"they reach {percent(cores['share'], 0)} of what all reach, {rate:.3g} million "
        f"packets a second ({low:.3g} to {high:.3g}); what holds it back on all is most likely "
        f"{_CALLED.get(most['limit'], most['limit'])} ({percent(most['share'], 0)})"
    )
