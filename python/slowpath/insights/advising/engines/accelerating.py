"""Advice: functions that an accelerator could do instead of a core.

Numbers are of LLVM's language: these are what becomes less when a call of the engine stands there
instead, with those of functions that nothing else calls. Of the card's instructions a share is
told, too; what a compiler makes of the rest without them, nobody knows before it is compiled.
"""

from collections.abc import Iterator

from slowpath.cli.lists import first_few
from slowpath.insights.accelerators.documents import Accelerated, Alike, Called
from slowpath.insights.advising.advice import Advice, Certainty, Gap, Said
from slowpath.insights.advising.engines.parts import Part, at_line, of_function
from slowpath.insights.advising.engines.worth import has_of_another, is_slight, is_table
from slowpath.insights.advising.evidence import Evidence
from slowpath.insights.advising.pointers import Unknown
from slowpath.insights.numbers import number, percent, rounded

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
        f"{number(rounded(call['per_packet'], 6), 'LLVM instruction')} in line {call['line']}"
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
    lengths = f"of {number(one['shortest'], 'byte')}"
    if one["shortest"] < one["longest"]:
        lengths = f"of {one['shortest']:,} to {number(one['longest'], 'byte')}"
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
        each = number(rounded(part.instructions, 3), "LLVM instruction")
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
