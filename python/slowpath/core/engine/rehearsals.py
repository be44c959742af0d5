"""Rewritten programs beside their originals in the running kernel."""

import json
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, NotRequired, TypedDict

from slowpath import _core
from slowpath.core.engine.current_stage import LOOK, Doing, Meanwhile
from slowpath.core.engine.kernel import Kernel, RewrittenRefusedError, of_the_kernel
from slowpath.core.engine.objects import Object
from slowpath.core.jobs.stopping import Stopping


class Stage(NamedTuple):
    """A program in front of the one that is rehearsed."""

    object: Object
    program: int  # its number in the object
    results: list[int]  # with these, the packet goes on
    maps: str = ""  # the `maps` of a witness, as JSON; empty: as the kernel makes them


class Rehearsed(NamedTuple):
    """A program, what it was rewritten to, and where both are."""

    upstream: Sequence[Stage]  # in the order in which packets pass them
    original: tuple[Object, int]  # the object of the program, and its number there
    rewritten: bytes  # an object file with one XDP program, or one of the same name
    seeds: Sequence[bytes]  # packets as they arrive at the chain, which get through; mutated
    maps: str = ""  # as of a `Stage`, for both programs alike
    covers: str = ""  # JSON: packets in hexadecimal, each with `maps` of a witness, for both alike
    more: str = ""  # the same of maps that only the rewritten program has
    assumed: Sequence[
        str
    ] = ()  # facts, in words, that hold of all packets that arrive at the chain


class Rehearsing(NamedTuple):
    """How much is tried in a rehearsal."""

    packets: int = 100_000  # how many are to get through to both programs
    arbitrary: bool = False  # as many more go to both directly
    rounds: int = 15  # how often both are timed; 0: not at all
    frames: int = 0  # how many are to reach both on virtual Ethernet, in each mode of XDP
    receive: str | None = None  # which of these modes: all (None), or those that deliver so
    deadline_seconds: float | None = None


class RehearsalDifference(TypedDict):
    """How two programs differ: `slowpath_rehearsal::Found`."""

    what: str
    packet: str | None  # hexadecimal digits
    metadata: str
    before: int  # packets that both ran before, on maps as at the start


class RehearsalRate(TypedDict):
    """How long two programs take: `slowpath_rehearsal::Rate`."""

    original_ns: float  # of a run, the kernel's loop of repeated test runs included
    rewritten_ns: float
    ratio: float  # of the rewritten one to the original: below 1 it is faster
    ratio_quartiles: list[float]  # of all rounds: two
    copy_ratio: float  # of a second copy of the original: as far from 1 for no reason
    frame_ns: float  # an empty program instead
    restoring_ns: float  # that were taken away of each time, as the packet was put back
    ratio_without_frame: float | None
    rounds: int
    repetitions: int
    restored: bool
    packet: str  # hexadecimal digits


class RehearsalCovered(TypedDict):
    """What packets that were given did: `slowpath_rehearsal::Covered`."""

    packets: int
    ways: int
    difference: RehearsalDifference | None
    not_installed: str | None
    not_run: int


class RehearsalOnDevice(TypedDict):
    """Frames on virtual Ethernet: `slowpath_rehearsal::OnDevice`."""

    mode: Literal["native", "generic"]
    frames: int
    lengths: list[int] | None  # the shortest and the longest, in bytes
    why_not: str | None


class RehearsalReport(TypedDict):
    """What is known of two programs: `slowpath_rehearsal::Rehearsal`."""

    refused: NotRequired[str]  # then it is all that there is: why the verifier refuses the second
    covered: RehearsalCovered

    compared: int
    arbitrary: int
    ran: int
    tried: int
    ways: int
    undetermined: str | None
    difference: RehearsalDifference | None
    unread: list[str]
    devices: list[RehearsalOnDevice]
    rate: RehearsalRate | None
    ended: str | None
    notes: list[str]


def rehearse(
    kernel: Kernel,
    chain: Rehearsed,
    rehearsing: Rehearsing,
    stopping: Stopping,
    look: Callable[[Doing], None] = lambda _: None,
) -> RehearsalReport:
    """Runs packets through a chain whose last program is there twice, and times both.

    What the programs in front let through goes through the original and the rewritten program,
    after the packets of `covers`, which go there directly. An end of time, or being asked to stop,
    ends it with what is known by then (`ended`). `look` is told what is being done, ten times a
    second.

    Raises:
        RewrittenRefusedError: when the kernel's verifier refuses the rewritten program alone.
        InputError: when the kernel refuses another one (then with what its verifier says), maps do
            not take their content, or the rewritten program does not run what the original runs.
    """
    packets, arbitrary, rounds, frames, receive, seconds = rehearsing
    stop = _core.Stop(seconds, None)
    stages: list[tuple[Object, int, list[int], str]] = list(chain.upstream)
    packets_and_maps = (list(chain.seeds), chain.maps, chain.covers)
    asked = (stages, chain.original, chain.rewritten, *packets_and_maps)
    more = (chain.more, list(chain.assumed), frames, receive)
    with of_the_kernel(), stopping.calling(stop.set):
        running = Meanwhile(
            lambda: _core.rehearse(kernel, *asked, packets, arbitrary, rounds, stop, *more)
        )
        try:
            while not running.wait(LOOK):
                look(Doing(*stop.doing))
        except BaseException:
            stop.set()
            raise
        text = running.result()
    report: RehearsalReport = json.loads(text)
    if refused := report.get("refused"):
        raise RewrittenRefusedError("the running kernel", refused)
    return report
