"""Data of the published programs (Krude et al., CoNEXT 2021), by the name of their listing.

Cores and loop limits are those of the published results. `seconds` is the time of the published tool
until the first satisfiable path by bit rate, built with optimisation, on a 2-core machine like that of
docs/explanation/performance.md. `all_seconds` is the published time for all paths, on the authors'
4-core desktop.
"""

import math
from pathlib import Path
from typing import NamedTuple

from measure import Program


class Published(NamedTuple):
    """Published data of a program: cores, loop limit, and times of the published tool."""

    cores: int
    unroll: int | None = None
    seconds: float | None = None  # inf: did not finish
    all_seconds: float | None = None  # for all satisfiable paths


PROGRAMS = {
    "xdp-switch": Published(5, seconds=55, all_seconds=68),
    "xdp-quic-lb-ipv6-options": Published(5, unroll=10, seconds=36),
    "xdp-alaw2ulaw": Published(5, unroll=160, seconds=34),
    "xdp-alaw2ulaw-opt": Published(5, unroll=160, seconds=34),
    "xdp-dns-cache": Published(50, seconds=28, all_seconds=13 * 60),
    "xdp-cloudflare": Published(5, seconds=0.95),
    "xdp-quic-lb": Published(5, seconds=0.29),
    **{f"xdp-count-min.{hashes}": Published(50) for hashes in range(1, 20)},
    "xdp-count-min.20": Published(50, seconds=0.47, all_seconds=33 * 60),
    "xdp-path-explosion": Published(50, seconds=math.inf),
}


def program(path: Path) -> Program:
    """Return the program in a file, with published options and time if its name is known."""
    known = PROGRAMS.get(path.stem)
    if known is None or path.suffix != ".asm":
        return Program(path.name, path)
    options = ["--cores", str(known.cores)]
    if known.unroll:
        options += ["--unroll", str(known.unroll)]
    return Program(path.stem, path, tuple(options), known.seconds)
