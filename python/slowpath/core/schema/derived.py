"""Values derived from results, and the words that texts use for them."""

from collections.abc import Mapping

from slowpath.core.schema.rates import Metric, as_metric
from slowpath.core.schema.results import Bound, PathResult, Refusal, Result, Verdict


def program_label(result: Result) -> str:
    """The file, and the program where a file can have several: an object, or a chain on devices."""
    several = result["section"] is not None or "@" in result["program"]
    return f"{result['file']}:{result['program']}" if several else result["file"]


def condition(sentence: str) -> str:
    """An assumption as it follows the word `if`."""
    return sentence.removesuffix(".")


def metric_words(metric: str) -> str:
    """What a metric of a target that counts is called in texts."""
    return metric.replace("-", " ")


def cost_words(component: str, metric: str) -> str:
    """What costs on a component are called in texts: `dram cycles`, or the name of a count."""
    return component if as_metric(metric) is None else f"{component} cycles"


def refusal_text(refusal: Refusal) -> str:
    """A refusal in words."""
    more = refusal["times"] - 1
    others = f" and {more} more instruction{'s'[: more > 1]}" if more else ""
    place = f"{refusal['place']}{others}: " if refusal["place"] else ""
    return place + "; ".join(filter(None, (refusal["reason"], refusal["hint"])))


NANOSECONDS = "ns"
"""The name that estimated times have among costs."""
_OF_ESTIMATES = "estimates: "
"""How notes begin that are about estimates."""


def is_found(bound: Bound) -> bool:
    """Whether the slowest path is known, under conditions or not, and the bound is its own."""
    return bound["verdict"] != "bound"


def verdict_of(result: Result) -> Verdict | None:
    """The verdict of a guarantee; None when there is none."""
    return None if result["guarantee"] is None else result["guarantee"]["verdict"]


def is_count(result: Result) -> bool:
    """Whether the result is of a target that counts and has no rates."""
    return as_metric(result["metric"]) is None


def rate_metric(result: Result) -> Metric:
    """The metric of a result with rates."""
    return as_metric(result["metric"]) or "bitrate"


def metric_rate(bound: Bound | PathResult, metric: Metric) -> float:
    """The rate of a bound or path that the metric is about; 0 where there are no rates."""
    rate = bound["bitrate_bps"] if metric == "bitrate" else bound["packetrate_pps"]
    return rate or 0.0


def counted(counts: Mapping[str, float], metric: str) -> tuple[str, int]:
    """The component that a metric is about, and its count."""
    for name, count in counts.items():
        if "-".join(name.split()) == metric:
            return name, int(count)
    return metric_words(metric), 0


def own_rate(result: Result) -> float | None:
    """The guarantee without the fixed limits of the device, None when no packet size is known.

    What is left are the components that the program loads: those that its paths have a cost on.
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
    """What an estimate takes for granted, or why there is none, of the notes of a result."""
    notes = result["notes"] or []
    return [text.removeprefix(_OF_ESTIMATES) for text in notes if text.startswith(_OF_ESTIMATES)]


def is_capped(result: Result) -> bool:
    """Whether a fixed limit of the device and not the program sets the guarantee."""
    guarantee = result["guarantee"]
    if guarantee is None or not result["paths"]:
        return False
    return guarantee["bottleneck"] not in result["paths"][0]["cost"]


def main_component(result: Result) -> str | None:
    """The component that the guarantee hangs on: the slowest that the path loads, or what counts.

    Where there is an estimate, the time.

    None when there is no guarantee.
    """
    guarantee, profile = result["guarantee"], result["profile"]
    if guarantee is None or profile is None or not profile["cost"]:
        return None
    if result["estimate"] is not None and NANOSECONDS in profile["cost"]:
        return NANOSECONDS
    if is_count(result):
        return counted(profile["cost"], result["metric"])[0]
    rates = guarantee["components"] or {}
    limited = {name: rates.get(name) for name in profile["cost"]}
    slowest = min(
        ((rate, name) for name, rate in limited.items() if rate is not None), default=None
    )
    return next(iter(profile["cost"])) if slowest is None else slowest[1]
