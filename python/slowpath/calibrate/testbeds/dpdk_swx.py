"""Test bed for SWX pipelines, which DPDK's library interprets.

Each point has two pipelines in .spec files, with and without the component.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from slowpath.calibrate.experiments.bed import Job, Limits
from slowpath.calibrate.experiments.folder import write
from slowpath.calibrate.experiments.specification import Experiment, Metric, swept_values
from slowpath.calibrate.programs.swx import kinds, swx_driver, swx_pipelines
from slowpath.calibrate.testbeds.dpdk_process import Program, Runner, opened
from slowpath.core.jobs.stopping import Stopping


class DpdkSwx(NamedTuple):
    """The test bed `dpdk-swx`."""

    name: str = "dpdk-swx"
    says: str = "Pipelines as p4c writes them, in DPDK's interpreter"
    target: str = "dpdk-swx"
    metrics: Sequence[Metric] = ("ns", "cycles")
    exact: bool = False
    blocks: int = 1

    def kinds(self) -> Sequence[str]:
        """Return the supported components, see `Bed.kinds`."""
        return kinds()

    def check(self, experiment: Experiment) -> None:
        """Reject unsupported experiments, see `Bed.check`."""
        swx_driver(experiment)
        swx_pipelines(experiment, swept_values(experiment)[0])

    @contextmanager
    def open(self, limits: Limits, stopping: Stopping) -> Iterator[Runner]:
        """Open the test bed, see `Bed.open`."""
        with opened(self.name, _written, limits, stopping) as runner:
            yield runner


BED = DpdkSwx()


def _written(job: Job) -> Program:
    """Write the program and, by point, two pipelines, their input packet and expected outputs."""
    parameter = job.experiment["component"]["sweep"]["parameter"]
    for value in job.points:
        found, name = swx_pipelines(job.experiment, value), f"{parameter}-{value}"
        write(job.folder / f"{name}.packet", found.packet.hex() + "\n")
        for role, pipeline in ((name, found.component), (f"{name}.without", found.baseline)):
            write(job.folder / f"{role}.spec", pipeline.text)
            write(job.folder / f"{role}.sent", pipeline.sent.hex() + "\n")
    source = job.folder / f"{job.experiment['name']}.c"
    write(source, swx_driver(job.experiment))
    return Program(source, (str(job.folder),))
