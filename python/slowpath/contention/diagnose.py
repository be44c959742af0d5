"""Runs the command `slowpath contention diagnose`."""

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from slowpath.contention.columns import ATTRIBUTES as COLUMNS
from slowpath.contention.options import Traffic, quiet_libraries, read_beside, read_traffic
from slowpath.contention.packages import need
from slowpath.core import engine
from slowpath.core.errors import ExitCode, OptionError
from slowpath.core.formats import Reporter
from slowpath.core.inputs import check_output, check_page, write_error, write_text
from slowpath.core.pictures import check_picture
from slowpath.core.values import parse_range

if TYPE_CHECKING:
    from slowpath.contention.bottleneck import Setting, Swept
    from slowpath.contention.documents import Diagnosed, DiagnosedSweep, DiagnosisReport, WhatIf


_POINTS, _MOST_POINTS = 101, 10_000


def run(given: Namespace, reporter: Reporter) -> ExitCode:
    """Run `slowpath contention diagnose`: print the bottleneck of a function and its margin.

    Raises:
        InputError: if a file cannot be read, used or written.
        OptionError: if an option has a wrong value, or does not fit the others.
    """
    if given.traffic is None:
        raise OptionError("--traffic", "is required: flows, size and, with an accelerator, mtbr")
    if given.plot is not None and given.sweep is None:
        raise OptionError("--plot", "draws the curve of a sweep: --sweep says along what")
    check_page(given.html)
    check_picture(given.plot)
    for name, file in (("--html", given.html), ("--plot", given.plot)):
        check_output(name, file, [given.model, *read_beside(given.beside)])
    need()
    traffic = read_traffic(given.traffic)
    swept = None if given.sweep is None else read_sweep(given.sweep)
    with quiet_libraries():
        report = _diagnosed(given, traffic, swept)
    if given.html is not None:
        from slowpath.contention.report_diagnosis import diagnosis_page

        write_text(given.html, diagnosis_page(report))
    if given.plot is not None and report["sweep"] is not None:
        from slowpath.contention.report_diagnosis import draw_diagnosis

        try:
            draw_diagnosis(given.plot, report, report["sweep"])
        except OSError as problem:
            raise write_error(given.plot, problem) from None
    reporter.write(report, warnings=report["warnings"])
    return ExitCode.FINE


def read_sweep(text: str) -> "Swept":
    """Parse the argument of `--sweep`, such as `mtbr=0..1100`.

    Raises:
        OptionError: if the attribute or a value is wrong.
    """
    from slowpath.contention.bottleneck import ATTRIBUTES, WHOLE, Swept

    name, _, limits = (one.strip() for one in text.partition("="))
    attribute = next((one for one in ATTRIBUTES if one == name), None)
    if attribute is None:
        raise OptionError(
            "--sweep", f"{text!r} is not a sweep; write flows=, size= or mtbr=FIRST..LAST[/N]"
        )
    try:
        found = parse_range(f"--sweep {name}", limits, "/", "/")
    except ValueError as problem:
        raise OptionError("--sweep", str(problem)) from None
    first, last, count = float(found.first), float(found.last), float(found.amount or _POINTS)
    whole = attribute in WHOLE
    of = COLUMNS[attribute]
    if not of.least <= first < last <= of.most:
        reason = f"{name} must grow from FIRST to LAST, between {of.least:g} and {of.most:g}"
        raise OptionError("--sweep", reason)
    if whole and not (first.is_integer() and last.is_integer()):
        raise OptionError("--sweep", f"{name} must be a whole number")
    if not (count.is_integer() and 2 <= count <= _MOST_POINTS):  # noqa: PLR2004 - both ends
        raise OptionError("--sweep", f"N must be a whole number from 2 to {_MOST_POINTS}")
    return Swept(attribute, first, last, int(count))


def _diagnosed(given: Namespace, traffic: Traffic, swept: "Swept | None") -> "DiagnosisReport":
    from slowpath.contention.bottleneck import diagnose, sweep

    setting = _setting(given, traffic)
    if swept is not None and swept.attribute == "mtbr" and not setting.target.accelerated:
        raise OptionError(
            "--sweep", f"{given.model} does not use an accelerator, so mtbr has no effect"
        )
    confidence = given.confidence / 100
    (now,) = diagnose([setting], confidence)
    model = setting.target.model
    origin = model.memory.origin
    swept_points = None if swept is None else sweep(setting, swept, confidence)
    return {
        **engine.head("contention diagnose", "diagnosis"),
        "warnings": [*_warnings(given.model, now, swept_points)],
        "function": origin.function,
        "device": origin.device,
        "unit": origin.unit,
        "pattern": model.pattern,
        "beside": [one.file for one in setting.others],
        "traffic": {"flows": traffic.flows, "size": traffic.size, "mtbr": traffic.mtbr},
        "confidence": confidence,
        "now": now,
        "what_if": _changes(given.what_if or [], setting, now["throughput"], confidence),
        "sweep": swept_points,
    }


def _setting(given: Namespace, traffic: Traffic) -> "Setting":
    from slowpath.contention.bottleneck import Setting
    from slowpath.contention.mixes import Kind
    from slowpath.contention.saved import read

    names = read_beside(given.beside)
    files = dict.fromkeys((given.model, *names))
    models = {file: read(file) for file in files}
    for file, model in models.items():
        if traffic.mtbr is None and model.request_time is not None:
            raise OptionError("--traffic", f"{file} uses an accelerator: mtbr is needed")
    kinds = [
        Kind(file, models[file], traffic.flows, traffic.size, traffic.mtbr)
        for file in (given.model, *names)
    ]
    return Setting(kinds[0], tuple(kinds[1:]))


def _changes(
    texts: list[str], setting: "Setting", throughput: float, confidence: float
) -> "list[WhatIf]":
    from slowpath.contention.bottleneck import ChangeError, changed, diagnose, read_change

    try:
        settings = [changed(setting, read_change(text)) for text in texts]
    except ChangeError as problem:
        raise OptionError("--what-if", str(problem)) from None
    found = diagnose(settings, confidence)
    return [
        {"change": text, "gain": one["throughput"] / throughput - 1, "diagnosis": one}
        for text, one in zip(texts, found, strict=True)
    ]


def _warnings(file: str, now: "Diagnosed", sweep: "DiagnosedSweep | None") -> Iterator[str]:
    """Yield warnings about traffic or contention outside the range of the training rows."""
    if now["outside"]:
        names = ", ".join(now["outside"])
        yield f"{file}: the setting is outside the measured range ({names}); its result is a guess"
    points = [] if sweep is None else sweep["points"]
    outside = sum(bool(one["diagnosis"]["outside"]) for one in points)
    if outside:
        yield (
            f"{file}: {outside} of {len(points)} values of the sweep are outside the measured "
            "range; their results are guesses"
        )
