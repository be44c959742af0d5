"""The quality of a calibration, and the reason against it as the default of a machine."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from slowpath.experiments.cores.description import quoted
from slowpath.experiments.results.documents import IMPRECISE

LARGEST_ERROR = 0.10
"""Of half of the check programs."""
LARGEST_IMPRECISE_ERROR = 0.05
"""The same where most experiments missed their precision: then check programs alone are a proof."""
FEWEST_CHECKS = 20
"""Check programs that tell something: each point of such an experiment is one."""
_MOST = 0.5


class Quality(NamedTuple):
    """Precision of the experiments, and errors on programs that the model was not fitted to."""

    experiments: int
    precise: int  # those that met the precision that was asked for
    checks: int  # check programs
    check_error: float  # of half of them at most, in parts of their time
    compiler: str | None  # None: not recorded, or several

    @property
    def doubt(self) -> str | None:
        """The reason against it as the default of a machine; None where it is good enough."""
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
        """The table of the target file."""
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
        notes: of each experiment.
        compilers: of each experiment.
        errors: of each check program, in parts of its time.
    """
    precise = sum(IMPRECISE not in one for one in notes)
    known = {*compilers}
    compiler = known.pop() if len(known) == 1 else None
    off = median(map(abs, errors)) if errors else 0.0
    return Quality(len(notes), precise, len(errors), off, compiler)
