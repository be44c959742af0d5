"""Measures network functions on this machine while competitors run on other CPUs."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slowpath import _core
from slowpath.core import codes
from slowpath.core.engine import errors_as_file_errors
from slowpath.core.engine.report_types import Block, Surroundings
from slowpath.core.errors import StoppedError, UnavailableError
from slowpath.core.jobs import Stopping

Kernel = _core.Kernel
"""The running kernel; from `kernel.open_kernel`."""
Object = _core.Object

_HERE = "this machine"


class ProgramWithTraffic(NamedTuple):
    """An XDP program, and a description of the packets on which it runs."""

    content: Object
    program: int  # number in the object
    traffic: Mapping[str, object]  # `slowpath_ingress::TrafficSpec`


class Mix:
    """Network functions to measure (subjects) and their competitors, each on its own CPU."""

    def __init__(
        self,
        subjects: Sequence[Mapping[str, object]],
        competitors: Sequence[Mapping[str, object]],
        stopping: Stopping,
        programs: Sequence[ProgramWithTraffic] = (),
        kernel: Kernel | None = None,
    ) -> None:
        """Allocate packets, tables and working sets for subjects and competitors.

        Both are described as in `slowpath_neighbours::MixSpec`. A description of the kind `given`
        stands for one of `programs`, by its index. These programs run in `kernel`.

        Raises:
            StoppedError: if a stop was requested.
            InputError: if a number is invalid, or the machine lacks CPUs or memory.
        """
        self._stopping = stopping
        spec = json.dumps({"subjects": subjects, "competitors": competitors})
        fed = [(one.content, one.program, json.dumps(one.traffic)) for one in programs]
        stop = _core.Stop(None, None)
        with errors_as_file_errors(_HERE), stopping.calling(stop.set):
            try:
                self._mix = _core.Mix(spec, stop, kernel, fed)
            except _core.Error:
                if stopping.asked:
                    raise StoppedError(codes.INTERRUPTED, _HERE, "stopped") from None
                raise

    def block(self, warm: float, seconds: float, *, beside: bool) -> Block:
        """Run the subjects for `warm` seconds without measuring, then measure them for `seconds`.

        With `beside`, the competitors run at the same time.

        Raises:
            StoppedError: if a stop was requested.
            InputError: if a thread cannot run.
        """
        stop = _core.Stop(None, None)
        with errors_as_file_errors(_HERE), self._stopping.calling(stop.set):
            text = self._mix.block(beside, warm, seconds, stop)
        if text is None:
            raise StoppedError(codes.INTERRUPTED, _HERE, "stopped")
        found: Block = json.loads(text)
        return found


def cpus(requested: Sequence[int] | None, least: int, purpose: str) -> list[int]:
    """Return the requested CPUs or, for None, all CPUs that this process may use.

    At least `least` CPUs are needed for `purpose`, which the error names.

    Raises:
        UnavailableError: if there are fewer CPUs, or this process may not use a requested one.
    """
    allowed = _core.allowed_cpus()
    missing = [cpu for cpu in requested or () if cpu not in allowed]
    if missing:
        reason = (
            f"CPU {missing[0]} is not among the CPUs that this process may use: {_listed(allowed)}"
        )
        raise UnavailableError(codes.CPU_NOT_ALLOWED, reason)
    found = list(requested) if requested else allowed
    if len(found) < least:
        reason = (
            f"{purpose} needs {least} CPUs; this process may use {len(found)}: {_listed(found)}"
        )
        raise UnavailableError(codes.MACHINE_UNSUITABLE, reason)
    return found


def surroundings(one: int, other: int) -> Surroundings:
    """Measure how much load on one of two CPUs slows down the other.

    The measurement takes some milliseconds.

    Raises:
        UnavailableError: if this process may not use one of them.
    """
    with errors_as_file_errors(_HERE):
        found: Surroundings = json.loads(_core.surroundings(one, other))
    return found


def why_no_counters() -> str | None:
    """Return the reason why this process cannot read hardware counters; None if it can."""
    return _core.why_no_counters()


def _listed(cpus: Sequence[int]) -> str:
    return ", ".join(str(cpu) for cpu in cpus) or "none"
