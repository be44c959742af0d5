"""Parameters of the core model and their ranges."""

from typing import NamedTuple

Parameters = dict[str, float]
"""A value for each name in `PARAMETERS`."""


class Parameter(NamedTuple):
    """A number of the core model: its start value and its limits."""

    first: float  # start of the search: a server's core of 2022
    least: float
    most: float
    whole: bool = False
    fixed: bool = False  # true if no measurement depends on it


UNITS = ("alu", "shift", "multiply", "divide", "load", "store", "atomic", "branch")
CORE = (
    "instruction_cycles",
    "move_cycles",
    "constant_cycles",
    "branch_cycles",
    "taken_cycles",
    "function_cycles",
    "forward_cycles",
    "pieces_cycles",
    "loop_cycles",
)
COUNTS = ("loop_instructions", "window")
PIPELINE = ("fetch_cycles", "fetch_queue", "move_latency_cycles", "loop_stall_cycles")
OVERLAP = ("instructions", "result_share", "result_cycles")
"""Parameters of calls that overlap the code around them."""
_PREDICTED = 12.0
"""Maximum cycles of a function call and its return if the core predicts returns. A mitigation can
prevent this prediction, as on Zen; the flow of instructions then also stops after each kernel
call."""


def latency(unit: str) -> str:
    """Return the name of a unit's latency."""
    return f"{unit}.latency_cycles"


def interval(unit: str) -> str:
    """Return the name of a unit's cycles between two instructions."""
    return f"{unit}.interval_cycles"


def queue(unit: str) -> str:
    """Return the name of a unit's queue length, in instructions."""
    return f"{unit}.queue"


def pipeline(name: str) -> str:
    """Return the full name of a parameter of fetching, moves, or the loop."""
    return f"pipeline.{name}"


def overlap(name: str) -> str:
    """Return the full name of a parameter of calls that overlap the code around them."""
    return f"pipeline.calls.{name}"


PARAMETERS: dict[str, Parameter] = {
    "instruction_cycles": Parameter(0.17, 0.1, 0.6),
    "move_cycles": Parameter(0.167, 0.02, 0.6),
    "constant_cycles": Parameter(0.25, 0.02, 1.0),
    "branch_cycles": Parameter(0.19, 0.1, 2.0),
    "taken_cycles": Parameter(1.0, 0.01, 4.0),
    "function_cycles": Parameter(5.0, 1.0, 100.0),
    "forward_cycles": Parameter(5.0, 0.5, 8.0),
    "pieces_cycles": Parameter(14.0, 0.5, 30.0),
    "loop_cycles": Parameter(20.0, 10.0, 400.0),
    "loop_instructions": Parameter(60.0, 0, 4096, whole=True, fixed=True),
    "window": Parameter(320.0, 32, 1024, whole=True, fixed=True),
    "alu.latency_cycles": Parameter(1.0, 0.8, 2.0),
    "alu.interval_cycles": Parameter(0.2, 0.1, 1.0),
    "alu.queue": Parameter(64, 8, 200, whole=True),
    "shift.latency_cycles": Parameter(1.0, 0.8, 3.0),
    "shift.interval_cycles": Parameter(0.5, 0.2, 2.0),
    "shift.queue": Parameter(60, 4, 200, whole=True),
    "multiply.latency_cycles": Parameter(3.0, 2.0, 6.0),
    "multiply.interval_cycles": Parameter(1.0, 0.3, 3.0),
    "multiply.queue": Parameter(60, 4, 200, whole=True),
    "divide.latency_cycles": Parameter(10.0, 4.0, 80.0),
    "divide.interval_cycles": Parameter(7.0, 1.0, 80.0),
    "divide.queue": Parameter(30, 2, 200, whole=True),
    "load.latency_cycles": Parameter(5.0, 3.0, 7.0),
    "load.interval_cycles": Parameter(0.4, 0.2, 1.5),
    "load.queue": Parameter(70, 8, 200, whole=True),
    "store.latency_cycles": Parameter(1.0, 1.0, 1.0, fixed=True),
    "store.interval_cycles": Parameter(0.5, 0.2, 2.0),
    "store.queue": Parameter(48, 8, 200, whole=True),
    "branch.latency_cycles": Parameter(1.0, 1.0, 1.0, fixed=True),
    "branch.interval_cycles": Parameter(0.5, 0.1, 2.0),
    "branch.queue": Parameter(60, 4, 200, whole=True),
    "atomic.latency_cycles": Parameter(10.0, 4.0, 60.0),
    "atomic.interval_cycles": Parameter(7.0, 2.0, 60.0),
    "atomic.queue": Parameter(24, 2, 200, whole=True, fixed=True),
    "pipeline.fetch_cycles": Parameter(0.11, 0.05, 0.3),
    "pipeline.fetch_queue": Parameter(70, 70, 70, whole=True, fixed=True),
    "pipeline.move_latency_cycles": Parameter(0.8, 0.05, 1.2),
    "pipeline.loop_stall_cycles": Parameter(13.0, 1.0, 60.0),
    "pipeline.calls.instructions": Parameter(4.0, 4.0, 4.0, fixed=True),
    "pipeline.calls.result_share": Parameter(2.0, 2.0, 2.0, fixed=True),
    "pipeline.calls.result_cycles": Parameter(16.0, 16.0, 16.0, fixed=True),
}


def start_values() -> Parameters:
    """Return the start of the search."""
    return {name: parameter.first for name, parameter in PARAMETERS.items()}


def returns_are_predicted(parameters: Parameters) -> bool:
    """Return true if calls of the kernel overlap the code around them."""
    return parameters["function_cycles"] < _PREDICTED


def clipped(name: str, value: float) -> float:
    """Return the nearest allowed value of a parameter."""
    parameter = PARAMETERS[name]
    inside = min(max(value, parameter.least), parameter.most)
    return float(round(inside)) if parameter.whole else inside
