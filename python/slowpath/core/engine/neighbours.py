"""Network functions beside competitors, on CPUs of this machine."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from slowpath import _core
from slowpath.core.engine.errors import of_file
from slowpath.core.errors import StoppedError, UnavailableError
from slowpath.core.jobs.stopping import Stopping

Kernel = _core.Kernel
"""The running kernel; from `kernel.stations.open_kernel`."""
Object = _core.Object

_HERE = "this machine"


class Fed(NamedTuple):
    """An XDP program that gets packets."""

    content: Object
    program: int  # its number there
    traffic: Mapping[str, object]  # what `slowpath_ingress::TrafficSpec` has


class Served(TypedDict):
    """What was done for one client: `slowpath_neighbours::Served`."""

    items: int  # packets, requests or accesses
    bytes: int
    results: int  # matches, or bytes after compression; of functions, packets that passed
    nanoseconds: int  # that the accelerator worked


class Counted(TypedDict):
    """What the CPU counted of a thread: `slowpath_neighbours::Counted`."""

    instructions: int | None
    cycles: int | None
    cache_references: int | None
    cache_misses: int | None


class Reading(TypedDict):
    """What a thread did while it was measured: `slowpath_neighbours::Reading`."""

    of: int  # which subject or competitor it belongs to
    name: str
    cpu: int
    seconds: float
    cpu_seconds: float | None  # how long it had the CPU
    served: list[Served]  # by itself, then for each client of its accelerator
    counted: Counted | None


class Block(TypedDict):
    """What all threads did: `slowpath_neighbours::Block`."""

    subjects: list[Reading]
    competitors: list[Reading]


class Surroundings(TypedDict):
    """What was felt on two CPUs: `slowpath_neighbours::Surroundings`."""

    handover: float | None  # seconds of a line of the cache, there and back; None: no answer
    alone: float  # seconds that a loop takes on the first one while the other one does nothing
    paces: list[float]  # seconds that it takes on each, at the same time


class Mix:
    """Subjects and competitors, ready to run."""

    def __init__(
        self,
        subjects: Sequence[Mapping[str, object]],
        competitors: Sequence[Mapping[str, object]],
        stopping: Stopping,
        programs: Sequence[Fed] = (),
        kernel: Kernel | None = None,
    ) -> None:
        """Makes packets, tables and working sets of what `slowpath_neighbours::MixSpec` has.

        `programs` are what its work of the kind `given` stands for, by their numbers; they run in
        `kernel`.

        Raises:
            StoppedError: when somebody asked to end.
            InputError: when a number makes no sense, or the machine has not what it takes.
        """
        self._stopping = stopping
        spec = json.dumps({"subjects": subjects, "competitors": competitors})
        fed = [(one.content, one.program, json.dumps(one.traffic)) for one in programs]
        stop = _core.Stop(None, None)
        with of_file(_HERE), stopping.calling(stop.set):
            try:
                self._mix = _core.Mix(spec, stop, kernel, fed)
            except _core.Error:
                if stopping.asked:
                    raise StoppedError(_HERE, "stopped") from None
                raise

    def block(self, warm: float, seconds: float, *, beside: bool) -> Block:
        """Runs subjects, with competitors or without, for so many seconds after warming up.

        Raises:
            StoppedError: when somebody asked to end.
            InputError: when a thread cannot run.
        """
        stop = _core.Stop(None, None)
        with of_file(_HERE), self._stopping.calling(stop.set):
            text = self._mix.block(beside, warm, seconds, stop)
        if text is None:
            raise StoppedError(_HERE, "stopped")
        found: Block = json.loads(text)
        return found


def cpus(wanted: Sequence[int] | None, least: int, what_for: str) -> list[int]:
    """The CPUs to use: those that are wanted, or all that this process may use.

    Raises:
        UnavailableError: when there are fewer than it takes, or one of them may not be used.
    """
    allowed = _core.allowed_cpus()
    missing = [cpu for cpu in wanted or () if cpu not in allowed]
    if missing:
        reason = f"CPU {missing[0]} is none of those that this process may use: {_listed(allowed)}"
        raise UnavailableError(reason)
    found = list(wanted) if wanted else allowed
    if len(found) < least:
        reason = f"{what_for} takes {least} CPUs; there are {len(found)}: {_listed(found)}"
        raise UnavailableError(reason)
    return found


def surroundings(one: int, other: int) -> Surroundings:
    """What can be felt of others on two CPUs, in some milliseconds.

    Raises:
        UnavailableError: when this process may not use one of them.
    """
    with of_file(_HERE):
        found: Surroundings = json.loads(_core.surroundings(one, other))
    return found


def why_no_counters() -> str | None:
    """Why there are no hardware counters for this process; None where there are."""
    return _core.why_no_counters()


def _listed(cpus: Sequence[int]) -> str:
    return ", ".join(str(cpu) for cpu in cpus) or "none"
