"""Tests rewritten programs against their originals in the running kernel."""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath import _core
from slowpath.core import codes
from slowpath.core.engine.current_stage import POLL_SECONDS, BackgroundWork, StageProgress
from slowpath.core.engine.kernel import Kernel, RewrittenRefusedError, errors_as_kernel_errors
from slowpath.core.engine.objects import Object
from slowpath.core.engine.report_types import RehearsalReport
from slowpath.core.jobs.stopping import Stopping


class Stage(NamedTuple):
    """A program of a chain that packets pass before the tested program."""

    object: Object
    program: int  # number in the object
    results: list[int]  # return values that pass the packet on
    maps: str = ""  # the `maps` of a witness, as JSON; empty: as the kernel creates them


class Rehearsed(NamedTuple):
    """A program to test, its rewritten version, and the programs before it in its chain."""

    upstream: Sequence[Stage]  # in the order in which packets pass them
    original: tuple[Object, int]  # object of the program, and its number in the object
    rewritten: bytes  # object file with one XDP program, or with one of the original's name
    seeds: Sequence[bytes]  # packets that get through the chain; the tests send mutations of them
    maps: str = ""  # content of maps for both programs, as in `Stage`
    covers: str = ""  # test inputs as JSON: packets in hexadecimal, each with `maps` of a witness
    rewritten_maps: str = ""  # content of maps that only the rewritten program has
    assumed: Sequence[str] = ()  # facts, in words, about all packets that arrive at the chain


class Rehearsing(NamedTuple):
    """Options for testing a rewritten program against its original (rehearsal)."""

    packets: int = 100_000  # number of packets that have to reach both programs
    arbitrary: bool = False  # true: also send this number of packets directly to both programs
    rounds: int = 15  # rounds of timing both programs; 0: no timing
    frames: int = 0  # frames that have to reach both programs on virtual Ethernet, per XDP mode
    receive: str | None = None  # receiving environment, which selects XDP modes; None: all modes
    deadline_seconds: float | None = None


def rehearse(
    kernel: Kernel,
    chain: Rehearsed,
    rehearsing: Rehearsing,
    stopping: Stopping,
    look: Callable[[StageProgress], None] = lambda _: None,
) -> RehearsalReport:
    """Compare the original and the rewritten program on packets in the kernel, and time both.

    First, both programs run directly on the test inputs in `covers`. Then both run on packets that
    the upstream programs pass on. A deadline or a stop request ends the rehearsal early, with its
    results so far (key `ended`). `look` gets the current stage ten times a second.

    Raises:
        RewrittenRefusedError: if the kernel's verifier rejects only the rewritten program.
        InputError: if the verifier rejects another program (with its message), a map rejects its
            content, or the rewritten program does not run packets that the original runs.
    """
    packets, arbitrary, rounds, frames, receive, seconds = rehearsing
    stop = _core.Stop(seconds, None)
    stages: list[tuple[Object, int, list[int], str]] = list(chain.upstream)
    packets_and_maps = (list(chain.seeds), chain.maps, chain.covers)
    programs = (stages, chain.original, chain.rewritten, *packets_and_maps)
    others = (chain.rewritten_maps, list(chain.assumed), frames, receive)
    with errors_as_kernel_errors(), stopping.calling(stop.set):
        running = BackgroundWork(
            lambda: _core.rehearse(kernel, *programs, packets, arbitrary, rounds, stop, *others)
        )
        try:
            while not running.wait(POLL_SECONDS):
                look(StageProgress(*stop.doing))
        except BaseException:
            stop.set()
            raise
        text = running.result()
    report: RehearsalReport = json.loads(text)
    if refused := report.get("refused"):
        raise RewrittenRefusedError(codes.REWRITING_REJECTED, "the running kernel", refused)
    return report
