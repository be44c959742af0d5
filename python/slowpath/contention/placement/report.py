"""Prints placements and suggested mixes as text and CSV."""

from collections.abc import Iterator

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
    """Yield a line for each arrival and policy, or for each random sequence and policy."""
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
    """Yield a table of policies; with one policy and given arrivals, also a table of NICs."""
    (first, *_) = report["sequences"]
    device = f" of {report['device']}" if report["device"] else ""
    sequences = "" if _has_placements(first) else f", {len(report['sequences'])} random sequences"
    arrivals = f"{first['arrivals']} arrivals"
    yield Line(one_line(f"{report['fleet']}{device}: {arrivals}{sequences}"), "bold")
    yield Line("")
    columns = ("policy", "NICs", "wastage", "SLA violations", "unjudged", "turned away")
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
    if len(first["policies"]) == 1 and _has_placements(first):
        yield Line("")
        yield from _nics(first["policies"][0])
    yield Line("")
    yield Line(one_line(_judge(report)))
    yield Line(_reference(report))


def _has_placements(sequence: SequenceOutcome) -> bool:
    """Return true if the outcome of a sequence includes the NIC of each arrival."""
    return any(one["placed"] is not None for one in sequence["policies"])


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{_PERCENT * share:.1f} %"


def _nics(outcome: PolicyOutcome) -> Iterator[Line]:
    """Yield a table of the NICs of a placement, with the functions on each NIC."""
    by_nic = dict[int, list[Placed]]()
    for one in outcome["placed"] or ():
        if one["nic"] is not None:
            by_nic.setdefault(one["nic"], []).append(one)
    rows = [
        (str(nic), ", ".join(map(_kept, sorted(placed, key=lambda one: one["function"]))))
        for nic, placed in sorted(by_nic.items())
    ]
    yield from grid(
        ("NIC", "functions (kept and promised share of solo throughput)"), rows, right=("NIC",)
    )


def _kept(one: Placed) -> str:
    kept = "?" if one["kept"] is None else f"{_PERCENT * one['kept']:.1f}"
    broken = ", broken" if one["broken"] else ""
    return f"{one['function']} ({kept} of {_PERCENT * one['sla']:g} %{broken})"


def _judge(report: PlacementReport) -> str:
    if report["judged_by"] != "models":
        return f"Promises are judged by {report['judged_by']}."
    known = (
        "the mixes were not measured"
        if report["measured"] is None
        else f"only the mixes of {report['measured']} were measured"
    )
    return (
        f"The models that place functions also judge promises ({known}). So contention-aware, "
        "bid-price and optimal break none. Name a table of measured mixes with --truth."
    )


def _reference(report: PlacementReport) -> str:
    known = [one["reference"] for one in report["sequences"] if one["reference"] is not None]
    if not known:
        return "Wastage is unknown, because the best plan is unknown."
    proven = sum(one["nics"] == one["least"] for one in known)
    mean = sum(one["nics"] for one in known) / len(known)
    if proven == len(known):
        return f"Wastage is relative to the best plan: {number(mean)} NICs, proved optimal."
    least = sum(one["least"] for one in known) / len(known)
    return (
        f"Wastage is relative to the best plan found: {number(mean)} NICs. No plan has fewer than "
        f"{number(least)} NICs ({proven} of {len(known)} plans are proved optimal)."
    )


_COLUMNS = ("mix", "function", "throughput", "predicted_kept", "nics")


def suggestion_csv(report: SuggestionReport) -> Iterator[str]:
    """Yield suggested mixes as a CSV table in the format of `--measured`; throughputs are empty.

    There is a line for each function of each mix.
    """
    yield csv_line(_COLUMNS)
    for name in report["alone"]:
        yield csv_line((name, name, None, 1.0, None))
    for one in report["mixes"]:
        for each in one["kept"]:
            yield csv_line((one["mix"], each["function"], None, each["kept"], one["nics"]))


def suggestion_text(report: SuggestionReport) -> Iterator[Line]:
    """Yield the mixes suggested for measurement, and the number of NICs that this would save."""
    device = f" of {report['device']}" if report["device"] else ""
    count = len(report["mixes"])
    yield Line(one_line(f"{report['fleet']}{device}: {count} mixes are worth measuring"), "bold")
    if report["alone"]:
        names = ", ".join(report["alone"])
        yield Line(
            one_line(f"Also measure alone: {names}. Promises are shares of these throughputs.")
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
        f"With present data, {report['arrivals']} arrivals take {now:.1f} NICs, if promises are "
        "kept "
        f"with a probability of {_PERCENT * report['sure']:g} %."
    )
    yield Line(
        f"They take {then:.1f} NICs if measurements of these mixes confirm the predictions, and "
        f"{best:.1f} if all mixes are measured."
    )


def _promises_kept(one: SuggestedMix) -> str:
    return ", ".join(f"{each['function']} {_PERCENT * each['kept']:.1f}" for each in one["kept"])
