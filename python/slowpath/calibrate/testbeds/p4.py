"""Test bed that writes P4 programs without running them.

If the compiler `p4c` is in the PATH, it checks the programs.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from slowpath.calibrate.experiments.bed import BlockResult, Job, Limits, TestBed
from slowpath.calibrate.experiments.folder import write
from slowpath.calibrate.experiments.specification import Experiment, swept_values
from slowpath.calibrate.programs.p4 import FOLDER, p4_program
from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping

_COMPILER = "p4c"
_CHECK = ("--target", "bmv2", "--arch", "v1model", "--parse-only")


class P4(TestBed):
    """The test bed `p4`, which only writes P4 programs."""

    name = target = "p4"
    says = "Writes P4_16 programs for the architecture v1model; measures nothing"
    templates, ending = FOLDER, ".p4"

    def check(self, experiment: Experiment) -> None:
        """Reject experiments that the test bed does not support, see `TestBed.check`."""
        p4_program(experiment, swept_values(experiment)[0], component=True)

    @contextmanager
    def open(self, limits: Limits, stopping: Stopping) -> Iterator["_Writer"]:
        """Open the test bed, see `TestBed.open`."""
        del limits  # nothing is measured
        yield _Writer(stopping)


BED = P4()


class _Writer:
    def __init__(self, stopping: Stopping) -> None:
        self._stopping = stopping
        self._compiler = shutil.which(_COMPILER)

    def measure(self, job: Job) -> BlockResult:
        """Write the P4 programs of all values of the swept parameter; the result has no samples."""
        errors = dict[int, str]()
        parameter = job.experiment["component"]["sweep"]["parameter"]
        for value in job.points:
            if self._stopping.asked:
                return BlockResult([], errors, complete=False)
            job.say(f"writing {parameter} = {value:,}")
            try:
                for component in (True, False):
                    name = f"{parameter}-{value}{'' if component else '.without'}"
                    self._write(job, value, name, component=component)
            except InputError as problem:
                errors[value] = problem.reason
        checked = self._verdict(len(job.points) - len(errors), errors)
        return BlockResult([], errors, complete=True, notes=[f"Programs were written; {checked}."])

    def _verdict(self, accepted: int, errors: Mapping[int, str]) -> str:
        if self._compiler is None:
            return f"{_COMPILER} is not installed"
        return f"{_COMPILER} accepts " + (f"those of {accepted} values" if errors else "them")

    def _write(self, job: Job, value: int, name: str, *, component: bool) -> None:
        program = p4_program(job.experiment, value, component=component)
        source = job.folder / f"{name}.p4"
        write(source, program.text)
        write(job.folder / f"{name}.packet", program.packet.hex() + "\n")
        if component:
            write(job.folder / f"{name}.entries", program.entries)
        if self._compiler is not None:
            _checked(self._compiler, source)


def _checked(compiler: str, source: Path) -> None:
    words = [compiler, *_CHECK, str(source)]
    made = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    if made.returncode:
        first = next(iter(made.stderr.splitlines()), "the compiler failed without a message")
        raise InputError(codes.TESTBED_FAILED, str(source), f"{_COMPILER}: {first}")
