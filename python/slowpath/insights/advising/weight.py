"""What a packet takes, in cycles, so that advice of several kinds can be put in one order.

It is an order, no prediction: an instruction of LLVM's language counts one cycle, which is the
price that the card's instructions have (targets/agilio-cx-2x40.toml), and an access to state costs
what the placement's prices say of the memory that it is in, the farthest as long as nobody says
otherwise.
"""

from slowpath.insights.advising.evidence import Traced

ASSUMPTIONS = (
    "one cycle for each instruction of LLVM's intermediate language, and {state}",
    "prices of memories are round figures of ours, nearer ones cheaper; capacities as published "
    "of a Netronome Agilio CX",
)


def instructions(traced: Traced, symbols: frozenset[str] | None = None) -> float:
    """Instructions of LLVM's language for each packet: of all functions, or of some."""
    return sum(
        one["instructions"] * one["per_packet"]
        for one in traced.counts["blocks"]
        if symbols is None or one["symbol"] in symbols
    )


def cycles(traced: Traced) -> float:
    """All that a packet takes."""
    return instructions(traced) + sum(
        one["reads_per_packet"] * access(traced, "read", one["structure"])
        + one["writes_per_packet"] * access(traced, "write", one["structure"])
        for one in traced.counts["structures"]
    )


def access(traced: Traced, operation: str, structure: str = "") -> float:
    """One access to a structure where it is now; without a name, to the farthest memory."""
    placed = traced.placed
    return 0.0 if placed is None else placed.prices.get(operation, {}).get(placed.now(structure), 0)
