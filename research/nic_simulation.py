"""Runs the simulator of a NIC (`research/nicsim`), a Rust program, as a process."""

import json
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from slowpath.core import codes
from slowpath.core.errors import InputError

_ROOT = Path(__file__).resolve().parents[1]


class SimulatedClient(TypedDict):
    """A function with its traffic; missing keys have the values of Wu et al. (section 7.1)."""

    function: str
    flows: NotRequired[int]
    packet_bytes: NotRequired[int]
    mtbr: NotRequired[float]  # matches per MB of payload
    rate: NotRequired[float]  # packets or rounds per second; as fast as possible if missing
    working_set: NotRequired[int]  # array size in bytes, for competitors that read an array


class SimulatedRun(TypedDict):
    """Functions that run together in a simulation, and its settings."""

    clients: list[SimulatedClient]
    seed: int
    warm_up_ms: NotRequired[float]
    measured_ms: NotRequired[float]
    sampling: NotRequired[int]  # N: simulate one of N cache sets
    noise: NotRequired[bool]  # true if throughputs have measurement noise


class SimulatedCounters(TypedDict):
    """The seven hardware counters of Wu et al., summed over all cores of a function."""

    ipc: float
    irt: float
    l2crd: float
    l2cwr: float
    memrd: float
    memwr: float
    wss_mb: float


class ClientOutcome(TypedDict):
    """Results of one function in a simulation run."""

    function: str
    throughput: float  # packets or rounds per second
    counters: SimulatedCounters
    begun: int
    done: int
    inside: list[int]  # packets in the function at the beginning and at the end
    sojourn_ns: float
    mean_inside: float
    idle: float  # share of the threads' time spent waiting
    misses: float  # share of level-1 misses that went to memory
    occupancy: int  # bytes in the last-level cache at the end


class AcceleratorOutcome(TypedDict):
    """Results of an accelerator; lists have one item per function, in the order of the run."""

    busy: float
    served: list[float]  # requests per second
    service_ns: list[float]
    sojourn_ns: list[float]


class MemoryOutcome(TypedDict):
    """Results of the memory that all functions share."""

    busy: float
    waited_ns: float


class SimulatedOutcome(TypedDict):
    """Results of a simulation run."""

    device: str
    seconds: float
    clients: list[ClientOutcome]
    accelerators: dict[str, AcceleratorOutcome]
    memory: MemoryOutcome
    events: int
    packets: int


def simulate(runs: Sequence[SimulatedRun], threads: int = 1) -> list[SimulatedOutcome]:
    """Simulate runs and return their results in order; `threads` does not change the results.

    Raises:
        InputError: if a run has an unknown function, too few cores, or an invalid number.
    """
    done = subprocess.run(
        [_program(), str(threads)],
        input=json.dumps(list(runs)),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise InputError(
            codes.FUNCTION_NOT_RUNNABLE, "simulation", done.stderr.strip().removeprefix("error: ")
        )
    return cast("list[SimulatedOutcome]", json.loads(done.stdout))


@cache
def _program() -> str:
    """Compile the simulator unless it is up to date, and return its path."""
    build = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "slowpath-nicsim"]
    built = subprocess.run(
        [*build, "--message-format", "json-render-diagnostics"],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    messages = map(json.loads, built.stdout.splitlines())
    (program,) = filter(None, (message.get("executable") for message in messages))
    return str(program)
