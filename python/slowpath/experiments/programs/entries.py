"""What tables of experiments hold, and which of it packets look for; the same on every test bed."""

from slowpath.experiments.specification.documents import Experiment
from slowpath.experiments.specification.points import Settings

SPREAD = 2654435761
"""What numbers of prefixes are multiplied by, so that these are spread. It is odd, so all differ,
and close to 2^32 over the golden ratio."""


def prefix_address(number: int, bits: int) -> bytes:
    """The address of a prefix, its first bit zero; there are 2^(bits - 1) different ones."""
    spread = (number * SPREAD) & 0xFFFFFFFF
    return ((spread << (33 - bits) & 0xFFFFFFFF) >> 1).to_bytes(4, "big")


def drawn_values(experiment: Experiment, settings: Settings) -> int:
    """How many different values the bytes have that vary; 1 where none do."""
    vary = experiment["traffic"]["vary"]
    if not vary:
        return 1
    values = vary[0]["values"]
    return int(settings[values]) if isinstance(values, str) else values
