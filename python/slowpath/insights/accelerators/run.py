"""Runs the command `slowpath insights accelerators`."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from time import monotonic
from typing import Any

from slowpath.core import engine
from slowpath.core.errors import ExitCode
from slowpath.core.formats import Reporter
from slowpath.core.jobs import Message, Stopping, heeding_signals
from slowpath.core.programs.sources import provenance
from slowpath.insights.accelerators.documents import (
    Accelerated,
    AcceleratorsReport,
    Alike,
    Called,
    Unexamined,
)
from slowpath.insights.options import read_work
from slowpath.insights.output import stop_warnings
from slowpath.insights.source.sources import Source, is_source
from slowpath.insights.source.unit import CompiledUnit, UnitWorker, require_llvmlite


def run(given: Namespace, reporter: Reporter) -> ExitCode:
    """Report all functions of a source file that an accelerator could replace.

    Raises:
        InputError: if the file cannot be read, compiled or used.
        OptionError: if an option makes no sense.
        UnavailableError: if llvmlite is missing.
    """
    require_llvmlite()
    work = read_work(given)

    examine = partial(examine_unit, CompiledUnit(work.source), given.entry)
    with (
        heeding_signals() as stopping,
        UnitWorker(given.file, work.memory, stopping, examine) as worker,
    ):
        worker.start(examine, work.seconds)
        report = examined(work.source, worker, work.seconds)
    reporter.write(report, warnings=stop_warnings(given.file, report["stopped"]))
    return ExitCode.FINE


_NO_DEADLINE = 1e9
"""Time limit in seconds if the user sets no deadline."""
_MIN_CONFIDENCE = 0.5
"""Minimum confidence at which a function without a proof is reported."""


def examined(source: Source, worker: UnitWorker, seconds: float | None) -> AcceleratorsReport:
    """Wait for `examine_unit`, which already runs in the worker process, and return its report.

    Raises:
        InputError: if the file cannot be read, or the entry does not exist or cannot be followed.
    """
    report: AcceleratorsReport = {
        **engine.head("insights accelerators", "accelerators"),
        **provenance(compiled=is_source(source.file)),
        "file": source.file,
        "llvm": "",
        "functions": 0,
        "proved": [],
        "alike": [],
        "unexamined": [],
        "confinement": {"network": False, "system_calls": False},
        "stopped": None,
    }
    order = dict[str, int]()

    def receive(message: Message) -> None:
        match message:
            case ("begun", llvm, network, calls, names):
                report["llvm"] = llvm
                report["functions"] = len(names)
                report["confinement"] = {"network": network, "system_calls": calls}
                order.update({name: at for at, name in enumerate(names)})
            case ("proved", record):
                report["proved"].append(record)
            case ("called", symbol, changes):
                for record in report["proved"]:
                    if record["symbol"] == symbol:
                        record.update(changes)
            case ("alike", record):
                report["alike"].append(record)
            case ("unexamined", record):
                report["unexamined"].append(record)
            case ("stopped", reason):  # the process ended itself in time
                report["stopped"] = reason

    stopped = worker.wait(seconds, receive)
    report["stopped"] = stopped or report["stopped"]
    report["proved"].sort(key=lambda one: order.get(one["symbol"], 0))
    report["alike"].sort(key=lambda one: -one["confidence"])
    return report


def examine_unit(
    unit: CompiledUnit,
    entry: str | None,
    seconds: float | None,
    stopping: Stopping,
    begun: Sequence[str] = (),
) -> Iterator[Message]:
    """Find the functions of a unit that accelerators could replace, in the worker process.

    Only functions that `entry` reaches are examined. Without an entry, these are the functions
    that `begun` reaches: symbols of functions that received packets of the trace.
    """
    from slowpath.insights.accelerators.candidates import keep_inlined, without_inlined
    from slowpath.insights.accelerators.classifier import classify
    from slowpath.insights.accelerators.identify import Identification
    from slowpath.insights.accelerators.library_calls import final_changes
    from slowpath.insights.source.modules import llvm_version
    from slowpath.insights.trials import can_refuse_calls, leave_network

    until = monotonic() + (_NO_DEADLINE if seconds is None else seconds)
    network = leave_network()
    alone = unit.variant(keep_inlined, crc_loops=False)
    root = alone.find_entry(entry)
    identification = Identification(alone, until, begun if root is None else [root])
    yield "begun", llvm_version(), network, can_refuse_calls(), identification.names
    likely = {name: classify(identification.functions[name]) for name in identification.own}
    proved = dict[str, str | None]()
    for found in identification.run():
        name = found["function"]
        if name in proved:
            continue
        proved[name] = found["part_of"]
        kind, confidence = likely.get(name, ("none", 0.0))
        sure = confidence if kind == found["kind"] else None
        yield "proved", dict(_accelerated(identification, found, sure))
        if stopping.asked:
            yield ("stopped", "interrupted")
            return
    functions, headers = identification.functions, identification.headers
    for symbol, changes in final_changes(functions, identification.uses, proved, headers):
        yield "called", symbol, changes
    suspected = [
        name
        for name, (kind, confidence) in likely.items()
        if name not in proved and kind != "none" and confidence >= _MIN_CONFIDENCE
    ]
    header_symbols = {one for use in identification.uses for one in use.symbols}
    alike = set[str]()
    for name in suspected:
        # A loop that was inlined from a proved function is reported with the proved function. A
        # loop that was inlined from a header does not belong to the source.
        own = without_inlined(identification.functions[name], alone.metadata, proved.keys())
        if own is None or without_inlined(own, alone.metadata, header_symbols) is None:
            continue
        kind, confidence = likely[name]
        if own is not identification.functions[name]:
            kind, confidence = classify(own)
        if kind != "none" and confidence >= _MIN_CONFIDENCE:
            alike.add(name)
            yield "alike", dict(_alike(identification, name, kind, confidence))
    for name, reason in identification.incomplete():
        if name not in alike:
            yield "unexamined", dict(_unexamined(identification, name, reason))
    if monotonic() >= until:  # the deadline has passed, but nobody has ended this process
        yield ("stopped", "deadline")


def _accelerated(
    identification: Any,  # noqa: ANN401
    found: dict[str, Any],
    confidence: float | None,
) -> Accelerated:
    function = identification.functions[found["function"]]
    part = found["part_of"]
    shown = identification.functions
    file, line, calls = _place(identification, function.name)
    return {
        "function": function.shown,
        "symbol": function.name,
        "file": file,
        "line": line,
        "calls": calls,
        "kind": found["kind"],
        "algorithm": found["algorithm"],
        "parameters": found["parameters"],
        "inputs": found["inputs"],
        "shortest": found["lengths"][0],
        "longest": found["lengths"][1],
        "together": [shown[one].shown for one in found["together"]],
        "part_of": None if part is None else shown[part].shown,
        "confidence": None if confidence is None else round(confidence, 3),
    }


def _alike(identification: Any, name: str, kind: Any, confidence: float) -> Alike:  # noqa: ANN401
    function = identification.functions[name]
    return {
        "function": function.shown,
        "symbol": function.name,
        "file": function.line.file if function.line else "",
        "line": function.line.line if function.line else 0,
        "kind": kind,
        "confidence": round(confidence, 3),
        "reason": identification.why(name),
    }


def _unexamined(identification: Any, name: str, reason: str) -> Unexamined:  # noqa: ANN401
    function = identification.functions[name]
    file, line, calls = _place(identification, name)
    return {
        "function": function.shown,
        "symbol": function.name,
        "file": file,
        "line": line,
        "calls": calls,
        "reason": reason,
    }


def _place(identification: Any, name: str) -> tuple[str, int, list[Called]]:  # noqa: ANN401
    """Return a function's file, its line, and the source lines that call it.

    A function of slowpath's headers has the file and line of its first call. For other functions,
    the list of calls is empty.
    """
    from slowpath.insights.accelerators.library_calls import call_lines

    if name in identification.headers:
        calls = call_lines(identification.functions, identification.uses, name)
        if calls:
            return calls[0]["file"], calls[0]["line"], calls
    return *(identification.functions[name].line or ("", 0)), []
