"""What an engine would take over of a packet's work: functions, wherever their code stands."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from slowpath.insights.accelerators.libraries import Use, told
from slowpath.insights.advising.evidence import Evidence, Traced
from slowpath.insights.advising.weight import instructions
from slowpath.insights.blocks.traced.running import in_llvm
from slowpath.insights.preparation.calls import only_through

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
