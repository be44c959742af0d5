"""The interface that every test bed implements.

A test bed measures or computes the costs of the programs of an experiment.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from slowpath.calibrate.experiments.components import COMPONENTS
from slowpath.calibrate.experiments.documents import Sample
from slowpath.calibrate.experiments.specification import Experiment, Metric
from slowpath.core.jobs import Stopping
from slowpath.measure.environment import Environment


class Limits(NamedTuple):
    """Requested precision, time limit and CPU of measurements."""

    precision: float  # requested half width of a time's 95 % interval, as a share of the time
    seconds: float  # time limit for one experiment, all blocks together
    cpu: int | None  # number of the CPU; None: the last CPU that this process may use


class Job(NamedTuple):
    """An experiment for a test bed to measure, at the requested values of its parameter."""

    experiment: Experiment
    metric: Metric
    points: Sequence[int]  # values of the swept parameter
    folder: Path  # folder for the generated programs
    say: Callable[[str], None]  # gets a description of the current step


class BlockResult(NamedTuple):
    """Samples of one experiment from one block, an uninterrupted period of measuring."""

    samples: list[Sample]
    errors: Mapping[int, str]  # reasons for missing samples, by value of the parameter
    complete: bool  # false if interrupted
    environment: Environment | None = None  # None: nothing was timed
    notes: Sequence[str] = ()
    paths: Mapping[str, str] = MappingProxyType({})
    """Executed paths of programs, as the core model reads them, by names such as `component-16`."""


class TestBedSession(Protocol):
    """A test bed that is ready to measure; `TestBed.open` creates it."""

    def measure(self, job: Job) -> BlockResult:
        """Measure one block of an experiment, one of several periods of time.

        After a stop request, measure only a part of the block.

        Raises:
            InputError: when the experiment cannot be measured at all.
        """


class TestBed(ABC):
    """A test bed: it runs the programs of experiments, or computes their costs."""

    name: str
    """Name of the test bed."""
    says: str
    """Description in one sentence."""
    target: str
    """Name of the target whose costs the test bed measures or computes."""
    templates: Path
    """Folder with a program template for each supported component."""
    ending: str
    """Suffix of the names of these templates."""
    metrics: Sequence[Metric] = ()
    """Metrics that the test bed yields for a packet; empty if it only writes programs."""
    exact = False
    """True if the test bed computes costs instead of measuring them."""
    blocks = 1
    """Number of blocks in which an experiment is measured; other experiments run between them."""

    def kinds(self) -> Sequence[str]:
        """Return the components that the test bed supports."""
        return sorted(
            name for name in COMPONENTS if (self.templates / f"{name}{self.ending}").exists()
        )

    @abstractmethod
    def check(self, experiment: Experiment) -> None:
        """Check that the test bed can run an experiment whose component it supports.

        Raises:
            InputError: if it cannot, with the reason.
        """

    @abstractmethod
    def open(self, limits: Limits, stopping: Stopping) -> AbstractContextManager[TestBedSession]:
        """Prepare the test bed for measurements.

        Raises:
            InputError: when this machine lacks something, with advice.
        """
