"""Descriptions of calibrated target files."""

import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

from slowpath.bound.default_target import CALIBRATED, calibration
from slowpath.bound.options import check_valid
from slowpath.bound.report_path import labelled
from slowpath.core.engine import identity, targets
from slowpath.core.errors import ExitCode, InputError
from slowpath.core.inputs import read_text
from slowpath.core.printable import json_line, one_line
from slowpath.core.schema.results import USUAL_ENDS
from slowpath.core.terminal import Line, out, out_lines


class Calibration(TypedDict):
    """A target that estimates times."""

    file: str
    """The file, as the user named it."""
    target: str
    """The name of the target."""
    machine: str
    """The machine that was calibrated."""
    date: str
    """The date of its first experiment."""
    clock_hz: int
    """Cycles per second."""
    compiler: str | None
    """Version of clang that compiled the experiments; null where it is not recorded."""
    experiments: int | None
    """Experiments; null in files of older versions, as in the four keys below."""
    precise: int | None
    """Experiments that met the precision that was asked for."""
    checks: int | None
    """Check programs, which the model was not fitted to."""
    check_error: float | None
    """Half of the check programs take their estimate within this share of their time."""
    doubt: str | None
    """The reason against it as the default of a machine, which every estimate states. Null
    where it is good enough, or where that is not recorded."""
    low: float
    """Lower end of intervals, as a share of the estimate."""
    high: float
    """Upper end."""
    calls: int
    """Kinds of calls of the kernel that have a price."""
    models: int
    """Models of components that grow with a parameter."""
    default: bool
    """True where estimates without `--target` use it on this machine."""


def show_calibrations(files: Sequence[str], form: str) -> ExitCode:
    """Show calibrations as text or JSON.

    Raises:
        InputError: when a file cannot be read, or is no target that estimates times.
    """
    found = [read_calibration(file) for file in files]
    if form == "json":
        out(json_line({"slowpath": identity.version(), "calibrations": found}))
        return ExitCode.FINE
    for number, one in enumerate(found):
        if number:
            out("")
        out_lines(lines(one))
    return ExitCode.FINE


def read_calibration(file: str) -> Calibration:
    """Return what a target file says of its calibration.

    Raises:
        InputError: when it cannot be read, or is no target that estimates times.
    """
    text = read_text(file)
    check_valid(targets.described_target(file, text), file)
    described = tomllib.loads(text)
    timing = described.get("timing")
    if timing is None:
        raise InputError(file, "describes a target that estimates no times: it has no [timing]")
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
        "default": described["name"] == CALIBRATED and _is_used(text),
    }


def _is_used(text: str) -> bool:
    """Return whether estimates here use a target: the calibration kept, or the shipped one."""
    return text == (calibration() or targets.target_text(CALIBRATED))


def lines(shown: Calibration) -> Iterator[Line | str]:
    """A calibration for people."""
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
        yield labelled("default", one_line(f"no: estimates use it by --target {shown['file']}"))
    if shown["doubt"] is not None:
        yield labelled("doubt", one_line(f"{shown['doubt']}; every estimate by it says so"))


def _compiler(shown: Calibration) -> str:
    return shown["compiler"] or "an unrecorded compiler"


def _precision(shown: Calibration) -> str:
    if shown["experiments"] is None:
        return "not recorded"
    return f"{shown['precise']} of {shown['experiments']} experiments met the precision asked for"


def _checks(shown: Calibration) -> str:
    if shown["checks"] is None or shown["check_error"] is None:
        return "not recorded"
    return f"half of {shown['checks']} check programs within {shown['check_error']:.1%}"


def _intervals(shown: Calibration) -> str:
    low, high = USUAL_ENDS
    wide = shown["low"] < low or shown["high"] > high
    usual = "wider than usual, by what check programs took" if wide else "the usual ones"
    return f"{shown['low']:.2f} to {shown['high']:.2f} times the estimate: {usual}"
