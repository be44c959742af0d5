"""Describes a guarantee and an estimate in one line, where a report has no room."""

from slowpath.bounds.report_path import format_ns
from slowpath.core.schema.derived import (
    counted,
    is_count,
    is_found,
    metric_rate,
    metric_words,
    rate_metric,
)
from slowpath.core.schema.rates import format_rate
from slowpath.core.schema.results import Result


def brief(result: Result) -> str:
    """Return the guarantee and the estimate of a result in one line; the error if there is none."""
    guarantee, estimate = result["guarantee"], result["estimate"]
    if guarantee is None:
        return result["error"] or "no guarantee"
    if is_count(result):
        _, count = counted(guarantee["counts"] or {}, result["metric"])
        text = f"at most {count:,} {metric_words(result['metric'])}"
    else:
        metric = rate_metric(result)
        text = f"at least {format_rate(metric_rate(guarantee, metric), metric)}"
    if not is_found(guarantee):
        text += f" (a bound; the search stopped: {guarantee['stopped']})"
    elif guarantee["exact"]:
        text += " (exact)"
    else:
        text += " (exact under assumptions)"
    if estimate is None:
        return text
    warm, cold = (format_ns(estimate[caches]["ns"]) for caches in ("warm", "cold"))
    times = f"{warm} in any caches" if warm == cold else f"{warm} in warm, {cold} in cold caches"
    return f"{text}, estimated {times}"
