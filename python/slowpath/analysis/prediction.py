"""What is predicted of a path before it is measured: by the target `linux-xdp`."""

from functools import cache

from slowpath.analysis.options import choose_target
from slowpath.cli.calibration import CALIBRATED
from slowpath.engine import estimates, targets
from slowpath.engine.kernel import stations


@cache
def _target() -> targets.Target:
    return choose_target(CALIBRATED)


def predicted(case: stations.Case) -> float | None:
    """Nanoseconds of one run of a path; None where the path depends on answers of the kernel."""
    flow = estimates.flow(case)
    return None if flow is None else estimates.nanoseconds([flow], _target())[0]


def predicted_for() -> str | None:
    """The machine whose model it is, and the date of its experiments."""
    known = _target().machine
    return None if known is None else f"{known[0]}, {known[1]}"
