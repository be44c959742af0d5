"""Families of generated programs.

In each family, a number determines the size of a program.
"""

from collections.abc import Callable
from dataclasses import dataclass

from families.loop_bound import loop_bound
from families.map_lookups import map_lookups
from families.mixed_bytes import mixed_bytes
from families.parser_chain import padded_headers, parser_chain
from families.path_explosion import path_explosion
from families.program_size import program_size


@dataclass(frozen=True)
class Family:
    """A family of generated programs whose size depends on one number."""

    name: str
    parameter: str  # what the number counts
    values: tuple[int, ...]
    generate: Callable[[int], str]  # the listing for a number
    options: tuple[str, ...] = ()


FAMILIES = [
    Family("path-explosion", "counters", (8, 16, 32, 64, 128, 256), path_explosion),
    # By bit rate, a short chain would be the slowest, because its packets are short.
    Family(
        "parser-chain",
        "parsers",
        (1, 2, 4, 8, 16, 32, 64),
        parser_chain,
        ("--metric", "packetrate"),
    ),
    Family("padded-headers", "parsers", (1, 2, 4, 8, 16, 32, 64), padded_headers),
    Family("loop-bound", "rounds", (10, 20, 50, 100, 200, 500, 1000), loop_bound),
    Family("map-lookups", "tables", (1, 2, 4, 8, 16, 32, 64), map_lookups),
    Family("mixed-bytes", "rounds", (8, 16, 32, 64, 128), mixed_bytes, ("--metric", "packetrate")),
    Family("program-size", "instructions", (1000, 10_000, 100_000, 1_000_000), program_size),
]
