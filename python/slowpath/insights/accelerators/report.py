"""Prints the report of `slowpath insights accelerators` as text or CSV."""

from collections.abc import Iterator

from slowpath.core.printable import csv_line, one_line
from slowpath.core.programs.sources import provenance_lines
from slowpath.core.terminal import Line, first_few, grid
from slowpath.insights.accelerators.documents import (
    Accelerated,
    AcceleratorsReport,
    Alike,
    Unexamined,
)
from slowpath.insights.output import percent

_COLUMNS = (
    *("function", "file", "line", "status", "kind", "algorithm", "parameters"),
    *("inputs", "shortest", "longest", "together", "part_of", "confidence"),
)

_FEW = 4
"""Maximum number of functions that the report names for each reason."""


def accelerators_csv(report: AcceleratorsReport) -> Iterator[str]:
    """Yield the lines of a CSV report: a header, then one line for each function found.

    The functions are those that an accelerator could replace, proved or only likely.
    """
    yield csv_line(_COLUMNS)
    for one in report["proved"]:
        parameters = "; ".join(f"{key}={value}" for key, value in one["parameters"].items())
        counted = (one["inputs"], one["shortest"], one["longest"])
        status = "part" if one["part_of"] is not None else "called" if one["calls"] else "proved"
        yield csv_line(
            (
                *(one["function"], one["file"], one["line"], status, one["kind"]),
                *(one["algorithm"], parameters, *counted, " ".join(one["together"])),
                *(one["part_of"], one["confidence"]),
            )
        )
    for alike in report["alike"]:
        named = (alike["function"], alike["file"], alike["line"], "alike", alike["kind"])
        yield csv_line((*named, *[None] * 7, alike["confidence"]))


def accelerators_text(report: AcceleratorsReport) -> Iterator[Line]:
    """Yield the lines of the report as text.

    Tables list the functions that are proved to compute an algorithm, and those that only look like
    it. The last line names the restrictions of the sandbox in which their code ran.
    """
    proved, alike = report["proved"], report["alike"]
    counts = (
        f"{report['functions']} functions were examined, and {len(proved)} could run on "
        "accelerators"
    )
    yield Line(one_line(f"{report['file']}: {counts}"), "bold")
    if proved:
        yield Line("")
        rows = [(one["function"], _where(one), one["algorithm"], _how(one)) for one in proved]
        yield from grid(("function", "where", "what", "proved by"), rows)
        yield Line("")
        yield from _parameters(proved)
    if alike:
        yield Line("")
        yield Line("Functions similar to those of accelerators, without a proof:", "bold")
        likely: list[tuple[str, ...]] = [
            (
                one["function"],
                _place(one),
                one["kind"],
                percent(one["confidence"], 0),
                one["reason"],
            )
            for one in alike
        ]
        columns = ("function", "where", "looks like", "sure", "reason")
        yield from grid(columns, likely, right=("sure",))
    if report["unexamined"]:
        yield Line("")
        yield Line(one_line(_left_out(report["unexamined"])))
    yield Line("")
    yield Line(_confined(report))
    yield from provenance_lines(report)


def _place(one: Accelerated | Alike) -> str:
    return f"{one['file']}:{one['line']}" if one["line"] else ""


def _where(one: Accelerated) -> str:
    """Return the place of a function as `file:line`.

    For a library function, it is the place of the first call, with the number of further calling
    lines.
    """
    further = len(one["calls"]) - 1
    more = f" and {further} more line{'' if further == 1 else 's'}" if further > 0 else ""
    return f"called in {_place(one)}{more}" if one["calls"] else _place(one)


def _how(one: Accelerated) -> str:
    if one["part_of"] is not None:
        return f"part of {one['part_of']}"
    sizes = (
        f"{one['shortest']} bytes"
        if one["shortest"] == one["longest"]
        else f"{one['shortest']} to {one['longest']} bytes"
    )
    companions = f", with {', '.join(one['together'])}" if one["together"] else ""
    return f"{one['inputs']} inputs of {sizes}{companions}"


def _parameters(proved: list[Accelerated]) -> Iterator[Line]:
    """Yield a line for each algorithm with its parameters, naming the functions that compute it."""
    shared = dict[tuple[str, str], list[str]]()
    for one in proved:
        if one["part_of"] is not None:
            continue
        parameters = ", ".join(f"{key} {value}" for key, value in one["parameters"].items())
        if parameters:
            shared.setdefault((one["algorithm"], parameters), []).append(one["function"])
    for (algorithm, parameters), functions in shared.items():
        yield Line(one_line(f"{', '.join(functions)}: {algorithm}, {parameters}"))


def _left_out(found: list[Unexamined]) -> str:
    """Return a sentence that lists functions that were not fully examined, grouped by reason."""
    reasons = dict[str, list[str]]()
    for one in found:
        reasons.setdefault(one["reason"], []).append(one["function"])
    listed = "; ".join(f"{first_few(names, _FEW)}: {why}" for why, names in reasons.items())
    count = f"{len(found)} function{'' if len(found) == 1 else 's'}"
    return f"Functions that could not be examined fully: {count} (JSON lists all). {listed}."


def _confined(report: AcceleratorsReport) -> str:
    confinement = report["confinement"]
    ways = ["limits of time and memory", "no files"]
    if confinement["network"]:
        ways.append("no network")
    if confinement["system_calls"]:
        ways.append("system calls blocked")
    missing = [] if confinement["system_calls"] else ["system calls"]
    if not confinement["network"] and not confinement["system_calls"]:
        missing.append("the network")
    sentence = (
        f"LLVM {report['llvm']} ran the functions of the file in separate processes "
        f"with {', '.join(ways)}"
    )
    unblocked = (
        f"; this machine could not block access to {' and '.join(missing)}" if missing else ""
    )
    return one_line(f"{sentence}{unblocked}.")
