"""Advice: the order of variables in which one access fetches most."""

from collections.abc import Sequence

from slowpath.insights.advising.advice import Advice, Gap, Said
from slowpath.insights.advising.evidence import Evidence, Placed
from slowpath.insights.coalescing.documents import ElementLayout
from slowpath.insights.porting.documents import CountedStructure, CountsReport

_NONE, _FREE = "variables", "variables that are in no struct"
"""What variables of a program are called that are put together, and what is said of them."""


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
    placed = traced.placed
    for one in traced.layouts:
        before = now(one)
        if not before > one["accesses"]:
            continue
        those = _structures(traced.counts, one)
        file, line = (those[0]["file"], those[0]["line"]) if those else ("", 0)
        proved = one["verdict"] == "optimal"
        searched = (
            "no order takes fewer" if proved else f"no order takes less than {one['bound']:g}"
        )
        yield Advice(
            "coalescing",
            f"Order {_named(one)} as below",
            one["element"],
            file,
            line,
            f"what blocks of code touch together stands in one window of {traced.width} bytes",
            before,
            one["accesses"],
            f"accesses of {traced.width} bytes",
            None if placed is None else (before - one["accesses"]) * _price(placed, those),
            "proved" if proved else "predicted",
            f"blocks counted on the trace; {searched} with them; a block is taken to fetch a "
            f"window once and to keep it{_apart(one)}",
            one["struct"],
        )


def _named(layout: ElementLayout) -> str:
    return _FREE if layout["element"] == _NONE else f"the variables of {layout['element']}"


def _price(placed: Placed, those: Sequence[CountedStructure]) -> float:
    """What an access costs, at most."""
    return max((placed.price("read", one["structure"]) for one in those), default=0.0)


def _apart(layout: ElementLayout) -> str:
    """What is said of variables that are no struct of the source by themselves."""
    if layout["element"].endswith(")"):  # members of a structure that the source declares
        return ""
    return "; before is of these variables alone, as one struct in the source's order"


def now(layout: ElementLayout) -> float:
    """Accesses for each packet in the source's order."""
    return next(one["accesses"] for one in layout["compared"] if one["layout"] == "source")


def _structures(counts: CountsReport, layout: ElementLayout) -> list[CountedStructure]:
    """Those that its variables are, or are in."""
    name = layout["element"]
    alone = {one["variable"] for one in layout["members"]}
    found = list[CountedStructure]()
    for one in counts["structures"]:
        owner, _, last = one["structure"].rpartition("::")
        inside = name.startswith(
            tuple(f"{one['structure']}{of} (" for of in ("", " key", " value"))
        )
        if inside or ((owner or _NONE) == name and last in alone):
            found.append(one)
    return found
