"""Runs of the simulated NIC."""

import json
from collections.abc import Sequence
from typing import NotRequired, TypedDict, cast

from slowpath import _core
from slowpath.core.engine.errors import of_file

_NAMED = "simulation"
"""What errors call a run, for want of a file."""


class SimulatedClient(TypedDict):
    """A function with its traffic; what is left out is as the paper has it (7.1)."""

    function: str
    flows: NotRequired[int]
    packet_bytes: NotRequired[int]
    mtbr: NotRequired[float]  # matches per MB of payload
    rate: NotRequired[float]  # packets or rounds per second; as many as can be without
    working_set: NotRequired[int]  # bytes, of competitors that go through an array


class SimulatedRun(TypedDict):
    """Functions beside each other."""

    clients: list[SimulatedClient]
    seed: int
    warm_up_ms: NotRequired[float]
    measured_ms: NotRequired[float]
    sampling: NotRequired[int]  # one cache set in so many is simulated
    noise: NotRequired[bool]  # throughputs scatter as those of measurements do


class SimulatedCounters(TypedDict):
    """The paper's seven counters, of all cores of a function."""

    ipc: float
    irt: float
    l2crd: float
    l2cwr: float
    memrd: float
    memwr: float
    wss_mb: float


class ClientOutcome(TypedDict):
    """What came of a function."""

    function: str
    throughput: float  # packets or rounds per second
    counters: SimulatedCounters
    begun: int
    done: int
    inside: list[int]  # packets, at the beginning and at the end
    sojourn_ns: float
    mean_inside: float
    idle: float  # share of its threads' time
    misses: float  # share of accesses beyond the level-1 cache that went to memory
    occupancy: int  # bytes of the last-level cache, at the end


class AcceleratorOutcome(TypedDict):
    """What came of an accelerator; lists are by function, as in the run."""

    busy: float
    served: list[float]  # requests per second
    service_ns: list[float]
    sojourn_ns: list[float]


class MemoryOutcome(TypedDict):
    """What came of the memory that all share."""

    busy: float
    waited_ns: float


class SimulatedOutcome(TypedDict):
    """What a run has shown."""

    device: str
    seconds: float
    clients: list[ClientOutcome]
    accelerators: dict[str, AcceleratorOutcome]
    memory: MemoryOutcome
    events: int
    packets: int


def simulate(runs: Sequence[SimulatedRun], threads: int = 1) -> list[SimulatedOutcome]:
    """What comes of runs, in their order; the same for any number of threads.

    Raises:
        InputError: when a run cannot be: an unknown function, too few cores, a wrong number.
    """
    with of_file(_NAMED):
        found = _core.simulate_nic(json.dumps(list(runs)), threads)
    return cast("list[SimulatedOutcome]", json.loads(found))


def simulated_functions() -> list[str]:
    """Functions and competitors that can be simulated."""
    return _core.simulated_functions()
