"""Advice: functions that an accelerator could do instead of a core.

Numbers are of LLVM's language: these are what becomes less when a call of the engine stands there
instead, with those of functions that nothing else calls. Of the card's instructions a share is
told, too; what a compiler makes of the rest without them, nobody knows before it is compiled.
"""

from slowpath.insights.accelerators.documents import Accelerated, Alike
from slowpath.insights.advising.advice import Advice, Gap, Said
from slowpath.insights.advising.evidence import Evidence, Traced
from slowpath.insights.advising.weight import instructions
from slowpath.insights.blocks.traced.running import in_llvm
from slowpath.insights.numbers import percent
from slowpath.insights.preparation.calls import only_through

_UNIT = "LLVM instructions"
_NAMES = {"crc": "CRC", "lpm": "look-up", "checksum": "checksum", "hash": "hash"}


def accelerating(evidence: Evidence) -> Said:
    """A piece of advice for each function that is proved, or that looks like one."""
    report = evidence.accelerators
    for one in report["proved"]:
        if one["part_of"] is None:
            yield _proved(evidence, one)
    for alike in report["alike"]:
        yield _alike(alike)
    if report["stopped"] is not None:
        why = f"the search was stopped ({report['stopped']}) before all functions were examined"
        yield Gap("all functions for accelerators", why, "more time: --deadline")


def _proved(evidence: Evidence, one: Accelerated) -> Advice:
    symbols = only_through(evidence.statics.calls, one["symbol"])
    taken = _taken(evidence.traced, symbols)
    said = ", ".join(f"{key} {value}" for key, value in one["parameters"].items())
    agreed = f"agreed with the reference on {one['inputs']:,} random inputs"
    lengths = f"of {one['shortest']:,} to {one['longest']:,} bytes"
    engine = "; whether the card has such an engine, and what that takes, is in no number here"
    return Advice(
        "accelerator",
        f"Let the {_NAMES.get(one['kind'], one['kind'])} engine do {one['function']}",
        one["function"],
        one["file"],
        one["line"],
        f"it computes {one['algorithm']}{f' ({said})' if said else ''}"
        f"{_on_card(evidence.traced, symbols)}",
        taken,
        None if taken is None else 0.0,
        _UNIT,
        None if evidence.traced is None else instructions(evidence.traced, symbols),
        "proved",
        f"by execution: it {agreed} {lengths}, none disagreed{engine}",
    )


def _taken(traced: Traced | None, symbols: frozenset[str]) -> float | None:
    """None: nobody knows, as it did not run by itself (it was inlined before)."""
    if traced is None or not any(one["symbol"] in symbols for one in traced.counts["blocks"]):
        return None
    return in_llvm(traced.counts, "").instructions(symbols)


def _on_card(traced: Traced | None, symbols: frozenset[str]) -> str:
    if traced is None or not traced.executed.on_card:
        return ""
    return f"; {instructions(traced, symbols):.3g} of the card's instructions are for it"


def _alike(one: Alike) -> Advice:
    sure = f"the classifier is {percent(one['confidence'], 0)} sure; nothing is proved"
    return Advice(
        "accelerator",
        f"See whether {one['function']} is a {_NAMES.get(one['kind'], one['kind'])}",
        one["function"],
        one["file"],
        one["line"],
        "its code looks like what an accelerator does",
        None,
        None,
        _UNIT,
        None,
        "learnt",
        f"{sure}: {one['reason']}",
    )
