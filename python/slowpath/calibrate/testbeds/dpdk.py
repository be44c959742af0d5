"""Test bed for DPDK programs, without a network card or huge pages."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from slowpath.calibrate.experiments.bed import Job, Limits
from slowpath.calibrate.experiments.folder import write
from slowpath.calibrate.experiments.specification import Experiment, Metric
from slowpath.calibrate.programs.dpdk import dpdk_program, kinds
from slowpath.calibrate.testbeds.dpdk_process import Program, Runner, opened
from slowpath.core.jobs.stopping import Stopping


class Dpdk(NamedTuple):
    """The test bed `dpdk`."""

    name: str = "dpdk"
    says: str = "Programs on DPDK in user space, with packets in memory"
    target: str = "dpdk"
    metrics: Sequence[Metric] = ("ns", "cycles")
    exact: bool = False
    blocks: int = 1

    def kinds(self) -> Sequence[str]:
        """Return the supported components, see `Bed.kinds`."""
        return kinds()

    def check(self, experiment: Experiment) -> None:
        """Reject unsupported experiments, see `Bed.check`."""
        dpdk_program(experiment)

    @contextmanager
    def open(self, limits: Limits, stopping: Stopping) -> Iterator[Runner]:
        """Open the test bed, see `Bed.open`."""
        with opened(self.name, _written, limits, stopping) as runner:
            yield runner


BED = Dpdk()


def _written(job: Job) -> Program:
    source = job.folder / f"{job.experiment['name']}.c"
    write(source, dpdk_program(job.experiment))
    return Program(source)
