"""The target file of a machine: that of the documented machine with another `[timing]`."""

import tomllib
from collections.abc import Mapping
from typing import TypedDict

from slowpath.engine import targets
from slowpath.experiments.cores.parameters import (
    CORE,
    COUNTS,
    OVERLAP,
    PIPELINE,
    UNITS,
    Parameters,
    first,
    interval,
    latency,
    overlap,
    pipeline,
    queue,
    returns_are_predicted,
)

NAME = "linux-xdp"
_PLACEHOLDER = 60.0
"""Cycles of a call that nothing is known of: in the middle of those that are known."""


class CallPrice(TypedDict, total=False):
    """Cycles of a call."""

    cycles: float
    zero_cycles: float
    byte_cycles: float


class Machine(TypedDict):
    """What is measured on."""

    machine: str
    date: str
    clock_hz: int


def timing_text(
    machine: Machine,
    parameters: Parameters,
    calls: Mapping[str, CallPrice],
    error: tuple[float, float],
) -> str:
    """The table `[timing]` with all that belongs to it."""
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
    """The core of the documented machine; what its description leaves out is as usual."""
    timing = tomllib.loads(targets.target_text(NAME) or "")["timing"]
    found = first() | {name: float(timing["core"][name]) for name in (*CORE, *COUNTS)}
    for unit in UNITS:
        known = timing["unit"][unit]
        found[latency(unit)] = float(known["latency_cycles"])
        found[interval(unit)] = float(known["interval_cycles"])
        found[queue(unit)] = float(known["queue"])
    return found


def target_text(timing: str) -> str:
    """The whole description."""
    known = targets.target_text(NAME) or ""
    head = known.partition("[timing]")[0]
    return head + timing


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.3f}"


def quoted(text: str) -> str:
    """A string of TOML; what cannot be printed, which TOML does not take as it is, is a space."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
