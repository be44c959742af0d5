"""What of a source has no price: neither published elements do it, nor has the card it."""

from slowpath.insights.advising.advice import Gap
from slowpath.insights.advising.evidence import Evidence, Traced

_SHOWN = 4


def unpriced(evidence: Evidence, what: str) -> Gap | None:
    """Why nothing can be said of the card as a whole; None where something can."""
    if evidence.statics.floating is None:
        return None
    return Gap(
        what,
        f"{evidence.statics.floating}: it computes with floating-point numbers, which the card "
        "has not, and none of the published elements does",
        "integers instead, such as fixed point",
    )


def doubts(traced: Traced) -> str:
    """What else an estimate takes for granted, to be put behind what it rests on."""
    ran = traced.executed
    if ran.refused:
        few = ", ".join(ran.refused[:_SHOWN])
        more = len(ran.refused) - _SHOWN
        listed = f"{few}, {more} more" if more > 0 else few
        return f"; what the card has not ({listed}) is taken for one instruction each"
    if not ran.on_card:
        return "; whether the card has all that it does could not be looked at"
    return ""
