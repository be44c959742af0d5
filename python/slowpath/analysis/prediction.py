"""What is predicted of a path before it is measured: by the target `linux-xdp`."""

from functools import cache
from typing import NamedTuple

from slowpath.analysis.options import choose_target
from slowpath.cli.calibration import CALIBRATED
from slowpath.engine import estimates, targets
from slowpath.engine.kernel import stations


@cache
def _target() -> targets.Target:
    return choose_target(CALIBRATED)


class Predicted(NamedTuple):
    """What a path is predicted to take, in nanoseconds."""

    run: float  # a turn of the kernel's loop with the program in it
    program: float  # what the program adds to a turn


def predicted(case: stations.Case) -> Predicted | None:
    """What one run of a path takes; None where the path depends on answers of the kernel."""
    flow = estimates.flow(case)
    if flow is None:
        return None
    run, empty = estimates.nanoseconds([flow, _empty()], _target())
    return Predicted(run, max(0.0, run - empty))


@cache
def _empty() -> estimates.Flow:
    return estimates.flow_of('{"steps": [], "calls": []}')


def predicted_for() -> str | None:
    """The machine whose model it is, the date of its experiments, and doubts about these."""
    known, doubt = _target().machine, _target().doubt
    if known is None:
        return None
    return f"{known[0]}, {known[1]}" + ("" if doubt is None else f"; doubtful: {doubt}")
