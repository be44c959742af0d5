"""Formats placements and suggested mixes as text and CSV."""

import math
from collections.abc import Iterator, Sequence

from slowpath.contention.placement.documents import (
    Placed,
    PlacementReport,
    PolicyOutcome,
    SequenceOutcome,
    SuggestedMix,
    SuggestionReport,
)
from slowpath.core.printable import csv_line, one_line
from slowpath.core.quantities import number
from slowpath.core.terminal import Line, grid

_ARRIVALS = ("policy", "row", "function", "sla", "nic", "throughput", "kept", "broken")
_SEQUENCES = (
    "sequence",
    "policy",
    "nics",
    "wastage",
    "violations",
    "unjudged",
    "turned_away",
    "reference",
    "least",
)
_PERCENT = 100


def placement_csv(report: PlacementReport) -> Iterator[str]:
    """Yield the lines of a CSV report about placements.

    There is a line for each given arrival and policy, or for each random sequence and policy.
    """
    (first, *_) = report["sequences"]
    if _has_placements(first):
        yield csv_line(_ARRIVALS)
        for one in first["policies"]:
            yield from (_arrival(one["policy"], placed) for placed in one["placed"] or ())
        return
    yield csv_line(_SEQUENCES)
    for at, sequence in enumerate(report["sequences"], 1):
        reference = sequence["reference"]
        ends = (None, None) if reference is None else (reference["nics"], reference["least"])
        for one in sequence["policies"]:
            shares = (one["wastage"], one["violations"], one["unjudged"], one["turned_away"])
            yield csv_line((at, one["policy"], one["nics"], *shares, *ends))


def _arrival(policy: str, one: Placed) -> str:
    known = (one["nic"], one["throughput"], one["kept"], one["broken"])
    return csv_line((policy, one["row"], one["function"], one["sla"], *known))


def placement_text(report: PlacementReport) -> Iterator[Line]:
    """Yield a table of the policies. For given arrivals, also yield the NICs of the best policy."""
    (first, *_) = report["sequences"]
    device = f" of {report['device']}" if report["device"] else ""
    sequences = "" if _has_placements(first) else f", {len(report['sequences'])} random sequences"
    arrivals = f"{first['arrivals']} arrivals"
    yield Line(one_line(f"{report['fleet']}{device}: {arrivals}{sequences}"), "bold")
    yield Line("")
    columns = ("policy", "NICs", "wastage", "SLA violations", "unjudged", "not placed")
    rows = [
        (
            one["policy"],
            number(one["nics"]),
            _percent(one["wastage"]),
            _percent(one["violations"]),
            number(one["unjudged"]),
            number(one["turned_away"]),
        )
        for one in report["summary"]
    ]
    yield from grid(columns, rows, right=columns[1:])
    if _has_placements(first):
        yield Line("")
        yield from _best_nics(first["policies"])
    yield Line("")
    yield Line(one_line(_judge(report)))
    yield Line(_reference(report))


def _has_placements(sequence: SequenceOutcome) -> bool:
    """Return true if the results for a sequence of arrivals include the NIC of each arrival."""
    return any(one["placed"] is not None for one in sequence["policies"])


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{_PERCENT * share:.1f} %"


_MOST_NICS = 20
"""Maximum number of NICs in the text report if several policies are compared."""


def _best_nics(outcomes: Sequence[PolicyOutcome]) -> Iterator[Line]:
    """Yield a table of the best policy's NICs: all for a single policy, else the first ones.

    The best policy places the most functions, breaks the smallest share of promises, and uses the
    fewest NICs, in this order. A share that is unknown counts as the largest one.
    """
    if len(outcomes) == 1:
        yield from _nics(outcomes[0])
        return
    best = min(outcomes, key=_rank)
    rows = list(_nics(best, _MOST_NICS))
    yield Line(f"Placement by {best['policy']}, the best of these policies:")
    yield from rows
    more = best["nics"] - _MOST_NICS
    if more > 0:
        rest = "One more NIC is" if more == 1 else f"{more} more NICs are"
        yield Line(f"{rest} in the output of --format csv.")
    yield Line("For the placement by another policy, use --policy NAME with its name only.")


def _rank(outcome: PolicyOutcome) -> tuple[int, float, int]:
    """Return the sort key of a policy's result; the best result has the least key."""
    broken = outcome["violations"]
    return outcome["turned_away"], math.inf if broken is None else broken, outcome["nics"]


def _nics(outcome: PolicyOutcome, most: int | None = None) -> Iterator[Line]:
    """Yield a table of the NICs of a placement, with the functions on each NIC.

    The table has at most `most` NICs; None: all.
    """
    by_nic = dict[int, list[Placed]]()
    for one in outcome["placed"] or ():
        if one["nic"] is not None:
            by_nic.setdefault(one["nic"], []).append(one)
    rows = [
        (str(nic), ", ".join(map(_kept, sorted(placed, key=lambda one: one["function"]))))
        for nic, placed in sorted(by_nic.items())[:most]
    ]
    yield from grid(
        ("NIC", "functions (share of solo throughput: kept of promised)"), rows, right=("NIC",)
    )


def _kept(one: Placed) -> str:
    kept = "?" if one["kept"] is None else f"{_PERCENT * one['kept']:.1f}"
    broken = ", broken" if one["broken"] else ""
    return f"{one['function']} ({kept} of {_PERCENT * one['sla']:g} %{broken})"


def _judge(report: PlacementReport) -> str:
    if report["judged_by"] != "models":
        return f"Promises are judged by {report['judged_by']}."
    known = (
        "no mixes were measured"
        if report["measured"] is None
        else f"only the mixes of {report['measured']} were measured"
    )
    return (
        f"The same models place functions and judge promises ({known}), so contention-aware, "
        "bid-price and optimal break none. To judge by measurements, name a table of mixes "
        "with --truth."
    )


def _reference(report: PlacementReport) -> str:
    known = [one["reference"] for one in report["sequences"] if one["reference"] is not None]
    if not known:
        return "Wastage is unknown, because the best plan is unknown."
    proven = sum(one["nics"] == one["least"] for one in known)
    mean = sum(one["nics"] for one in known) / len(known)
    if proven == len(known):
        return (
            f"Wastage is relative to the best plan, which has {number(mean)} NICs and is "
            "proved optimal."
        )
    least = sum(one["least"] for one in known) / len(known)
    return (
        f"Wastage is relative to the best plan found, which has {number(mean)} NICs. Every "
        f"plan needs at least {number(least)} NICs ({proven} of {len(known)} plans are proved "
        "optimal)."
    )


_COLUMNS = ("mix", "function", "throughput", "predicted_kept", "nics")


def suggestion_csv(report: SuggestionReport) -> Iterator[str]:
    """Yield suggested mixes as a CSV table, a line for each function of each mix.

    The format is that of `--measured`, so that users can enter throughputs in the empty cells.
    """
    yield csv_line(_COLUMNS)
    for name in report["alone"]:
        yield csv_line((name, name, None, 1.0, None))
    for one in report["mixes"]:
        for each in one["kept"]:
            yield csv_line((one["mix"], each["function"], None, each["kept"], one["nics"]))


def suggestion_text(report: SuggestionReport) -> Iterator[Line]:
    """Yield a table of the mixes worth measuring, and the number of NICs that this would save."""
    device = f" of {report['device']}" if report["device"] else ""
    count = len(report["mixes"])
    yield Line(
        one_line(f"{report['fleet']}{device}: {count} mixes of functions are worth measuring"),
        "bold",
    )
    if report["alone"]:
        names = ", ".join(report["alone"])
        yield Line(
            one_line(
                f"Also measure the throughput of {names} alone, as promises are shares of "
                "this throughput."
            )
        )
    yield Line("")
    if report["mixes"]:
        columns = (
            "mix",
            f"NICs of {report['arrivals']} arrivals",
            "predicted share of solo throughput, %",
        )
        rows = [(one["mix"], number(one["nics"]), _promises_kept(one)) for one in report["mixes"]]
        yield from grid(columns, rows, right=columns[1:2])
        yield Line("")
    now, then, best = report["nics_now"], report["nics_then"], report["nics_best"]
    yield Line(
        f"With the present data, {report['arrivals']} arrivals need {now:.1f} NICs, if "
        f"promises are kept with a probability of {_PERCENT * report['sure']:g} %."
    )
    yield Line(
        f"The arrivals need {then:.1f} NICs if measurements of these mixes confirm the "
        f"predictions, and {best:.1f} NICs if all mixes are measured."
    )


def _promises_kept(one: SuggestedMix) -> str:
    return ", ".join(f"{each['function']} {_PERCENT * each['kept']:.1f}" for each in one["kept"])
