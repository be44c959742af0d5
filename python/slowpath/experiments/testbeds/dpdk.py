"""DPDK: a data plane in user space, measured without a network card and without huge pages."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from slowpath.experiments.programs.dpdk import dpdk_program, kinds
from slowpath.experiments.results.folder import write
from slowpath.experiments.specification.documents import Experiment, Metric
from slowpath.experiments.testbeds.bed import Job, Limits
from slowpath.experiments.testbeds.dpdk_process import Program, Runner, opened
from slowpath.work.stopping import Stopping


class Dpdk(NamedTuple):
    """The test bed."""

    name: str = "dpdk"
    says: str = "Programs on DPDK in user space, with packets in memory"
    target: str = "dpdk"
    metrics: Sequence[Metric] = ("ns", "cycles")
    exact: bool = False
    blocks: int = 1

    def kinds(self) -> Sequence[str]:
        """As `Bed` has it."""
        return kinds()

    def check(self, experiment: Experiment) -> None:
        """As `Bed` has it."""
        dpdk_program(experiment)

    @contextmanager
    def open(self, limits: Limits, stopping: Stopping) -> Iterator[Runner]:
        """As `Bed` has it."""
        with opened(self.name, _written, limits, stopping) as runner:
            yield runner


BED = Dpdk()


def _written(job: Job) -> Program:
    source = job.folder / f"{job.experiment['name']}.c"
    write(source, dpdk_program(job.experiment))
    return Program(source)
