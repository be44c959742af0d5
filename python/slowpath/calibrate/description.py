"""Writes the target file of a calibrated machine, with a record of the calibration's quality."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import median
from typing import Any, NamedTuple, TypedDict

from slowpath.calibrate.experiments.documents import IMPRECISE
from slowpath.core.engine import targets

Parameters = dict[str, float]
"""Values of the core model's parameters, by name."""


class Parameter(NamedTuple):
    """Start value and limits of a parameter in the model of a CPU core."""

    first: float  # start value of the search, that of a server's core of 2022
    least: float
    most: float
    whole: bool = False  # true for integers
    fixed: bool = False  # true if no measurement depends on the parameter


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
"""Names of the parameters for kernel calls that the CPU executes in parallel to other code."""
_PREDICTED = 12.0
"""Number of cycles for a function call with its return, below which a core is assumed to predict
returns. Mitigations can prevent the prediction, as on Zen. The core then waits after each call of a
kernel function, too.
"""


def latency(unit: str) -> str:
    """Return the name of the parameter for the latency of an execution unit, such as `load`."""
    return f"{unit}.latency_cycles"


def interval(unit: str) -> str:
    """Return the name of the parameter for the least cycles between two instructions on a unit."""
    return f"{unit}.interval_cycles"


def queue(unit: str) -> str:
    """Return the name of the parameter for the length of an execution unit's queue."""
    return f"{unit}.queue"


def pipeline(name: str) -> str:
    """Return the full name of a pipeline parameter; `name` is one of `PIPELINE`."""
    return f"pipeline.{name}"


def overlap(name: str) -> str:
    """Return the full name of a parameter for calls in parallel to other code, from `OVERLAP`."""
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
    """Return the values of the core's parameters at the start of the search."""
    return {name: parameter.first for name, parameter in PARAMETERS.items()}


def returns_are_predicted(parameters: Parameters) -> bool:
    """Return true if the CPU executes calls of the kernel in parallel to the code around them.

    It does if function calls are cheap, because then the CPU predicts their returns.
    """
    return parameters["function_cycles"] < _PREDICTED


def clipped(name: str, value: float) -> float:
    """Return the allowed value of a parameter that is nearest to `value`."""
    parameter = PARAMETERS[name]
    inside = min(max(value, parameter.least), parameter.most)
    return float(round(inside)) if parameter.whole else inside


NAME = "linux-xdp"
_PLACEHOLDER = 60.0
"""Cycles that are assumed for a kernel call of unknown cost: a value in the middle of the known
costs.
"""


class CallPrice(TypedDict, total=False):
    """Cost of calling a kernel function, in cycles."""

    cycles: float  # price of a call
    zero_cycles: float  # price of a call that returns 0, if it differs
    byte_cycles: float  # additional price for each byte


class Machine(TypedDict):
    """The measured machine: its description and clock frequency."""

    machine: str
    date: str
    clock_hz: int


def timing_text(
    machine: Machine,
    parameters: Parameters,
    calls: Mapping[str, CallPrice],
    error: tuple[float, float],
) -> str:
    """Return the table `[timing]` of a target file, with its subtables, as TOML.

    `error` has the lowest and the highest expected ratio of measured to estimated time.
    """
    lines = [
        "[timing]",
        f"machine = {quoted(machine['machine'])}",
        f"date = {quoted(machine['date'])}",
        f"clock_hz = {machine['clock_hz']}",
        f"unknown_call_cycles = {_PLACEHOLDER}",
        "",
        "[timing.core]",
        *(f"{name} = {parameters[name]:.3f}" for name in CORE),
        *(f"{name} = {round(parameters[name])}" for name in COUNTS),
    ]
    # On other cores, each call empties the pipeline, so experiments do not determine the pipeline's
    # parameters. A model without a pipeline predicts whole programs better.
    if returns_are_predicted(parameters):
        lines += ["", "[timing.pipeline]"]
        lines += [f"{name} = {_number(parameters[pipeline(name)])}" for name in PIPELINE]
        lines += ["", "[timing.pipeline.calls]"]
        lines += [f"{name} = {_number(parameters[overlap(name)])}" for name in OVERLAP]
    for unit in UNITS:
        lines += [
            "",
            f"[timing.unit.{unit}]",
            f"latency_cycles = {parameters[latency(unit)]:.3f}",
            f"interval_cycles = {parameters[interval(unit)]:.3f}",
            f"queue = {round(parameters[queue(unit)])}",
        ]
    lines += ["", "[timing.call]"]
    for name, price in sorted(calls.items()):
        cells = ", ".join(f"{key} = {cycles:.2f}" for key, cycles in price.items())
        lines.append(f"{quoted(name)} = {{ {cells} }}")
    low, high = error
    lines += ["", "[timing.error]", f"low = {low:.3f}", f"high = {high:.3f}", ""]
    return "\n".join([*lines, *_driver_lines(), ""])


@cache
def _driver_lines() -> Sequence[str]:
    """Return the lines of the table `[timing.driver]`.

    Its values are from publications, so they do not depend on the machine.
    """
    driver = tomllib.loads(targets.target_text(NAME) or "")["timing"]["driver"]
    return ["[timing.driver]", *(f"{key} = {json.dumps(value)}" for key, value in driver.items())]


def documented() -> Parameters:
    """Return the core parameters of the built-in target; missing ones have default values."""
    return parameters_of(tomllib.loads(targets.target_text(NAME) or "")["timing"])


def parameters_of(timing: Mapping[str, Any]) -> Parameters:
    """Return the core parameters in a target's table `[timing]`.

    Missing ones have default values.
    """
    found = start_values() | {name: float(timing["core"][name]) for name in (*CORE, *COUNTS)}
    for unit in UNITS:
        known = timing["unit"][unit]
        found[latency(unit)] = float(known["latency_cycles"])
        found[interval(unit)] = float(known["interval_cycles"])
        found[queue(unit)] = float(known["queue"])
    stages = timing.get("pipeline", {})
    found |= {pipeline(name): float(stages[name]) for name in PIPELINE if name in stages}
    calls = stages.get("calls", {})
    return found | {overlap(name): float(calls[name]) for name in OVERLAP if name in calls}


def target_text(timing: str) -> str:
    """Return the text of the built-in target in which `timing` replaces the table `[timing]`."""
    known = targets.target_text(NAME) or ""
    head = known.partition("[timing]")[0]
    return head + timing


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.3f}"


def quoted(text: str) -> str:
    """Format a TOML string; spaces replace unprintable characters, which TOML does not allow."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


LARGEST_ERROR = 0.10
"""Maximum median error on the check programs, as a share, for using the target as default."""
LARGEST_IMPRECISE_ERROR = 0.05
"""Maximum median error on the check programs, as a share, if most experiments missed the requested
precision. Then only the check programs show that the calibration is usable.
"""
FEWEST_CHECKS = 20
"""Minimum number of check programs; each point of a check experiment is one program."""
FEWEST_QUICK_CHECKS = 8
"""Minimum number of check programs of a quick calibration."""
LARGEST_QUICK_ERROR = 0.15
"""Maximum median error of a quick calibration on the check programs, as a share."""
_MOST = 0.5


class Quality(NamedTuple):
    """Quality of a calibration: precision of its experiments, and errors on check programs."""

    experiments: int
    precise: int  # number of experiments that met the requested precision
    checks: int  # number of check programs
    check_error: float  # median error on the check programs, as a share of their time
    compiler: str | None  # version of clang; None: not recorded, or several versions
    base: str | None = None  # shipped target that a quick calibration scaled

    @property
    def doubt(self) -> str | None:
        """Reason not to use the target as the machine's default; None if the quality suffices."""
        fewest, largest = FEWEST_CHECKS, LARGEST_ERROR
        if self.base is not None:
            fewest, largest = FEWEST_QUICK_CHECKS, LARGEST_QUICK_ERROR
        if self.checks < fewest:
            return f"only {self.checks} check programs were measured; at least {fewest} are needed"
        error = (
            "the predicted times of half of the check programs are off by more than "
            f"{self.check_error:.1%}"
        )
        if self.check_error > largest:
            return f"{error}; the limit is {largest:.0%}"
        if self.base is not None:
            return None
        missed = self.experiments - self.precise
        if missed > _MOST * self.experiments and self.check_error > LARGEST_IMPRECISE_ERROR:
            experiments = (
                f"{missed} of {self.experiments} experiments did not reach their precision"
            )
            return f"{experiments}, and {error}"
        return None

    def text(self) -> str:
        """Return the table `[timing.calibration]` of the target file as TOML."""
        lines = [
            "[timing.calibration]",
            f"experiments = {self.experiments}",
            f"precise = {self.precise}",
            f"checks = {self.checks}",
            f"check_error = {self.check_error:.3f}",
        ]
        if self.compiler is not None:
            lines.append(f"compiler = {quoted(self.compiler)}")
        if self.base is not None:
            lines.append(f"base = {quoted(self.base)}")
        if self.doubt is not None:
            lines.append(f"doubt = {quoted(self.doubt)}")
        return "\n".join([*lines, "", ""])


def is_quick(text: str) -> bool:
    """Return true if a target file, given by its text, is from a quick calibration."""
    try:
        timing = tomllib.loads(text).get("timing", {})
    except tomllib.TOMLDecodeError:
        return False
    return "base" in timing.get("calibration", {})


def quality(
    notes: Sequence[Sequence[str]],
    compilers: Sequence[str | None],
    errors: Sequence[float],
    base: str | None = None,
) -> Quality:
    """Summarise the quality of a calibration.

    Args:
        notes: notes of each experiment.
        compilers: version of the compiler for each experiment.
        errors: error on each check program, as a share of its time.
        base: shipped target that a quick calibration scaled.
    """
    precise = sum(IMPRECISE not in one for one in notes)
    known = {*compilers}
    compiler = known.pop() if len(known) == 1 else None
    off = median(map(abs, errors)) if errors else 0.0
    return Quality(len(notes), precise, len(errors), off, compiler, base)
