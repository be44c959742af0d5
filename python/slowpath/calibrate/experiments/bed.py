"""Interface of test beds."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from slowpath.calibrate.experiments.components import COMPONENTS
from slowpath.calibrate.experiments.documents import Sample
from slowpath.calibrate.experiments.specification import Experiment, Metric
from slowpath.core.jobs.stopping import Stopping
from slowpath.measure.environment import Environment


class Limits(NamedTuple):
    """Precision and time limits of a measurement."""

    precision: float  # half width of a time's 95 % interval, as a share of the time
    seconds: float  # maximum for one experiment, all blocks together
    cpu: int | None  # None: the last CPU that this process may use


class Job(NamedTuple):
    """An experiment to measure."""

    experiment: Experiment
    metric: Metric
    points: Sequence[int]
    folder: Path  # of the generated programs
    say: Callable[[str], None]  # receives a description of the current step


class BlockResult(NamedTuple):
    """Result of measuring one block of an experiment."""

    samples: list[Sample]
    errors: Mapping[int, str]  # by value of the parameter, the reason for missing samples
    complete: bool  # false if interrupted
    environment: Environment | None = None
    notes: Sequence[str] = ()
    paths: Mapping[str, str] = MappingProxyType({})
    """Paths of programs as a core sees them, by names such as `component-16` and `baseline-16`."""


class TestBedSession(Protocol):
    """An open test bed."""

    def measure(self, job: Job) -> BlockResult:
        """Measure one block of an experiment, or the part of it for which there is time.

        Raises:
            InputError: when the experiment cannot be measured at all.
        """


class TestBed(ABC):
    """A test bed."""

    name: str
    """Name of the test bed."""
    says: str
    """Description in one sentence."""
    target: str
    """Name of the target whose costs it yields."""
    templates: Path
    """Folder with a program template for each supported component."""
    ending: str
    """End of the names of these templates."""
    metrics: Sequence[Metric] = ()
    """Metrics that it yields for a packet; empty if it only writes programs."""
    exact = False
    """True if it computes costs instead of measuring them."""
    blocks = 1
    """Number of time blocks of an experiment; other experiments run between them."""

    def kinds(self) -> Sequence[str]:
        """Return the components that it supports."""
        return sorted(
            name for name in COMPONENTS if (self.templates / f"{name}{self.ending}").exists()
        )

    @abstractmethod
    def check(self, experiment: Experiment) -> None:
        """Reject experiments that it cannot run, although it supports their component.

        Raises:
            InputError: with the reason.
        """

    @abstractmethod
    def open(self, limits: Limits, stopping: Stopping) -> AbstractContextManager[TestBedSession]:
        """Prepare the test bed for measurements.

        Raises:
            InputError: when this machine lacks something, with advice.
        """
