"""Computes values and texts for reports from results of analyses.

It also builds the results of failed analyses.
"""

from collections.abc import Mapping

from slowpath.core import codes
from slowpath.core.errors import Coded
from slowpath.core.schema.rates import Metric, as_metric
from slowpath.core.schema.results import (
    Bound,
    Detail,
    EstimatePart,
    Failure,
    PathResult,
    RatedTime,
    Refusal,
    Result,
    Verdict,
)

DESCRIBED_PATHS = 100
"""Maximum number of paths that reports describe; the others are only counted, with their range."""
USUAL_ENDS = (0.92, 1.14)
"""Usual ends of the 90 % interval of a program's time, as factors of its estimate. Calibrations
that fit their check programs have them, as `bench/estimates.py` measures."""


def program_label(result: Result) -> str:
    """Return the name of a program in reports: `FILE:PROGRAM`, or only the file.

    The program is named if the file is a BPF object, or a chain of programs on several devices.
    """
    several = result["section"] is not None or "@" in result["program"]
    return f"{result['file']}:{result['program']}" if several else result["file"]


def condition(sentence: str) -> str:
    """Remove the full stop from a sentence that states an assumption, to put it after `if`."""
    return sentence.removesuffix(".")


def metric_words(metric: str) -> str:
    """Convert the name of a count metric to words: `memory-accesses` becomes `memory accesses`."""
    return metric.replace("-", " ")


def cost_words(component: str, metric: str) -> str:
    """Return the unit of costs on a component of a device, such as `dram cycles`.

    If the metric is a count, the unit is the name of the component alone.
    """
    if component in TIMES:
        return component.replace("_", " ")
    return component if as_metric(metric) is None else f"{component} cycles"


def refusal_text(refusal: Refusal) -> str:
    """Format the reason why a device or slowpath refuses a program.

    The text has the location of the first refused instruction, the number of further instructions,
    the reason, and a hint.
    """
    more = refusal["times"] - 1
    others = f" and {more} more instruction{'s'[: more > 1]}" if more else ""
    place = f"{refusal['place']}{others}: " if refusal["place"] else ""
    return place + "; ".join(filter(None, (refusal["reason"], refusal["hint"])))


WARM_NS, COLD_NS = "warm_ns", "cold_ns"
"""Keys of the estimated times in dictionaries of costs: few map entries in warm caches, and many in
cold caches."""
TIMES = (WARM_NS, COLD_NS)
_OF_ESTIMATES = "estimates: "
"""Prefix of notes about estimates."""


def is_found(bound: Bound) -> bool:
    """Return true if a bound is the cost of an actual path that the search found.

    The verdict is then `exact`, or `conditional` if the path depends on assumptions.
    """
    return bound["verdict"] != "bound"


def verdict_of(result: Result) -> Verdict | None:
    """Return the verdict on a result's guarantee; None if it has no guarantee."""
    return None if result["guarantee"] is None else result["guarantee"]["verdict"]


def is_count(result: Result) -> bool:
    """Return true if the target of a result counts, for example, instructions, and has no rates."""
    return as_metric(result["metric"]) is None


def rate_metric(result: Result) -> Metric:
    """Return the rate that a result guarantees: bit rate or packet rate."""
    return as_metric(result["metric"]) or "bitrate"


def metric_rate(bound: Bound | PathResult, metric: Metric) -> float:
    """Return the bit rate or packet rate, as `metric` says, of a bound or path; 0 without rates."""
    rate = bound["bitrate_bps"] if metric == "bitrate" else bound["packetrate_pps"]
    return rate or 0.0


def counted(counts: Mapping[str, float], metric: str) -> tuple[str, int]:
    """Return name and value of the count that a metric such as `memory-accesses` refers to.

    The value is 0 if `counts` does not have it.
    """
    for name, count in counts.items():
        if "-".join(name.split()) == metric:
            return name, int(count)
    return metric_words(metric), 0


def own_rate(result: Result) -> float | None:
    """Return the rate that the program itself allows; None if no path is known.

    Limits that are the same for all programs, such as the line rate of the device, are ignored. The
    remaining limits are the components on which the slowest path has a cost.
    """
    guarantee, metric = result["guarantee"], rate_metric(result)
    if guarantee is None or not is_found(guarantee) or not result["paths"]:
        return None
    slowest = result["paths"][0]
    components = guarantee["components"] or {}
    rates = (components.get(name) for name in slowest["cost"])
    packets = min((rate for rate in rates if rate is not None), default=None)
    if packets is None or metric == "packetrate":
        return packets
    return packets * 8 * slowest["min_packet_size"]


def estimate_notes(result: Result) -> list[str]:
    """Return notes on the estimated time: its assumptions, or the reason why it is missing."""
    notes = result["notes"] or []
    return [text.removeprefix(_OF_ESTIMATES) for text in notes if text.startswith(_OF_ESTIMATES)]


def reservation(note: str) -> str:
    """Format a note on an estimate as a condition, for use after `if`."""
    return f"the estimate holds despite its note: {note}"


def entries_words(time: RatedTime, maps: str = "maps") -> str:
    """Describe the assumed number of map entries: `full maps`, or `10,000 entries in maps`.

    `maps` is the word for maps.
    """
    entries = time["entries"]
    if "=" in entries:
        named, _, others = entries.rpartition(", others ")
        rest = f"other {maps} {others}"
        if others.isdigit():
            rest = f"{int(others):,} entries in other {maps}"
        return f"{named.replace(',', ', ')} entries, {rest}"
    return f"{int(entries):,} entries in {maps}" if entries.isdigit() else f"{entries} {maps}"


def parts_of_pipeline(result: Result) -> list[EstimatePart]:
    """Return the times of the single table lookups and instructions on a pipeline's slowest path.

    The list is empty for other programs.
    """
    estimate = result["paths"][0]["estimate"] if result["paths"] else None
    return [] if estimate is None else estimate.get("parts", [])


def is_capped(result: Result) -> bool:
    """Return true if a fixed limit of the device, not the program, determines the guarantee."""
    guarantee = result["guarantee"]
    if guarantee is None or not result["paths"]:
        return False
    return guarantee["bottleneck"] not in result["paths"][0]["cost"]


def main_component(result: Result) -> str | None:
    """Return the component of the device that determines the guarantee; None without a guarantee.

    For rates, it is the slowest component on the path; for counts, the counted component. If there
    is an estimate, it is the estimated time in cold caches (`COLD_NS`).
    """
    guarantee, profile = result["guarantee"], result["profile"]
    if guarantee is None or profile is None or not profile["cost"]:
        return None
    if result["estimate"] is not None and COLD_NS in profile["cost"]:
        return COLD_NS
    if is_count(result):
        return counted(profile["cost"], result["metric"])[0]
    rates = guarantee["components"] or {}
    limited = {name: rates.get(name) for name in profile["cost"]}
    slowest = min(
        ((rate, name) for name, rate in limited.items() if rate is not None), default=None
    )
    return next(iter(profile["cost"])) if slowest is None else slowest[1]


NO_FAILURE: Failure = {
    "code": codes.INTERNAL_ERROR,
    "kind": "input",
    "what": "",
    "option": None,
    "line": None,
    "section": None,
    "instruction": None,
    "stopped": None,
}
"""Default values of a failure: an error in the program or its file."""
NO_DETAIL: Detail = {
    "paths": [],
    "code": [],
    "blocks": [],
    "failure": None,
    "unmatched": [],
}
"""Detail of a result without paths and code."""


def failed_result(file: str, target: str, metric: str, error: Coded) -> Result:
    """Return the result for a file that could not be analysed; `error` is the reason."""
    return {
        "file": file,
        "section": None,
        "program": "",
        "kind": None,
        "target": target,
        "metric": metric,
        "cores": 0,
        "guarantee": None,
        "naive": None,
        "estimate": None,
        "paths": [],
        "profile": None,
        "assumptions": [],
        "cuts": [],
        "notes": [],
        "stats": {
            "seconds": 0.0,
            "candidates": 0,
            "sat": 0,
            "unsat": 0,
            "nogoods": 0,
            "solver_checks": 0,
            "solver_seconds": 0.0,
        },
        "refusals": [],
        "error": str(error),
        "code": error.code,
    }
