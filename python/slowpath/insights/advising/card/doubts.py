"""Why nothing is said of the card as a whole, or what is taken for granted where something is."""

from slowpath.insights.advising.advice import Gap
from slowpath.insights.advising.evidence import Evidence, Traced


def gap(evidence: Evidence, what: str) -> Gap:
    """Why nothing can be said of the card as a whole, where nothing is."""
    if evidence.statics.floating is None:
        why = "it takes how many instructions and accesses packets make"
        return Gap(what, why, "a trace: --traffic")
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
        listed = ran.lacking(", ")
        return f"; what the card has not ({listed}) is taken for one instruction each"
    if not ran.on_card:
        return "; whether the card has all that it does could not be looked at"
    return ""
