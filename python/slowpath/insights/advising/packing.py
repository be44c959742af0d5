"""Advice: the order of variables in which one access fetches most."""

from slowpath.insights.advising.advice import Advice, Gap, Said
from slowpath.insights.advising.evidence import Evidence
from slowpath.insights.advising.weight import access
from slowpath.insights.coalescing.documents import ElementLayout
from slowpath.insights.porting.documents import CountsReport


def packing(evidence: Evidence) -> Said:
    """A piece of advice for each structure whose order in the source takes more accesses."""
    traced = evidence.traced
    if traced is None:
        yield Gap(
            "which variables to pack together",
            "it takes which blocks of code run how often, and what they touch",
            "a trace: --traffic",
        )
        return
    for one in traced.layouts:
        before = next(each["accesses"] for each in one["compared"] if each["layout"] == "source")
        if not before > one["accesses"]:
            continue
        file, line = _place(traced.counts, one)
        proved = one["verdict"] == "optimal"
        searched = (
            "no order takes fewer" if proved else f"no order takes less than {one['bound']:g}"
        )
        yield Advice(
            "coalescing",
            f"Order the variables of {one['element']} as below",
            one["element"],
            file,
            line,
            f"what blocks of code touch together stands in one window of {traced.width} bytes",
            before,
            one["accesses"],
            f"accesses of {traced.width} bytes",
            None if traced.placed is None else (before - one["accesses"]) * access(traced, "read"),
            "proved" if proved else "predicted",
            f"blocks counted on the trace; {searched} with them; a block is taken to fetch a "
            f"window once and to keep it{_apart(one)}",
            one["struct"],
        )


def _apart(layout: ElementLayout) -> str:
    """What is said of variables that are no struct of the source by themselves."""
    if layout["element"].endswith(")"):  # members of a structure that the source declares
        return ""
    return "; before is of these variables alone, as one struct in the source's order"


def _place(counts: CountsReport, layout: ElementLayout) -> tuple[str, int]:
    """Where the first of its structures is declared."""
    name = layout["element"]
    for one in counts["structures"]:
        owner = one["structure"].rpartition("::")[0]
        if name in (owner, one["structure"]) or name.startswith(
            (f"{one['structure']} (", f"{one['structure']} key (", f"{one['structure']} value (")
        ):
            return one["file"], one["line"]
    return "", 0
