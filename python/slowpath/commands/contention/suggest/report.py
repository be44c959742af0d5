"""Mixes that are worth measuring, as text and CSV."""

from collections.abc import Iterator

from slowpath.cli.printable import csv_line, one_line
from slowpath.cli.terminal import Line
from slowpath.contention.placement.documents import SuggestedMix, SuggestionReport
from slowpath.report.grid import grid

_COLUMNS = ("mix", "function", "throughput", "predicted_kept", "nics")
_PERCENT = 100


def suggestion_csv(report: SuggestionReport) -> Iterator[str]:
    """The table that `--measured` takes, with a line for each function of each mix."""
    yield csv_line(_COLUMNS)
    for name in report["alone"]:
        yield csv_line((name, name, None, 1.0, None))
    for one in report["mixes"]:
        for each in one["kept"]:
            yield csv_line((one["mix"], each["function"], None, each["kept"], one["nics"]))


def suggestion_text(report: SuggestionReport) -> Iterator[Line]:
    """Which mixes, and what is gained."""
    device = f" of {report['device']}" if report["device"] else ""
    count = len(report["mixes"])
    yield Line(one_line(f"{report['fleet']}{device}: {count} mixes are worth measuring"), "bold")
    if report["alone"]:
        names = ", ".join(report["alone"])
        yield Line(one_line(f"And by themselves, which promises are shares of: {names}."))
    yield Line("")
    if report["mixes"]:
        columns = ("mix", f"NICs of {report['arrivals']} arrivals", "predicted to keep, %")
        rows = [(one["mix"], f"{one['nics']:.2f}", _kept(one)) for one in report["mixes"]]
        yield from grid(columns, rows, right=columns[1:2])
        yield Line("")
    now, then, best = report["nics_now"], report["nics_then"], report["nics_best"]
    yield Line(
        f"{report['arrivals']} arrivals take {now:.1f} NICs with what is known, promises being "
        f"kept with a probability of {_PERCENT * report['sure']:g} %;"
    )
    yield Line(
        f"{then:.1f} if these mixes are measured and do what is predicted, {best:.1f} if all are."
    )


def _kept(one: SuggestedMix) -> str:
    return ", ".join(f"{each['function']} {_PERCENT * each['kept']:.1f}" for each in one["kept"])
