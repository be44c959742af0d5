"""Advises to replace functions by accelerators of the SmartNIC, called engines.

`slowpath insights accelerators` finds the functions; this module adds the effect of replacing them.

The effect is the number of LLVM instructions that a call of the engine would replace, including
callees that no other function calls. Instructions of the SmartNIC are given, too. The size of the
remaining code on the SmartNIC is unknown until it is compiled.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.core.quantities import significant
from slowpath.core.terminal import first_few
from slowpath.insights.accelerators.documents import Accelerated, Alike, Called
from slowpath.insights.accelerators.library_calls import LibraryUse, credited_function
from slowpath.insights.advice.advice import (
    Advice,
    Certainty,
    Evidence,
    Findings,
    Gap,
    Traced,
    instructions,
)
from slowpath.insights.advice.statics import UnknownCall
from slowpath.insights.blocks.traced import in_llvm
from slowpath.insights.output import percent, quantity, rounded
from slowpath.insights.source.calls import dominated_by, reachable_from

_ALL_CALLS = 1 - 1e-6
"""Share of counted calls above which all calls count as counted, because counts are rounded."""
_Runs = Mapping[tuple[str, int], float]
"""Runs per packet, by function symbol and index of a block."""


class Part(NamedTuple):
    """The work per packet of a function, or of its calls in one source line."""

    instructions: float
    """LLVM instructions per packet."""
    cycles: float
    """Cycles per packet: card instructions if they could be counted, else LLVM instructions."""
    shared: bool = False
    """True if calls in several lines were counted together; the count is then divided equally."""


def of_function(evidence: Evidence, symbol: str, line: int) -> Part | None:
    """Return the work per packet of a function, including callees that no other function calls.

    `symbol` is the function's symbol, and `line` its line in the source. Return None without a
    trace. Return None as well if the function was inlined without debug information; `line` is 0
    then.
    """
    traced = evidence.traced
    if traced is None:
        return None
    statics = evidence.statics
    symbols = dominated_by(statics.calls, symbol)
    own = in_llvm(traced.counts, "").instructions(symbols)
    here = [use for use in statics.uses if use.caller not in symbols and symbols & _inlined(use)]
    ran = any(one["symbol"] in symbols for one in traced.counts["blocks"])
    unknown = not line or symbol in statics.inlined or symbol not in statics.calls
    if unknown and not here and not ran:
        return None
    llvm = own + _executed(here, _runs(traced))
    cycles = instructions(traced, symbols) if traced.executed.on_card else llvm
    others = (use for use in statics.uses if use.caller in symbols and use.symbols)
    return _with_calls(
        evidence, traced, [use for use in others if use.symbols[-1] not in symbols], (llvm, cycles)
    )


def at_line(evidence: Evidence, symbol: str, file: str, line: int) -> Part | None:
    """Return the work per packet that a header function does when one source line calls it.

    `symbol` is the header function; `file` and `line` are the place of the call. Return None if no
    trace was run, so that counts are missing.
    """
    traced = evidence.traced
    if traced is None:
        return None
    runs, proved = _runs(traced), {one["symbol"] for one in evidence.accelerators["proved"]}
    uses = [use for use in evidence.statics.uses if symbol in use.symbols]
    here = [
        use
        for use in uses
        if (use.file, use.line) == (file, line) and credited_function(use, proved) == symbol
    ]
    llvm = _executed((use for use in here if symbol in _inlined(use)), runs)
    everywhere = _executed((use for use in uses if symbol in _inlined(use)), runs)
    cycles = llvm
    if traced.executed.on_card and everywhere:
        cycles = instructions(traced, frozenset({symbol})) * llvm / everywhere
    return _with_calls(evidence, traced, here, (llvm, cycles))


def _with_calls(
    evidence: Evidence, traced: Traced, uses: Sequence[LibraryUse], own: tuple[float, float]
) -> Part:
    """Return the work of code per packet, including the work of the header functions it calls.

    `own` has the instructions and cycles of the code itself, and `uses` are its uses of header
    functions. If the code makes a third of all calls of a header function, it is charged with a
    third of that function's work.
    """
    llvm, cycles = own
    runs, shared = _runs(traced), False
    for called in {use.symbols[-1] for use in uses if use.calls}:
        symbols = dominated_by(evidence.statics.calls, called)
        calls = [use for use in uses if use.calls and use.symbols[-1] == called]
        counted = _counted_share(traced, called, calls)
        share = _share(traced, called, _executed(calls, runs)) if counted is None else counted
        llvm += share * in_llvm(traced.counts, "").instructions(symbols)
        cycles += share * instructions(traced, symbols)
        shared |= counted is None and 0 < share < 1
    return Part(llvm, cycles, shared)


def _counted_share(traced: Traced, symbol: str, uses: Sequence[LibraryUse]) -> float | None:
    """Return the share (0 to 1) of a header function's instructions that ran in calls from `uses`.

    `symbol` is the header function. Return None if its calls were not counted separately by source
    line.
    """
    rows = [one for one in traced.counts["calls"] if one["symbol"] == symbol]
    total = sum(one["instructions"] for one in rows)
    if not total:
        return None
    lines = {(use.caller, use.file, use.line) for use in uses}
    here = (one for one in rows if (one["caller_symbol"], one["file"], one["line"]) in lines)
    return sum(one["instructions"] for one in here) / total


def _share(traced: Traced, symbol: str, calls: float) -> float:
    """Return the share (0 to 1) of all calls of the function `symbol` that some callers make.

    `calls` is the number of calls per packet that these callers make.
    """
    packets = traced.counts["traffic"]["packets"]
    counted = (one["calls"] for one in traced.counts["functions"] if one["symbol"] == symbol)
    total = sum(counted) / packets
    return 0.0 if not total else 1.0 if calls >= _ALL_CALLS * total else calls / total


def _runs(traced: Traced) -> _Runs:
    return {(one["symbol"], one["number"]): one["per_packet"] for one in traced.counts["blocks"]}


def _executed(uses: Iterable[LibraryUse], runs: _Runs) -> float:
    """Return the number of LLVM instructions per packet in inlined code of header functions.

    `uses` are the places of the inlined code, and `runs` has the number of runs of each block per
    packet.
    """
    return sum(use.instructions * runs.get((use.caller, use.block), 0.0) for use in uses)


def _inlined(use: LibraryUse) -> frozenset[str]:
    """Return the symbols of all inlined functions whose code contains the instructions of `use`."""
    return frozenset((*use.within, *(use.symbols[:-1] if use.calls else use.symbols)))


_TABLE = " table"


def is_table(one: Accelerated) -> bool:
    """Return true if a function fills a lookup table, such as that of a CRC.

    An engine needs no table, so the function can be removed.
    """
    return one["algorithm"].endswith(_TABLE)


def result_of_another(evidence: Evidence, one: Accelerated) -> bool:
    """Return true if another function computes the result, and `one` only stores it in memory.

    The other function is proved to compute the same algorithm; `one` calls it, or runs after it.
    There is no separate advice on `one` then.
    """
    if not is_table(one) and "result" not in one["parameters"]:
        return False
    statics = evidence.statics
    inside = reachable_from(statics.calls, [one["symbol"]]) - {one["symbol"]}
    return any(
        (other["symbol"] in inside or other["function"] in one["together"])
        and other["symbol"] != one["symbol"]
        and (other["algorithm"], other["parameters"]) == (one["algorithm"], one["parameters"])
        for other in evidence.accelerators["proved"]
    )


def is_slight(evidence: Evidence, one: Alike) -> bool:
    """Return true if an unproved function does too little work to be worth advice.

    `one` looks like a function for an engine. It does too little work if it and its unproved
    callees have less than a dozen bit operations, none of them in a loop. With a trace, it also
    does if proved functions do at least half of its work.
    """
    statics, symbol = evidence.statics, one["symbol"]
    if symbol not in statics.calls:
        return False
    proved = [each for each in evidence.accelerators["proved"] if each["symbol"] != symbol]
    known = {each["symbol"] for each in proved}
    unproved_calls = {name: [] if name in known else calls for name, calls in statics.calls.items()}
    inside = reachable_from(unproved_calls, [symbol])
    if not (inside - known) & set(statics.substantial):
        return True
    part = of_function(evidence, symbol, one["line"])
    if part is None or not part.instructions:
        return False
    alone = dominated_by(statics.calls, symbol)
    proved_work = 0.0
    for each in proved:
        if each["part_of"] is not None:
            continue
        lines = {
            (use.file, use.line)
            for use in statics.uses
            if use.caller in alone and each["symbol"] in use.symbols
        }
        parts = [at_line(evidence, each["symbol"], *line) for line in lines]
        if each["symbol"] in alone and not each["calls"]:
            parts.append(of_function(evidence, each["symbol"], each["line"]))
        proved_work += sum(one.instructions for one in parts if one is not None)
    return 2 * proved_work >= part.instructions


_FEW = 4
"""Maximum number of functions or lines to list."""
_UNIT = "LLVM instructions"
_NAMES = {"crc": "CRC", "lpm": "lookup", "checksum": "checksum", "hash": "hash"}
_UNREACHED = "; no packet of the trace reached this code"
_ENGINE = ". The card may lack such an engine. The numbers do not include the time of the engine"
_STANDS = ". slowpath tested the function in its own headers, which replace the library"
_EQUAL_CALLS = "all calls of the function are assumed to cost the same; the match is proved "


def accelerating(evidence: Evidence) -> Findings:
    """Yield advice for each function that an engine of the SmartNIC could replace.

    The function is proved to compute the algorithm of the engine, or only looks like it. Advice on
    a library function is given for each line of the source that calls it.
    """
    report = evidence.accelerators
    for one in report["proved"]:
        if one["part_of"] is not None or result_of_another(evidence, one):
            continue
        if not one["calls"]:
            yield _proved(evidence, one)
        for place in one["calls"]:
            yield _called(evidence, one, place)
    for alike in report["alike"]:
        if not is_slight(evidence, alike):
            yield _alike(evidence, alike)
    yield from _gaps(evidence)
    if report["stopped"] is not None:
        why = f"the search stopped before all functions were examined ({report['stopped']})"
        yield Gap("accelerators for all functions", why, "allow more time with --deadline")


def _gaps(evidence: Evidence) -> Findings:
    """Yield the reasons why advice on accelerators may be incomplete.

    Some functions were not examined, or a call through a pointer has an unknown target.
    """
    unexamined = evidence.accelerators["unexamined"]
    if unexamined:
        reasons = dict[str, list[str]]()
        for one in unexamined:
            place = f" ({one['file']}:{one['line']})" if one["line"] else ""
            reasons.setdefault(one["reason"], []).append(f"{one['function']}{place}")
        reasons_text = "; ".join(
            f"{first_few(names, _FEW)}: {why}" for why, names in reasons.items()
        )
        subject = "one function" if len(unexamined) == 1 else f"{len(unexamined)} functions"
        yield Gap(f"accelerators for {subject}", reasons_text, "")
    places = dict.fromkeys(f"{one.file}:{one.line}" for one in _unseen_calls(evidence))
    if places:
        yield Gap(
            f"accelerators for calls through pointers in {first_few(list(places), _FEW)}",
            "the source names no variable with a function of this type",
            "give a trace that reaches the call, with --pcap",
        )


def _unseen_calls(evidence: Evidence) -> Iterator[UnknownCall]:
    """Return the calls through pointers with unknown target that no packet of the trace reached."""
    counted = () if evidence.traced is None else evidence.traced.counts["blocks"]
    ran = {(one["symbol"], one["number"]) for one in counted if one["per_packet"]}
    return (one for one in evidence.statics.unknown if (one.symbol, one.block) not in ran)


def _proved(evidence: Evidence, one: Accelerated) -> Advice:
    part = of_function(evidence, one["symbol"], one["line"])
    title, does = f"Use the {_engine(one)} engine for {one['function']}", "computes"
    if is_table(one):
        does = "fills a"
        title = f"Remove {one['function']}: a {_engine(one)} engine needs no table"
    return Advice(
        "accelerator",
        title,
        one["function"],
        one["file"],
        one["line"],
        f"the function {does} {_computed(one)}{_on_card(evidence, part)}{_by_line(evidence, one)}",
        *_effect(part),
        *_certain(part, f"{_agreed(one)}{_ENGINE}"),
    )


def _by_line(evidence: Evidence, one: Accelerated) -> str:
    """Return a text with the LLVM instructions per packet for each line that calls a function.

    The text is empty if calls were not counted by line.
    """
    traced = evidence.traced
    calls = () if traced is None else traced.counts["calls"]
    rows = [
        f"{quantity(rounded(call['per_packet'], 6), 'LLVM instruction')} in line {call['line']}"
        for call in calls
        if call["symbol"] == one["symbol"]
    ]
    return f"; a packet takes {' and '.join(rows)}" if rows else ""


def _called(evidence: Evidence, one: Accelerated, place: Called) -> Advice:
    """Return advice to replace the library function `one` where the source calls it.

    `place` is the line that calls the function, directly or through another library function.
    """
    part = at_line(evidence, one["symbol"], place["file"], place["line"])
    name, function = place["name"], one["function"]
    itself = name == function
    which = "which" if itself else f"which calls {function}, which"
    return Advice(
        "accelerator",
        f"Use the {_engine(one)} engine for {name if itself else f'{function} in {name}'}",
        name,
        place["file"],
        place["line"],
        f"{place['caller']} calls {name} here, {which} computes {_computed(one)}"
        f"{_on_card(evidence, part)}",
        *_effect(part),
        *_certain(part, f"{_agreed(one)}{_STANDS}{_ENGINE}"),
    )


def _engine(one: Accelerated | Alike) -> str:
    return _NAMES.get(one["kind"], one["kind"])


def _computed(one: Accelerated) -> str:
    parameters = ", ".join(f"{key} {value}" for key, value in one["parameters"].items())
    return f"{one['algorithm']}{f' ({parameters})' if parameters else ''}"


def _agreed(one: Accelerated) -> str:
    lengths = f"of {quantity(one['shortest'], 'byte')}"
    if one["shortest"] < one["longest"]:
        lengths = f"of {one['shortest']:,} to {quantity(one['longest'], 'byte')}"
    tried = f"on {one['inputs']:,} random inputs {lengths}"
    return f"by execution {tried}: all results agreed with the reference"


def _certain(part: Part | None, why: str) -> tuple[Certainty, str]:
    """Return the certainty of advice on an engine, and a text that explains it.

    The certainty is only an assumption if `part` divides counts equally among calls. `why` explains
    a proved match.
    """
    if part is not None and part.shared:
        return "assumption", f"{_EQUAL_CALLS}{why}"
    return "proved", why


def _effect(part: Part | None) -> tuple[float | None, float | None, str, float | None]:
    """Return the fields of an `Advice` that describe its effect.

    These are instructions before and after the change, their unit, and the saved cycles. The
    numbers are None if `part` is None, because the work of the code is unknown.
    """
    if part is None:
        return None, None, _UNIT, None
    return part.instructions, 0.0, _UNIT, part.cycles


def _on_card(evidence: Evidence, part: Part | None) -> str:
    if part is None or evidence.traced is None:
        return ""
    if not part.instructions:
        return _UNREACHED
    if not evidence.traced.executed.on_card:
        return ""
    if not part.cycles:
        return "; its instructions on the card are not counted"
    return f"; it takes {significant(part.cycles)} of the card's instructions"


def _alike(evidence: Evidence, one: Alike) -> Advice:
    sure = (
        f"the match is not proved; the classifier gives it {percent(one['confidence'], 0)} "
        "confidence"
    )
    part = of_function(evidence, one["symbol"], one["line"])
    idle = part is not None and not part.instructions
    instructions_text = ""
    if part is not None and part.instructions:
        each = quantity(rounded(part.instructions, 3), "LLVM instruction")
        instructions_text = (
            f"; with all functions that only this one calls, it takes {each} for each packet"
        )
    return Advice(
        "accelerator",
        f"Check whether {one['function']} is a {_engine(one)}",
        one["function"],
        one["file"],
        one["line"],
        "the code of the function resembles that of an accelerator"
        f"{_UNREACHED if idle else instructions_text}",
        *_effect(part if idle else None),
        "learnt",
        f"{sure}: {one['reason']}",
    )
