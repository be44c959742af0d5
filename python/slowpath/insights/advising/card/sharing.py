"""Advice: with whom the function may share the card."""

from statistics import fmean

from slowpath.insights.advising.advice import Advice, Said
from slowpath.insights.advising.card.doubts import doubts, gap
from slowpath.insights.advising.evidence import Evidence
from slowpath.insights.demands.documents import CardNeighbour
from slowpath.insights.numbers import percent

_PERCENT = 100
_SHOWN = 8
"""Neighbours that are named, at most."""
_SAME = 0.01
"""Of its throughput: neighbours that differ by less are alike."""


def sharing(evidence: Evidence) -> Said:
    """One piece of advice: from any of the neighbours to the one with which it keeps most."""
    card, traced = evidence.card, evidence.traced
    if card is None or traced is None:
        yield gap(evidence, "with whom it may share the card")
        return
    best, worst = card["neighbours"][0], card["neighbours"][-1]
    before = fmean(one["kept"] for one in card["neighbours"])
    after = best["kept"]
    alike = after - worst["kept"] < _SAME
    file, line = traced.entry
    yield Advice(
        "neighbour",
        "Share the card with whomever you like"
        if alike
        else f"Share the card with {best['neighbour']} rather than with {worst['neighbour']}",
        traced.counts["entry"],
        file,
        line,
        f"with half of the cores each, it keeps {_listed(card['neighbours'])}",
        _PERCENT * before,
        _PERCENT * after,
        "% of its throughput alone, beside any of these and beside that one",
        None,
        "estimated",
        f"{_kept(best)} beside the one, {_kept(worst)} beside the other "
        f"({percent(card['confidence'], 0)}), predicted from counts on the trace and from "
        "what instructions and accesses of published elements take; no card was measured"
        f"{doubts(traced)}",
        share=max(1 - before / after, 0.0),
    )


def _listed(neighbours: list[CardNeighbour]) -> str:
    """All of them, or those at the ends."""
    told = [_told(one) for one in neighbours]
    if len(told) > _SHOWN:
        left = len(told) - _SHOWN
        told[_SHOWN // 2 : -(_SHOWN // 2)] = [f"{left:,} others in between"]
    return "; ".join(told)


def _told(one: CardNeighbour) -> str:
    return f"{percent(one['kept'], 0)} beside {one['neighbour']}"


def _kept(one: CardNeighbour) -> str:
    return f"{_PERCENT * one['low']:.0f} to {percent(one['high'], 0)}"
