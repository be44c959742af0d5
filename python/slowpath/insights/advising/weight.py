"""What a packet takes, in cycles, so that advice of several kinds can be put in one order.

It is an order, no prediction: an instruction counts one cycle, which is the price that the card's
instructions have (targets/agilio-cx-2x40.toml), and an access to state costs what the placement's
prices say of the memory that it is in, the farthest as long as nobody says otherwise.
"""

from slowpath.insights.advising.evidence import Traced

_ON_CARD = "one cycle for each instruction of the card, counted in generated code"
_IN_LLVM = "one cycle for each instruction of LLVM's intermediate language"
_STATE = "all state in {farthest}"
_LACKS = "what the card has not takes no instructions: {refused}"
_PRICES = (
    "prices of memories are round figures of ours, nearer ones cheaper; capacities as published "
    "of a Netronome Agilio CX"
)


def assumptions(traced: Traced) -> list[str]:
    """What cycles rest on."""
    ran, placed = traced.executed, traced.placed
    farthest = "the farthest memory" if placed is None else placed.farthest
    state = _STATE.format(farthest=farthest)
    if placed is not None and placed.standing:
        state += ", but for what --placement says"
    found = [f"{_ON_CARD if ran.on_card else _IN_LLVM}, and {state}", _PRICES]
    if ran.refused:
        found.insert(1, _LACKS.format(refused=ran.lacking("; ")))
    return found


def unit(traced: Traced) -> str:
    """What instructions are of."""
    return "instructions of the card" if traced.executed.on_card else "LLVM instructions"


def instructions(traced: Traced, symbols: frozenset[str] | None = None) -> float:
    """Instructions for each packet: of all functions, or of some."""
    return traced.executed.instructions(symbols)


def cycles(traced: Traced) -> float:
    """All that a packet takes."""
    placed = traced.placed
    costs = [] if placed is None else [placed.cost(one) for one in traced.counts["structures"]]
    return instructions(traced) + sum(costs)
