"""Runs the commands `slowpath insights cores` and `slowpath insights colocation`."""

from argparse import Namespace
from collections.abc import Iterator

from slowpath.core import codes, engine
from slowpath.core.errors import Coded, ExitCode, OptionError
from slowpath.core.formats import Reporter, codes_of
from slowpath.core.printable import csv_line, one_line
from slowpath.core.quantities import significant
from slowpath.core.terminal import Line, first_few, grid
from slowpath.insights.cores import model as curve_model
from slowpath.insights.cores import pairs
from slowpath.insights.cores.curves import Query, read_curves, read_query
from slowpath.insights.cores.documents import (
    ColocationReport,
    CoresReport,
    Group,
    Pair,
    functions_of,
    groups_of,
    points_of,
)
from slowpath.insights.cores.groups import NAMES as SCORES
from slowpath.insights.cores.groups import read_groups, read_measured
from slowpath.insights.output import (
    SHOWN,
    check_output,
    extrapolation_warnings,
    percent,
)
from slowpath.insights.source.unit import require_numpy


def run_cores(given: Namespace, reporter: Reporter) -> ExitCode:
    """Run the command `slowpath insights cores`.

    Raises:
        InputError: if a file cannot be read, used or written.
        OptionError: if options do not fit together.
        UnavailableError: if a package is missing.
    """
    if given.train is not None and given.emem_cache is not None:
        raise OptionError(
            codes.CONFLICTING_OPTIONS,
            "--emem-cache",
            "the option is for the default model; omit --train or this option",
        )
    check_output(given.output, [given.query, *([given.train] if given.train else [])])
    require_numpy()
    query = read_query(given.query)
    traffic = (given.emem_cache or curve_model.TRAFFIC[0]) if given.train is None else None
    model = (
        curve_model.learn(read_curves(given.train))
        if traffic is None
        else curve_model.shipped(traffic)
    )
    confidence = given.confidence / 100
    report: CoresReport = {
        **engine.head("insights cores", "cores"),
        "warnings": [],
        "warning_codes": [],
        "query": given.query,
        "train": given.train,
        "traffic": traffic,
        "learnt_from": model.functions,
        "confidence": confidence,
        "functions": functions_of(model, query, confidence),
        "points": points_of(model, query),
    }
    warnings = [*_warnings(query, report)]
    report["warnings"], report["warning_codes"] = [*warnings], codes_of(warnings)
    reporter.write_to(given.output, report, warnings=warnings)
    return ExitCode.FINE


def _warnings(query: Query, report: CoresReport) -> Iterator[Coded]:
    """Yield warnings about core counts and functions outside of the published measurements."""
    extrapolated = sorted({one["cores"] for one in report["points"] if one["outside"]})
    if extrapolated:
        cores = first_few([str(one) for one in extrapolated], SHOWN)
        yield Coded(
            codes.EXTRAPOLATED,
            f"{query.file}: predictions for {cores} cores are guesses, because only 24 to 60 cores "
            "were measured",
        )
    unusual = [(one["function"], one["unusual"]) for one in report["functions"]]
    yield from extrapolation_warnings(query.file, "functions are", unusual)


COLUMNS = ("function", "cores", "throughput_pps", "latency_cycles", "knee_cores")
_MEGA = 1e6


def cores_csv(report: CoresReport) -> Iterator[Line | str]:
    """Yield a CSV header line, and a line for each row of the query."""
    knees = {one["function"]: one["knee_cores"] for one in report["functions"]}
    yield csv_line(COLUMNS)
    for one in report["points"]:
        numbers = (one["cores"], one["throughput_pps"], one["latency_cycles"])
        yield csv_line((one["function"], *numbers, knees[one["function"]]))


def cores_text(report: CoresReport) -> Iterator[Line | str]:
    """Yield the advised core count for each function as lines of text, without the full curves."""
    yield Line(one_line(f"{report['query']}: {_learnt(report)}"), "bold")
    yield Line("")
    columns = ("function", "cores", "interval", "Mpps there", "of maximum", "latency", "unusual")
    rows = [
        (
            one["function"],
            str(one["knee_cores"]),
            f"{one['knee_low']} to {one['knee_high']}",
            significant(one["throughput_pps"] / _MEGA),
            percent(one["share"]),
            significant(one["latency_cycles"]),
            ", ".join(one["unusual"]),
        )
        for one in report["functions"]
    ]
    yield from grid(columns, rows, right=("cores", "interval", "Mpps there", *columns[4:6]))
    yield Line("")
    confidence = f"{100 * report['confidence']:g} % intervals"
    yield Line(
        "All values are predicted. The recommended number of cores is at the bend of the "
        f"curve of throughput, with {confidence}. Latency is in cycles of a core."
    )


def _learnt(report: CoresReport) -> str:
    count = report["learnt_from"]
    if report["train"] is not None:
        return f"model trained on {count} functions of {report['train']}"
    return (
        f"model trained on {count} published functions, with accesses that "
        f"{report['traffic']} the cache"
    )


def run_colocation(given: Namespace, reporter: Reporter) -> ExitCode:
    """Run the command `slowpath insights colocation`.

    Raises:
        InputError: if a file cannot be read, used or written.
        OptionError: if options do not fit together.
        UnavailableError: if a package is missing.
    """
    check_output(given.output, [given.query, *([given.train] if given.train else [])])
    require_numpy()
    groups = read_groups(given.query)
    train = given.train
    model = pairs.shipped() if train is None else pairs.learn(*read_measured(train))
    results = groups_of(model, groups)
    unusual = [(one["group"], one["unusual"]) for one in results]
    warnings = [*extrapolation_warnings(given.query, "groups have functions", unusual)]
    report: ColocationReport = {
        **engine.head("insights colocation", "colocation"),
        "warnings": [*warnings],
        "warning_codes": codes_of(warnings),
        "query": given.query,
        "train": given.train,
        "learnt_from": model.groups,
        "results": results,
    }
    reporter.write_to(given.output, report, warnings=warnings)
    return ExitCode.FINE


_EQUAL = 0.01
"""Maximum share by which the score of a pair is below the best score if both count as equally
good."""


def colocation_csv(report: ColocationReport) -> Iterator[Line | str]:
    """Yield a CSV header line, and a line for each pair of functions."""
    yield csv_line(("group", "first", "second", *SCORES))
    for group in report["results"]:
        for pair in group["pairs"]:
            numbers = (pair["throughput_total"], pair["throughput_average"])
            latencies = (pair["latency_total"], pair["latency_average"])
            yield csv_line((group["group"], pair["first"], pair["second"], *numbers, *latencies))


def colocation_text(report: ColocationReport) -> Iterator[Line | str]:
    """Yield, for each group of functions, its best, equally good, and worst pairs as text."""
    yield Line(one_line(f"{report['query']}: {_learnt_pairs(report)}"), "bold")
    yield Line("")
    columns = ("group", "alone", "best pair", "keeps", "equally good", "worst pair", "")
    rows = [_row(group) for group in report["results"]]
    yield from grid(columns, rows, right=("keeps",))
    yield Line("")
    yield Line(
        "All values are predicted. The score of a pair is its throughput together, as a share "
        "of the throughput of both functions alone. Pairs within 1 % of the best are equally "
        "good."
    )


def _row(group: Group) -> tuple[str, ...]:
    best, *others = sorted(group["pairs"], key=lambda one: -one["throughput_total"])
    near = [
        one for one in others if one["throughput_total"] >= (1 - _EQUAL) * best["throughput_total"]
    ]
    return (
        group["group"],
        "measured" if group["measured_alone"] else "predicted",
        _members(best),
        percent(best["throughput_total"]),
        ", ".join(map(_members, near)),
        f"{_members(others[-1])} ({percent(others[-1]['throughput_total'])})",
        f"unusual: {', '.join(group['unusual'])}" if group["unusual"] else "",
    )


def _members(pair: Pair) -> str:
    return f"{pair['first']}-{pair['second']}"


def _learnt_pairs(report: ColocationReport) -> str:
    count = report["learnt_from"]
    if report["train"] is not None:
        return f"model trained on {count} groups of {report['train']}"
    return f"model trained on {count} published groups"
