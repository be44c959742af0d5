"""What the report does not say of any source yet, and how to get at it."""

from slowpath.insights.advising.advice import Gap, Said
from slowpath.insights.advising.evidence import Evidence


def unsaid(evidence: Evidence) -> Said:
    """Cores and neighbours, whose models know functions by other columns than a source has."""
    file = evidence.file
    yield Gap(
        "how many cores it is worth",
        "the model knows functions as chains of published elements with parameters, and nothing "
        f"here tells which of these {file} is",
        "describe it in these columns: slowpath insights cores --query",
    )
    yield Gap(
        "with whom it may share the card",
        "the model knows functions by the same columns",
        "describe it and its neighbours: slowpath insights colocation --query",
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
