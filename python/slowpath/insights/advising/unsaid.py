"""What the report does not say of any source yet, and how to get at it."""

from slowpath.insights.advising.advice import Gap, Said
from slowpath.insights.advising.evidence import Evidence


def unsaid(evidence: Evidence) -> Said:
    """Instructions, where they are none of the card's; what the card cannot do at all."""
    for name, place in evidence.statics.recursive:
        where = f" ({place})" if place else ""
        yield Gap(
            f"what {name}{where} would take",
            "it is recursive, which the card does not have",
            "a loop instead",
        )
    traced = evidence.traced
    if traced is None:
        yield Gap(
            "instructions for each packet",
            "it takes how often blocks run",
            "a trace: --traffic; block by block without one: slowpath insights blocks",
        )
    elif not traced.executed.on_card:
        yield Gap(
            "instructions on the card",
            f"numbers of instructions are of LLVM's intermediate language: {traced.executed.why}",
            "what can be counted of it: slowpath insights blocks",
        )
