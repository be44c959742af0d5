"""Runs the command `slowpath contention diagnose`."""

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from slowpath.contention.columns import ATTRIBUTES as COLUMNS
from slowpath.contention.options import Traffic, quiet_libraries, read_beside, read_traffic
from slowpath.core import codes, engine
from slowpath.core.errors import Coded, ExitCode, OptionError
from slowpath.core.extras import need_contention
from slowpath.core.formats import Reporter, coded, codes_of
from slowpath.core.inputs import check_output, check_page, write_error, write_text
from slowpath.core.pictures import check_picture
from slowpath.core.quantities import parse_range

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
        raise OptionError(
            codes.MISSING_ARGUMENT,
            "--traffic",
            "the traffic is required; write flows=N,size=BYTES and, with an accelerator, mtbr=N",
        )
    if given.plot is not None and given.sweep is None:
        raise OptionError(
            codes.OPTION_NEEDS_OPTION, "--plot", "a plot shows the curve of a sweep; add --sweep"
        )
    check_page(given.html)
    check_picture(given.plot)
    for name, file in (("--html", given.html), ("--plot", given.plot)):
        check_output(name, file, [given.model, *read_beside(given.beside)])
    need_contention()
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
    reporter.write(report, warnings=coded(report["warnings"], report["warning_codes"]))
    return ExitCode.FINE


def read_sweep(text: str) -> "Swept":
    """Parse the argument of `--sweep`, such as `mtbr=0..1100`: a traffic attribute and its range.

    Raises:
        OptionError: if the attribute or a value is wrong.
    """
    from slowpath.contention.bottleneck import ATTRIBUTES, WHOLE, Swept

    name, _, limits = (one.strip() for one in text.partition("="))
    attribute = next((one for one in ATTRIBUTES if one == name), None)
    if attribute is None:
        raise OptionError(
            codes.INVALID_VALUE,
            "--sweep",
            f"{text!r} is not a sweep; write flows=, size= or mtbr=FIRST..LAST[/N]",
        )
    try:
        found = parse_range(f"--sweep {name}", limits, "/", "/")
    except ValueError as problem:
        raise OptionError(codes.INVALID_VALUE, "--sweep", str(problem)) from None
    first, last, count = float(found.first), float(found.last), float(found.amount or _POINTS)
    whole = attribute in WHOLE
    of = COLUMNS[attribute]
    if not of.least <= first < last <= of.most:
        reason = (
            f"the sweep of {name} must grow from FIRST to LAST, between {of.least:g} and "
            f"{of.most:g}"
        )
        raise OptionError(codes.INVALID_VALUE, "--sweep", reason)
    if whole and not (first.is_integer() and last.is_integer()):
        raise OptionError(
            codes.INVALID_VALUE,
            "--sweep",
            f"both ends of the sweep of {name} must be whole numbers",
        )
    if not (count.is_integer() and 2 <= count <= _MOST_POINTS):  # noqa: PLR2004 - both ends
        raise OptionError(
            codes.INVALID_VALUE,
            "--sweep",
            f"the number of values N must be a whole number from 2 to {_MOST_POINTS}",
        )
    return Swept(attribute, first, last, int(count))


def _diagnosed(given: Namespace, traffic: Traffic, swept: "Swept | None") -> "DiagnosisReport":
    from slowpath.contention.bottleneck import diagnose, sweep

    setting = _setting(given, traffic)
    if swept is not None and swept.attribute == "mtbr" and not setting.target.accelerated:
        raise OptionError(
            codes.TRAFFIC_INVALID,
            "--sweep",
            f"mtbr has no effect, because the model {given.model} has no accelerator",
        )
    confidence = given.confidence / 100
    (now,) = diagnose([setting], confidence)
    model = setting.target.model
    origin = model.memory.origin
    swept_points = None if swept is None else sweep(setting, swept, confidence)
    warnings = [*_guess_warnings(setting, now), *_sweep_warnings(setting, swept_points)]
    return {
        **engine.head("contention diagnose", "diagnosis"),
        "warnings": [*warnings],
        "warning_codes": codes_of(warnings),
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
            raise OptionError(
                codes.TRAFFIC_INVALID,
                "--traffic",
                f"mtbr is needed, because the model {file} has an accelerator; add mtbr=N",
            )
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
        raise OptionError(codes.CHANGE_NOT_POSSIBLE, "--what-if", str(problem)) from None
    found = diagnose(settings, confidence)
    return [
        {"change": text, "gain": one["throughput"] / throughput - 1, "diagnosis": one}
        for text, one in zip(texts, found, strict=True)
    ]


def _guess_warnings(setting: "Setting", now: "Diagnosed") -> Iterator[Coded]:
    """Yield a warning if the diagnosed setting is outside the range of the training rows.

    `now` is its diagnosis.
    """
    if now["outside"]:
        from slowpath.contention.model import described

        shown = described(now["outside"], _inputs(setting), setting.target.model)
        yield Coded(
            codes.EXTRAPOLATED,
            f"{setting.target.file}: the result is a guess, because inputs are outside the "
            f"measured range: {shown}",
        )


def _sweep_warnings(setting: "Setting", sweep: "DiagnosedSweep | None") -> Iterator[Coded]:
    """Yield a warning if values of a sweep are outside the range of the training rows."""
    from slowpath.contention.bottleneck import with_attribute
    from slowpath.contention.model import described

    points = [] if sweep is None else sweep["points"]
    outside = [one for one in points if one["diagnosis"]["outside"]]
    if sweep is None or not outside:
        return
    settings = [with_attribute(setting, sweep["attribute"], one["value"]) for one in outside]
    found = [dict.fromkeys(one["diagnosis"]["outside"]) for one in outside]
    inputs = [_inputs(one) for one in settings]
    values = dict[str, list[float]]()
    for names, of in zip(found, inputs, strict=True):
        for name in names:
            values.setdefault(name, []).extend(of.get(name, ()))
    yield Coded(
        codes.EXTRAPOLATED,
        f"{setting.target.file}: {len(outside)} of {len(points)} results of the sweep are guesses, "
        "because inputs are outside the measured range: "
        f"{described(values, values, setting.target.model)}",
    )


def _inputs(setting: "Setting") -> dict[str, list[float]]:
    """Return the inputs of the target function's model by column: traffic and competitors."""
    from slowpath.contention.columns import MTBR
    from slowpath.contention.prediction import query_with_competitors

    target = setting.target
    others = [(other.file, other.model) for other in setting.others]
    traffic = (target.flows, target.size, target.mtbr)
    query = query_with_competitors((target.file, target.model), others, traffic)
    found = {name: [float(values[0])] for name, values in query.columns.items()}
    return found if target.mtbr is None else found | {MTBR.name: [target.mtbr]}
