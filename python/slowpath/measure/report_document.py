"""Text and CSV reports of the whole document of a measurement."""

from collections.abc import Iterator

from slowpath.core.schema.provenance import provenance_lines
from slowpath.core.terminal import Line
from slowpath.measure.documents import MeasureDocument
from slowpath.measure.report import comparison_csv, comparison_report, csv_report, text_report
from slowpath.measure.report_live import live_csv_report, live_text_report
from slowpath.measure.report_traces import trace_csv, trace_report
from slowpath.measure.settings import Settings


def document_text(document: MeasureDocument, settings: Settings, _old: str) -> Iterator[Line | str]:
    """Yield the report of programs, traces and the comparison."""
    records, where, verbose = document["results"], document["environment"], settings.verbose
    if settings.live is not None:
        yield from live_text_report(records, where, verbose=verbose)
    else:
        yield from text_report(records, where, verbose=verbose, cold=settings.cache == "cold")
    yield from trace_report(records)
    yield from comparison_report(document["comparison"] or ())
    yield from provenance_lines(document)


def document_csv(document: MeasureDocument, settings: Settings, old: str) -> Iterator[str]:
    """Return CSV lines of the comparison with the file `old`, else of traces, else of paths."""
    records = document["results"]
    if document["comparison"] is not None:
        return comparison_csv(document["comparison"], records, old)
    if settings.pcap is not None:
        return trace_csv(records)
    return csv_report(records) if settings.live is None else live_csv_report(records)
