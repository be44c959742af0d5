"""Advice on accelerators.

None of this changes what is proved or suspected: `slowpath insights accelerators` has all of it.

Numbers are of LLVM's language: these are what becomes less when a call of the engine stands there
instead, with those of functions that nothing else calls. Of the card's instructions a share is
told, too; what a compiler makes of the rest without them, nobody knows before it is compiled.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.core.terminal import first_few
from slowpath.insights.accelerators.documents import Accelerated, Alike, Called
from slowpath.insights.accelerators.library_calls import Use, told
from slowpath.insights.advice.advice import (
    Advice,
    Certainty,
    Evidence,
    Gap,
    Said,
    Traced,
    instructions,
)
from slowpath.insights.advice.pointers import Unknown
from slowpath.insights.blocks.traced import in_llvm
from slowpath.insights.output import percent, quantity, rounded
from slowpath.insights.source.calls import led_to, only_through

_ALL = 1 - 1e-6
"""The share from which on calls are all that there are: counts are rounded."""
_Runs = Mapping[tuple[str, int], float]
"""By symbol and number of a block, how often it runs for each packet."""


class Part(NamedTuple):
    """A part of the work, for each packet."""

    instructions: float
    """Of LLVM's language."""
    cycles: float
    """Its instructions as packets' are weighed: of the card where they could be counted."""
    shared: bool = False
    """Whether it was counted with that of other lines, and each call has the same share."""


def of_function(evidence: Evidence, symbol: str, line: int) -> Part | None:
    """What a function takes, and what runs only through it. None: nobody knows.

    It is not known of what became a part of others where no debug information says so: `line`, the
    function's own, is 0 then.
    """
    traced = evidence.traced
    if traced is None:
        return None
    statics = evidence.statics
    symbols = only_through(statics.calls, symbol)
    apart = in_llvm(traced.counts, "").instructions(symbols)
    here = [use for use in statics.uses if use.caller not in symbols and symbols & _inlined(use)]
    ran = any(one["symbol"] in symbols for one in traced.counts["blocks"])
    unknown = not line or symbol in statics.inlined or symbol not in statics.calls
    if unknown and not here and not ran:
        return None
    llvm = apart + _executed(here, _runs(traced))
    cycles = instructions(traced, symbols) if traced.executed.on_card else llvm
    others = (use for use in statics.uses if use.caller in symbols and use.symbols)
    return _with_calls(
        evidence, traced, [use for use in others if use.symbols[-1] not in symbols], (llvm, cycles)
    )


def at_line(evidence: Evidence, symbol: str, file: str, line: int) -> Part | None:
    """What a function of the headers takes for a line of the source. None: nothing was counted."""
    traced = evidence.traced
    if traced is None:
        return None
    runs, proved = _runs(traced), {one["symbol"] for one in evidence.accelerators["proved"]}
    uses = [use for use in evidence.statics.uses if symbol in use.symbols]
    here = [
        use for use in uses if (use.file, use.line) == (file, line) and told(use, proved) == symbol
    ]
    llvm = _executed((use for use in here if symbol in _inlined(use)), runs)
    everywhere = _executed((use for use in uses if symbol in _inlined(use)), runs)
    cycles = llvm
    if traced.executed.on_card and everywhere:
        cycles = instructions(traced, frozenset({symbol})) * llvm / everywhere
    return _with_calls(evidence, traced, here, (llvm, cycles))


def _with_calls(
    evidence: Evidence, traced: Traced, uses: Sequence[Use], own: tuple[float, float]
) -> Part:
    """A part with what functions of the headers take that it calls, by its share of all calls.

    `own` are instructions and cycles without these.
    """
    llvm, cycles = own
    runs, shared = _runs(traced), False
    for called in {use.symbols[-1] for use in uses if use.calls}:
        symbols = only_through(evidence.statics.calls, called)
        those = [use for use in uses if use.calls and use.symbols[-1] == called]
        apart = _apart(traced, called, those)
        share = _share(traced, called, _executed(those, runs)) if apart is None else apart
        llvm += share * in_llvm(traced.counts, "").instructions(symbols)
        cycles += share * instructions(traced, symbols)
        shared |= apart is None and 0 < share < 1
    return Part(llvm, cycles, shared)


def _apart(traced: Traced, symbol: str, uses: Sequence[Use]) -> float | None:
    """Return the part of a function's instructions that ran in some of its calls.

    None where its calls were not counted apart.
    """
    rows = [one for one in traced.counts["calls"] if one["symbol"] == symbol]
    whole = sum(one["instructions"] for one in rows)
    if not whole:
        return None
    places = {(use.caller, use.file, use.line) for use in uses}
    here = (one for one in rows if (one["caller_symbol"], one["file"], one["line"]) in places)
    return sum(one["instructions"] for one in here) / whole


def _share(traced: Traced, symbol: str, calls: float) -> float:
    """Which part of all calls of a function so many for each packet are."""
    packets = traced.counts["traffic"]["packets"]
    counted = (one["calls"] for one in traced.counts["functions"] if one["symbol"] == symbol)
    whole = sum(counted) / packets
    return 0.0 if not whole else 1.0 if calls >= _ALL * whole else calls / whole


def _runs(traced: Traced) -> _Runs:
    return {(one["symbol"], one["number"]): one["per_packet"] for one in traced.counts["blocks"]}


def _executed(uses: Iterable[Use], runs: _Runs) -> float:
    """Instructions of uses, as often as they ran."""
    return sum(use.instructions * runs.get((use.caller, use.block), 0.0) for use in uses)


def _inlined(use: Use) -> frozenset[str]:
    """The functions whose code a use is; of one that it calls, it is not."""
    return frozenset((*use.within, *(use.symbols[:-1] if use.calls else use.symbols)))


_TABLE = " table"


def is_table(one: Accelerated) -> bool:
    """Whether it is a table that a function fills, and nothing that it computes of data."""
    return one["algorithm"].endswith(_TABLE)


def has_of_another(evidence: Evidence, one: Accelerated) -> bool:
    """Whether what a function leaves in memory is what another one has made, which is proved, too.

    It calls that one, or that one ran before it; an engine does not do it for that.
    """
    if not is_table(one) and "result" not in one["parameters"]:
        return False
    statics = evidence.statics
    inside = led_to(statics.calls, [one["symbol"]]) - {one["symbol"]}
    return any(
        (other["symbol"] in inside or other["function"] in one["together"])
        and other["symbol"] != one["symbol"]
        and (other["algorithm"], other["parameters"]) == (one["algorithm"], one["parameters"])
        for other in evidence.accelerators["proved"]
    )


def is_slight(evidence: Evidence, one: Alike) -> bool:
    """Whether a suspicion is not worth a look.

    So it is where the function, with all that it leads to, works only in what is proved already: a
    dozen operations on bits, or some in a loop, are work. On a trace, where at least half of what
    it takes is proved to be something else.
    """
    statics, symbol = evidence.statics, one["symbol"]
    if symbol not in statics.calls:
        return False
    proved = [each for each in evidence.accelerators["proved"] if each["symbol"] != symbol]
    known = {each["symbol"] for each in proved}
    around = {name: [] if name in known else calls for name, calls in statics.calls.items()}
    inside = led_to(around, [symbol])
    if not (inside - known) & set(statics.toiling):
        return True
    part = of_function(evidence, symbol, one["line"])
    if part is None or not part.instructions:
        return False
    alone = only_through(statics.calls, symbol)
    taken = 0.0
    for each in proved:
        if each["part_of"] is not None:
            continue
        lines = {
            (use.file, use.line)
            for use in statics.uses
            if use.caller in alone and each["symbol"] in use.symbols
        }
        theirs = [at_line(evidence, each["symbol"], *line) for line in lines]
        if each["symbol"] in alone and not each["calls"]:
            theirs.append(of_function(evidence, each["symbol"], each["line"]))
        taken += sum(one.instructions for one in theirs if one is not None)
    return 2 * taken >= part.instructions


_FEW = 4
"""Functions, or lines, that are named in a row."""
_UNIT = "LLVM instructions"
_NAMES = {"crc": "CRC", "lpm": "look-up", "checksum": "checksum", "hash": "hash"}
_IDLE = "; no packet of the trace came there"
_ENGINE = "; whether the card has such an engine, and what that takes, is in no number here"
_STANDS = (
    "; what ran is the function of the headers that come along, which stands for the library's"
)
_EACH = "each call of it is taken to take as much as the others; "


def accelerating(evidence: Evidence) -> Said:
    """A piece of advice for each function that is proved, or that looks like one.

    Functions of libraries are advised on where the source calls them, line by line.
    """
    report = evidence.accelerators
    for one in report["proved"]:
        if one["part_of"] is not None or has_of_another(evidence, one):
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
        why = f"the search was stopped ({report['stopped']}) before all functions were examined"
        yield Gap("all functions for accelerators", why, "more time: --deadline")


def _gaps(evidence: Evidence) -> Said:
    """What was not examined, or not to the end, and calls that nobody could follow; a line each."""
    left = evidence.accelerators["unexamined"]
    if left:
        reasons = dict[str, list[str]]()
        for one in left:
            place = f" ({one['file']}:{one['line']})" if one["line"] else ""
            reasons.setdefault(one["reason"], []).append(f"{one['function']}{place}")
        said = "; ".join(f"{first_few(names, _FEW)}: {why}" for why, names in reasons.items())
        which = "one function is" if len(left) == 1 else f"{len(left)} functions are"
        yield Gap(f"whether {which} for accelerators", said, "")
    places = dict.fromkeys(f"{one.file}:{one.line}" for one in _untold(evidence))
    if places:
        yield Gap(
            f"what is called through a pointer in {first_few(list(places), _FEW)}",
            "no function of that type was found in variables that this code names, so none was "
            "examined for it",
            "a trace that comes there: --traffic",
        )


def _untold(evidence: Evidence) -> Iterator[Unknown]:
    """Calls through pointers that no run has shown the target of."""
    counted = () if evidence.traced is None else evidence.traced.counts["blocks"]
    ran = {(one["symbol"], one["number"]) for one in counted if one["per_packet"]}
    return (one for one in evidence.statics.unknown if (one.symbol, one.block) not in ran)


def _proved(evidence: Evidence, one: Accelerated) -> Advice:
    part = of_function(evidence, one["symbol"], one["line"])
    title, does = f"Let the {_engine(one)} engine do {one['function']}", "computes"
    if is_table(one):
        does = "fills a"
        title = f"Leave out {one['function']}, whose table a {_engine(one)} engine does without"
    return Advice(
        "accelerator",
        title,
        one["function"],
        one["file"],
        one["line"],
        f"it {does} {_computed(one)}{_on_card(evidence, part)}{_by_line(evidence, one)}",
        *_effect(part),
        *_certain(part, f"{_agreed(one)}{_ENGINE}"),
    )


def _by_line(evidence: Evidence, one: Accelerated) -> str:
    """Return the LLVM instructions of each line that calls a function, where there are several."""
    traced = evidence.traced
    calls = () if traced is None else traced.counts["calls"]
    rows = [
        f"{quantity(rounded(call['per_packet'], 6), 'LLVM instruction')} in line {call['line']}"
        for call in calls
        if call["symbol"] == one["symbol"]
    ]
    return f"; of each packet, {' and '.join(rows)}" if rows else ""


def _called(evidence: Evidence, one: Accelerated, place: Called) -> Advice:
    """A function of a library, where the source calls it, or one that calls it."""
    part = at_line(evidence, one["symbol"], place["file"], place["line"])
    name, function = place["name"], one["function"]
    itself = name == function
    does = "it" if itself else f"that calls {function}, which"
    return Advice(
        "accelerator",
        f"Let the {_engine(one)} engine do {name if itself else f'{function} for {name}'}",
        name,
        place["file"],
        place["line"],
        f"{place['caller']} calls {name} here, and {does} computes {_computed(one)}"
        f"{_on_card(evidence, part)}",
        *_effect(part),
        *_certain(part, f"{_agreed(one)}{_STANDS}{_ENGINE}"),
    )


def _engine(one: Accelerated | Alike) -> str:
    return _NAMES.get(one["kind"], one["kind"])


def _computed(one: Accelerated) -> str:
    said = ", ".join(f"{key} {value}" for key, value in one["parameters"].items())
    return f"{one['algorithm']}{f' ({said})' if said else ''}"


def _agreed(one: Accelerated) -> str:
    agreed = f"agreed with the reference on {one['inputs']:,} random inputs"
    lengths = f"of {quantity(one['shortest'], 'byte')}"
    if one["shortest"] < one["longest"]:
        lengths = f"of {one['shortest']:,} to {quantity(one['longest'], 'byte')}"
    return f"by execution: it {agreed} {lengths}, none disagreed"


def _certain(part: Part | None, why: str) -> tuple[Certainty, str]:
    """How sure it is, and why."""
    if part is not None and part.shared:
        return "assumption", f"{_EACH}{why}"
    return "proved", why


def _effect(part: Part | None) -> tuple[float | None, float | None, str, float | None]:
    """Before and after, of what, and cycles that are saved."""
    if part is None:
        return None, None, _UNIT, None
    return part.instructions, 0.0, _UNIT, part.cycles


def _on_card(evidence: Evidence, part: Part | None) -> str:
    if part is None or evidence.traced is None:
        return ""
    if not part.instructions:
        return _IDLE
    if not evidence.traced.executed.on_card:
        return ""
    if not part.cycles:
        return "; none of its instructions on the card are counted"
    return f"; {rounded(part.cycles, 3):,g} of the card's instructions are for it"


def _alike(evidence: Evidence, one: Alike) -> Advice:
    sure = f"the classifier is {percent(one['confidence'], 0)} sure; nothing is proved"
    part = of_function(evidence, one["symbol"], one["line"])
    idle = part is not None and not part.instructions
    taken = ""
    if part is not None and part.instructions:
        each = quantity(rounded(part.instructions, 3), "LLVM instruction")
        taken = f"; with all that only it calls, it takes {each} for each packet"
    return Advice(
        "accelerator",
        f"See whether {one['function']} is a {_engine(one)}",
        one["function"],
        one["file"],
        one["line"],
        f"its code looks like what an accelerator does{_IDLE if idle else taken}",
        *_effect(part if idle else None),
        "learnt",
        f"{sure}: {one['reason']}",
    )
