"""What the report does not say of any source yet, and how to get at it."""

from slowpath.insights.advising.advice import Gap, Said
from slowpath.insights.advising.evidence import Evidence


def unsaid(_evidence: Evidence) -> Said:
    """Instructions, which are counted in another language than the card's."""
    yield Gap(
        "instructions on the card",
        "numbers of instructions are of LLVM's intermediate language",
        "what compiles for BPF is counted block by block: slowpath insights blocks",
    )
