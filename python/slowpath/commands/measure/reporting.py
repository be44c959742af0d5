"""What was measured, in the format that was asked for."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.printable import json_line
from slowpath.cli.terminal import note, out, out_lines
from slowpath.commands.measure.reports.comparison import comparison_csv, comparison_report
from slowpath.commands.measure.reports.live import live_csv_report, live_text_report
from slowpath.commands.measure.reports.paths import csv_report, text_report
from slowpath.commands.measure.reports.traces import trace_csv, trace_report
from slowpath.commands.measure.settings import Settings
from slowpath.commands.measure.trace_run import draw_traces
from slowpath.engine import identity
from slowpath.measurements import disturbances
from slowpath.measurements.disturbances import Disturbance
from slowpath.measurements.documents import ComparedVersions, MeasuredProgram
from slowpath.measurements.environment import Environment
from slowpath.programs.sources import is_c, provenance
from slowpath.schema.provenance import provenance_lines


class Found(NamedTuple):
    """All that was measured."""

    files: Sequence[str]
    records: Sequence[MeasuredProgram]
    comparison: Sequence[ComparedVersions] | None  # None: there was one version
    where: Environment


def report(found: Found, settings: Settings) -> ExitCode:
    """Writes it down; what the exit code says of that."""
    disturbed = disturbances.of(found.where)
    code = ExitCode.FINE
    if settings.plot is not None:
        code = draw_traces(settings.plot, found.records)
    if settings.form == "json":
        out(json_line(_document(found, disturbed)))
    elif settings.form == "csv":
        out_lines(_csv(found, settings))
    else:
        _tell(found, settings, disturbed)
    return code


def _document(found: Found, disturbed: Sequence[Disturbance]) -> dict[str, object]:
    return {
        "slowpath": identity.version(),
        **provenance(compiled=any(is_c(file) for file in found.files)),
        "environment": found.where,
        "disturbances": disturbed,
        "results": found.records,
        "comparison": found.comparison,
    }


def _csv(found: Found, settings: Settings) -> Iterator[str]:
    if found.comparison is not None:
        return comparison_csv(found.comparison, found.records, found.files[0])
    if settings.pcap is not None:
        return trace_csv(found.records)
    return csv_report(found.records) if settings.live is None else live_csv_report(found.records)


def _tell(found: Found, settings: Settings, disturbed: Sequence[Disturbance]) -> None:
    records, where, verbose = found.records, found.where, settings.verbose
    if settings.live is not None:
        out_lines(live_text_report(records, where, verbose=verbose))
    else:
        out_lines(text_report(records, where, verbose=verbose, cold=settings.cache == "cold"))
    out_lines(trace_report(records))
    out_lines(comparison_report(found.comparison or ()))
    out_lines(provenance_lines(provenance(compiled=any(is_c(file) for file in found.files))))
    for each in disturbed:
        if each["severity"] == "warning" or verbose:
            note(f"{each['severity']}: {each['what']} {each['advice']}")
