"""Text of a machine's target file, and the quality of its calibration."""

import tomllib
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple, TypedDict

from slowpath.calibrate.core_model.parameters import (
    CORE,
    COUNTS,
    OVERLAP,
    PIPELINE,
    UNITS,
    Parameters,
    interval,
    latency,
    overlap,
    pipeline,
    queue,
    returns_are_predicted,
    start_values,
)
from slowpath.calibrate.experiments.documents import IMPRECISE
from slowpath.core.engine import targets

NAME = "linux-xdp"
_PLACEHOLDER = 60.0
"""Assumed cycles of an unknown call: in the middle of the known prices."""


class CallPrice(TypedDict, total=False):
    """Price of a call in cycles: in general, when it returns 0, and for each byte."""

    cycles: float
    zero_cycles: float
    byte_cycles: float


class Machine(TypedDict):
    """The measured machine."""

    machine: str
    date: str
    clock_hz: int


def timing_text(
    machine: Machine,
    parameters: Parameters,
    calls: Mapping[str, CallPrice],
    error: tuple[float, float],
) -> str:
    """Return the table `[timing]` with its subtables; `error` has the ends of the interval."""
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
        "",
        "[timing.pipeline]",
        *(f"{name} = {_number(parameters[pipeline(name)])}" for name in PIPELINE),
    ]
    if returns_are_predicted(parameters):
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
    return "\n".join(lines)


def documented() -> Parameters:
    """Return the core parameters of the documented machine; missing ones have start values."""
    timing = tomllib.loads(targets.target_text(NAME) or "")["timing"]
    found = start_values() | {name: float(timing["core"][name]) for name in (*CORE, *COUNTS)}
    for unit in UNITS:
        known = timing["unit"][unit]
        found[latency(unit)] = float(known["latency_cycles"])
        found[interval(unit)] = float(known["interval_cycles"])
        found[queue(unit)] = float(known["queue"])
    return found


def target_text(timing: str) -> str:
    """Return the whole target description with another `[timing]`."""
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
"""Maximum median error on the check programs."""
LARGEST_IMPRECISE_ERROR = 0.05
"""The same limit if most experiments missed their precision: the check programs are then the only
evidence."""
FEWEST_CHECKS = 20
"""Minimum number of check programs; each point of a check experiment is one."""
_MOST = 0.5


class Quality(NamedTuple):
    """Precision of the experiments, and errors on programs that the model was not fitted to."""

    experiments: int
    precise: int  # experiments that met the requested precision
    checks: int  # number of check programs
    check_error: float  # median error on the check programs, as a share of their time
    compiler: str | None  # version of clang; None: not recorded, or several

    @property
    def doubt(self) -> str | None:
        """Reason not to make the target a machine's default; None if it is good enough."""
        if self.checks < FEWEST_CHECKS:
            return f"{self.checks} check programs were measured; {FEWEST_CHECKS} tell something"
        error = f"half of the check programs are off by more than {self.check_error:.1%}"
        if self.check_error > LARGEST_ERROR:
            return f"{error}; {LARGEST_ERROR:.0%} is good enough"
        missed = self.experiments - self.precise
        if missed > _MOST * self.experiments and self.check_error > LARGEST_IMPRECISE_ERROR:
            experiments = f"{missed} of {self.experiments} experiments missed their precision"
            return f"{experiments}, and {error}"
        return None

    def text(self) -> str:
        """Return the table `[timing.calibration]` of the target file."""
        lines = [
            "[timing.calibration]",
            f"experiments = {self.experiments}",
            f"precise = {self.precise}",
            f"checks = {self.checks}",
            f"check_error = {self.check_error:.3f}",
        ]
        if self.compiler is not None:
            lines.append(f"compiler = {quoted(self.compiler)}")
        if self.doubt is not None:
            lines.append(f"doubt = {quoted(self.doubt)}")
        return "\n".join([*lines, "", ""])


def quality(
    notes: Sequence[Sequence[str]], compilers: Sequence[str | None], errors: Sequence[float]
) -> Quality:
    """Return the quality of a calibration.

    Args:
        notes: notes of each experiment.
        compilers: version of the compiler for each experiment.
        errors: error on each check program, as a share of its time.
    """
    precise = sum(IMPRECISE not in one for one in notes)
    known = {*compilers}
    compiler = known.pop() if len(known) == 1 else None
    off = median(map(abs, errors)) if errors else 0.0
    return Quality(len(notes), precise, len(errors), off, compiler)
