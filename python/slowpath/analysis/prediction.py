"""What is predicted of a path before it is measured: by the target `linux-xdp`."""

from functools import cache

from slowpath import engine
from slowpath.analysis.options import choose_target
from slowpath.cli.calibration import CALIBRATED


@cache
def _target() -> engine.Target:
    return choose_target(CALIBRATED)


def predicted(case: engine.Case) -> float | None:
    """Nanoseconds of one run of a path; None where the path depends on answers of the kernel."""
    flow = engine.flow(case)
    return None if flow is None else engine.nanoseconds([flow], _target())[0]


def predicted_for() -> str | None:
    """The machine whose model it is, and the date of its experiments."""
    known = _target().machine
    return None if known is None else f"{known[0]}, {known[1]}"
