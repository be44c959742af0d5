"""Describes target files with calibrations, and pipelines of DPDK's software switch.

Both are text files, unlike BPF objects.
"""

import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from slowpath.bounds.default_target import CALIBRATED, calibration, nearest_target
from slowpath.bounds.options import check_valid
from slowpath.bounds.report_path import labelled
from slowpath.core import codes, engine
from slowpath.core.engine import targets
from slowpath.core.engine.p4 import PipelineTable, describe_pipeline
from slowpath.core.errors import ExitCode, InputError, worst
from slowpath.core.formats import Lines, Reporter, json_report
from slowpath.core.inputs import read_text
from slowpath.core.printable import one_line
from slowpath.core.schema.derived import USUAL_ENDS
from slowpath.core.terminal import Line, error, grid
from slowpath.show.documents import (
    Calibration,
    CalibrationDocument,
    PipelineDocument,
    ShownPipeline,
)

# --- target files ---------------------------------------------------------------------------------


def show_calibrations(files: Sequence[str], reporter: Reporter) -> ExitCode:
    """Print descriptions of the calibrations in target files.

    A calibration consists of the times that `slowpath calibrate` measured on a machine.

    Raises:
        InputError: if a file cannot be read, or is not a target with time estimates.
    """
    reporter.write([read_calibration(file) for file in files])
    return ExitCode.FINE


def calibrations_json(found: list[Calibration]) -> Lines:
    """Return the JSON document of all calibrations."""
    document: CalibrationDocument = {**engine.head("show", "calibration"), "results": found}
    return json_report(document)


def calibrations_text(found: Sequence[Calibration]) -> Iterator[Line | str]:
    """Yield the text report of each calibration."""
    for number, one in enumerate(found):
        if number:
            yield ""
        yield from _calibration_lines(one)


def read_calibration(file: str) -> Calibration:
    """Read a target file, and describe its calibration.

    Raises:
        InputError: if the file cannot be read, or is not a target with time estimates.
    """
    text = read_text(file)
    check_valid(targets.described_target(file, text), file)
    described = tomllib.loads(text)
    timing = described.get("timing")
    if timing is None:
        raise InputError(
            codes.TARGET_WITHOUT_TIMES,
            file,
            ("describes a target without the table [timing], so it does not estimate times"),
        )
    known: dict[str, Any] = timing.get("calibration", {})
    return {
        "file": file,
        "target": described["name"],
        "machine": timing["machine"],
        "date": timing["date"],
        "clock_hz": timing["clock_hz"],
        "compiler": known.get("compiler"),
        "experiments": known.get("experiments"),
        "precise": known.get("precise"),
        "checks": known.get("checks"),
        "check_error": known.get("check_error"),
        "doubt": known.get("doubt"),
        "low": timing["error"]["low"],
        "high": timing["error"]["high"],
        "calls": len(timing["call"]),
        "models": len(timing.get("model", {})),
        "default": _is_used(described["name"], text),
    }


def _is_used(name: str, text: str) -> bool:
    """Return true if analyses on this machine use this target by default.

    It is then either saved on this machine, or the shipped target for the nearest CPU. `text` is
    the content of the target file.
    """
    saved = calibration()
    if saved is not None:
        return name == CALIBRATED and text == saved
    return name == nearest_target().target and text == targets.target_text(name)


def _calibration_lines(shown: Calibration) -> Iterator[Line | str]:
    """Yield the lines of a text report about a calibration."""
    yield one_line(f"{shown['file']} · calibration of the target {shown['target']}")
    yield ""
    yield labelled("machine", one_line(shown["machine"]))
    yield labelled("measured", one_line(f"{shown['date']}, compiled by {_compiler(shown)}"))
    yield labelled("precision", _precision(shown))
    yield labelled("checks", _checks(shown))
    yield labelled("intervals", _intervals(shown))
    yield labelled("knows", f"{shown['calls']} kinds of calls, {shown['models']} models of growth")
    if shown["default"]:
        yield labelled("default", "yes: estimates without --target use it on this machine")
    else:
        yield labelled("default", one_line(f"no: estimates use it with --target {shown['file']}"))
    if shown["doubt"] is not None:
        yield labelled(
            "doubt",
            one_line(f"{shown['doubt']}; every estimate with this calibration has a note"),
        )


def _compiler(shown: Calibration) -> str:
    return shown["compiler"] or "an unrecorded compiler"


def _precision(shown: Calibration) -> str:
    if shown["experiments"] is None:
        return "not recorded"
    return f"{shown['precise']} of {shown['experiments']} experiments met the requested precision"


def _checks(shown: Calibration) -> str:
    if shown["checks"] is None or shown["check_error"] is None:
        return "not recorded"
    return f"half of {shown['checks']} check programs within {shown['check_error']:.1%}"


def _intervals(shown: Calibration) -> str:
    low, high = USUAL_ENDS
    wide = shown["low"] < low or shown["high"] > high
    usual = (
        "wider than usual: they cover 90 % of the programs compared with the calibration"
        if wide
        else "as usual"
    )
    return f"{shown['low']:.2f} to {shown['high']:.2f} times the estimate: {usual}"


# --- pipelines ------------------------------------------------------------------------------------

_TABLES = ("table", "kind", "key", "actions", "default action", "size")
_ACTIONS = ("action", "data", "instructions")


def show_pipelines(files: Sequence[str], reporter: Reporter) -> ExitCode:
    """Print descriptions of pipelines; a failure of one does not stop the others."""
    found, exits = list[ShownPipeline](), list[ExitCode]()
    for file in files:
        try:
            found.append(read_pipeline(file))
            exits.append(ExitCode.FINE)
        except InputError as problem:
            error(problem.coded.code, file, problem.reason)
            found.append(_failed(file, problem))
            exits.append(ExitCode.INPUT)
    reporter.write(found)
    return worst(exits)


def read_pipeline(file: str) -> ShownPipeline:
    """Read a pipeline of DPDK's software switch, and describe its content.

    Raises:
        InputError: if the file cannot be read, or is not a valid pipeline.
    """
    return {"file": file, **describe_pipeline(file, read_text(file)), "error": None, "code": None}


def _failed(file: str, problem: InputError) -> ShownPipeline:
    return {
        "file": file,
        "instructions": 0,
        "headers": [],
        "tables": [],
        "actions": [],
        "error": str(problem.coded),
        "code": problem.coded.code,
    }


def pipelines_json(found: list[ShownPipeline]) -> Lines:
    """Return the JSON document of all pipelines."""
    document: PipelineDocument = {**engine.head("show", "pipeline"), "results": found}
    return json_report(document)


def pipelines_text(found: Sequence[ShownPipeline]) -> Iterator[Line | str]:
    """Yield the text report of each pipeline."""
    readable = [one for one in found if one["error"] is None]
    for number, one in enumerate(readable):
        if number:
            yield ""
        yield from _pipeline_lines(one)


def _pipeline_lines(shown: ShownPipeline) -> Iterator[Line]:
    count = shown["instructions"]
    yield Line(f"{one_line(shown['file'])}  (instructions: {count}, without actions)", "bold")
    if shown["headers"]:
        yield Line(f"  headers: {one_line(', '.join(shown['headers']))}")
    if shown["tables"]:
        yield from grid(_TABLES, [_table_row(table) for table in shown["tables"]])
    if shown["actions"]:
        yield Line("")
        rows = [
            (one["name"], one["data"] or "-", str(one["instructions"])) for one in shown["actions"]
        ]
        yield from grid(_ACTIONS, rows)


def _table_row(table: PipelineTable) -> tuple[str, ...]:
    key = ", ".join(f"{one['field']} {one['match']}" for one in table["key"])
    actions = ", ".join(table["actions"])
    others = (table["default"] or "-", str(table["size"]))
    return (table["name"], table["kind"], key or "-", actions or "-", *others)
