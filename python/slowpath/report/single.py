"""The full report of one program for people.

The rate that the search was about is the guarantee; the other one is what the path that sets
the guarantee comes to, and other paths may have less of it.
"""

from collections.abc import Iterator

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import Line
from slowpath.report.instruction_ranges import format_ranges
from slowpath.report.lines import source_lines
from slowpath.report.path import (
    LABEL,
    all_paths,
    assumption_lines,
    count_of,
    detail_line,
    exactness,
    labelled,
    style_of,
    witness_lines,
)
from slowpath.schema.derived import is_capped, is_found, metric_rate, own_rate, rate_metric
from slowpath.schema.rates import Metric, format_improvement, format_packetrate, format_rate
from slowpath.schema.results import Bound, Detail, PathDetail, PathResult, Result
from slowpath.schema.wording import program_label


def full_report(result: Result, detail: Detail, *, verbose: bool) -> Iterator[Line]:
    """The lines of the report; nothing when the program could not be analysed."""
    guarantee, naive = result["guarantee"], result["naive"]
    if guarantee is None or naive is None:
        return
    yield title_line(result)
    yield Line("")
    yield from guarantee_lines(result, guarantee)
    yield bottleneck_line(result, guarantee)
    yield from _naive(rate_metric(result), guarantee, naive)
    yield Line("")
    yield from _components(guarantee, result["paths"])
    metric = rate_metric(result)
    yield from all_paths(
        result,
        detail,
        _path,
        lambda path: format_rate(metric_rate(path, metric), metric),
        verbose=verbose,
    )


def title_line(result: Result) -> Line:
    """The program and the device."""
    cores = count_of(result["cores"] or 0, "core")
    return Line(f"{one_line(program_label(result))} on {result['target']}, {cores}", "bold")


def guarantee_lines(result: Result, guarantee: Bound) -> Iterator[Line]:
    """The guaranteed rate, the other one, and what they depend on."""
    metric = rate_metric(result)
    other: Metric = "packetrate" if metric == "bitrate" else "bitrate"
    rate = format_rate(metric_rate(guarantee, metric), metric)
    if is_found(guarantee):
        yield labelled("guaranteed", f"{rate} ({exactness(result)})", style_of(guarantee))
        where = "on the slowest path"
    else:
        why = f"a lower bound; the search stopped: {guarantee['stopped']}"
        yield labelled("guaranteed", f"at least {rate} ({why})", "bold yellow")
        where = "on the path that sets this bound"
    if is_found(guarantee) and result["paths"]:
        where += f", packets of {result['paths'][0]['min_packet_size']} bytes"
    if not is_found(guarantee) and result["paths"]:
        reached = format_rate(metric_rate(result["paths"][0], metric), metric)
        yield labelled("", f"at most {reached}: a packet takes so long")
    yield labelled("", f"{format_rate(metric_rate(guarantee, other), other)} {where}")
    yield from interleaved_lines(result)
    yield from assumption_lines(result)


def interleaved_lines(result: Result) -> Iterator[Line]:
    """The rate that holds while other cores write to shared maps, where it is lower."""
    bound = result.get("interleaved")
    if bound is not None:
        metric = rate_metric(result)
        stopped = bound["stopped"]
        text = "" if stopped is None else f" (a lower bound; the search stopped: {stopped})"
        rate = format_rate(metric_rate(bound, metric), metric)
        yield labelled("any cores", f"{rate} while other cores write to these maps{text}")


def bottleneck_line(result: Result, guarantee: Bound) -> Line:
    """The component or limit that sets the guarantee."""
    text, own = guarantee["bottleneck"] or "none", own_rate(result)
    if is_capped(result) and own is not None:
        rate = format_rate(own, rate_metric(result))
        text += f", a fixed limit of the device; the program by itself allows {rate}"
    return labelled("bottleneck", text)


def _naive(metric: Metric, guarantee: Bound, naive: Bound) -> Iterator[Line]:
    rate, base = metric_rate(guarantee, metric), metric_rate(naive, metric)
    gain = format_improvement(rate, base)
    if gain != "none":
        note = f"the search improved it by {gain.removeprefix('+')}"
    elif guarantee["exact"]:
        note = "the search found no better one: it is exact"
    elif is_found(guarantee):
        note = "the search found no better one"
    else:
        note = "not improved yet"
    yield labelled("naive bound", f"{format_rate(base, metric)} ({naive['bottleneck']}); {note}")


def _components(guarantee: Bound, paths: list[PathResult]) -> Iterator[Line]:
    cost = paths[0]["cost"] if is_found(guarantee) and paths else {}
    rows = [("component", "predicted", "cost on the slowest path" if cost else "")]
    for name, rate in sorted((guarantee["components"] or {}).items(), key=_slowest_first):
        cycles = f"{format_cycles(cost[name])} cycles" if name in cost else ""
        rows.append((name, "no limit" if rate is None else format_packetrate(rate), cycles))
    for name, rate_text, cycles in rows:
        mark = "<- bottleneck" if name == guarantee["bottleneck"] else ""
        yield Line(
            f"{name:<{LABEL}}{rate_text:>10}   {' '.join(filter(None, (cycles, mark)))}".rstrip()
        )


def _slowest_first(component: tuple[str, float | None]) -> tuple[bool, float, str]:
    name, rate = component
    return rate is None, rate or 0.0, name


def format_cycles(cycles: float) -> str:
    """Cycles with at most two decimals."""
    return f"{cycles:.2f}".rstrip("0").rstrip(".")


def _path(result: Result, index: int, detail: PathDetail) -> Iterator[Line]:
    path, metric = result["paths"][index], rate_metric(result)
    guarantee = result["guarantee"]
    proven = guarantee is not None and is_found(guarantee)
    title = "slowest path" if proven and index == 0 else "satisfiable path"
    if len(result["paths"]) > 1:
        title += f" {index + 1} of {len(result['paths'])}"
    rate = format_rate(metric_rate(path, metric), metric)
    yield Line(f"{title}: {rate} predicted, {path['bottleneck']} is its bottleneck", "bold")
    costs = (f"{name} {format_cycles(cycles)} cycles" for name, cycles in path["cost"].items())
    yield detail_line("cost", ", ".join(costs))
    yield detail_line("packets", f"of {path['min_packet_size']} bytes or more")
    if path["lines"]:
        yield from source_lines(path, detail)
    else:
        numbers = format_ranges(detail["ranges"])
        yield detail_line("instructions", f"{numbers}, exit {detail['exit']}")
    yield from witness_lines(path)
