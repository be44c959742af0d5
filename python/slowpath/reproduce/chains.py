"""Compares a rewritten chain of programs with the example in a talk (Krude et al., NetPL 2019).

The talk states the size and packet rate of a load balancer that runs after a firewall, before and
after its redundant code is removed (slides `Removing Redundancies`). Our programs are written after
the description in the talk (examples/chain).
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from slowpath.chain.loading import load_chain
from slowpath.core.engine import chains
from slowpath.core.jobs import Stopping
from slowpath.core.jobs.pool import StopRequested
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.programs.sources import Clang
from slowpath.reproduce.comparison import NOT_COMPUTED, Plan, Quantity, compared
from slowpath.reproduce.documents import ComparedValue
from slowpath.reproduce.registry import Source

_SLOT = 8
"""Number of bytes of a BPF instruction."""
_SECONDS = 60.0
_PROGRAM = "load_balancer"
_BEFORE, _AFTER, _LEFT, _RATIO = 7.6, 0.9, 12.0, 2.3
"""Values that the talk prints: size of the program in KiB before and after rewriting, percentage of
the program that remains, and ratio of the packet rates.
"""
_SIZE = Quantity("size of the load balancer", "KiB")
_PART = Quantity("part of the load balancer that is left", "%")
_RATE = Quantity("ratio of packet rates, after to before")


class Sizes(NamedTuple):
    """Numbers of instructions of the load balancer before and after rewriting."""

    before: int
    after: int


def example(source: Source) -> Plan:
    """Return the work that recomputes the example of the talk.

    `source` is the folder with the chain.

    Raises:
        InputError: if the description of the chain is missing.
    """
    [file, *_] = source.needed("chain.yaml")
    conditions = [
        "The programs are not those of the talk, but follow its description.",
        "Rewritten without a guard (chain optimize --trust), with a proof of equality.",
        "slowpath chain optimize measures the ratio of packet rates in the kernel, as root.",
    ]
    return Plan(["chain"], [str(file)], rewritten, None, _rows, conditions)


def rewritten(_common: None, file: str, stop_requested: StopRequested) -> Sizes | None:
    """Rewrite the load balancer of the chain that `file` describes, and return its sizes.

    Return None if a stop was requested, or without a proof in time.

    Raises:
        InputError: if the chain cannot be read, or has no load balancer.
    """
    if stop_requested():
        return None
    loaded = load_chain(file, Clang((), _SECONDS))
    subject = loaded.subject(KernelBtf(None).for_program(needed=loaded.needs_kernel))
    rewriting = chains.Rewriting("trust", None, _SECONDS)
    stopping, report = Stopping(), None
    for message in chains.rewrite_messages(subject, rewriting, stopping):
        if message[0] == "rewritten":
            report = json.loads(message[1])
        if stop_requested():
            stopping.ask()
    for program in () if report is None else report["programs"]:
        if program["name"] == _PROGRAM and program["proved"]:
            return Sizes(program["instructions_before"], program["instructions_after"])
    return None


def _rows(pairs: Sequence[tuple[str, Sizes | None]]) -> list[ComparedValue]:
    [(_, found)] = pairs
    note = NOT_COMPUTED if found is None else None
    before, after, left = (
        (None, None, None)
        if found is None
        else (
            found.before * _SLOT / 1024,
            found.after * _SLOT / 1024,
            100 * found.after / found.before,
        )
    )
    return [
        compared("before", _SIZE, _BEFORE, before, note),
        compared("after", _SIZE, _AFTER, after, note),
        compared("left", _PART, _LEFT, left, note),
        compared("both", _RATE, _RATIO, None, "not measured by this command"),
    ]
