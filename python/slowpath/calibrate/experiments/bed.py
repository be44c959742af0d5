"""Interface of test beds, and the measured CPU."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from slowpath.calibrate.experiments.documents import Sample
from slowpath.calibrate.experiments.specification import Experiment, Metric
from slowpath.core.jobs.stopping import Stopping
from slowpath.measure.environment import Environment


class Limits(NamedTuple):
    """How well to measure, and for how long."""

    precision: float  # half the interval of a program's time, as a share of it
    seconds: float  # at most, for one experiment in all its blocks
    cpu: int | None  # None: the last one that this process may use


class Job(NamedTuple):
    """An experiment that is to be measured."""

    experiment: Experiment
    metric: Metric
    points: Sequence[int]
    folder: Path  # where generated programs go
    say: Callable[[str], None]  # what is being done


class Measured(NamedTuple):
    """What a test bed found out."""

    samples: list[Sample]
    errors: Mapping[int, str]  # by value of the parameter, why nothing is known
    complete: bool  # whether all was done that was asked for
    environment: Environment | None = None
    notes: Sequence[str] = ()
    paths: Mapping[str, str] = MappingProxyType({})
    """By names such as `component-16` and `baseline-16`, programs' paths as a core sees them."""


class Station(Protocol):
    """A test bed at work."""

    def measure(self, job: Job) -> Measured:
        """Measures an experiment in one block, or as much of it as there is time for.

        Raises:
            InputError: when it cannot be measured at all.
        """


class Bed(Protocol):
    """A test bed."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def says(self) -> str:
        """What it is, in a sentence."""

    @property
    def target(self) -> str:
        """Which target it tells about."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """What it can tell of a packet; none: it only writes programs."""

    @property
    def exact(self) -> bool:
        """Whether it computes."""

    @property
    def blocks(self) -> int:
        """In how many blocks of time an experiment is measured, with others between them."""

    def kinds(self) -> Sequence[str]:
        """The components that it has."""

    def check(self, experiment: Experiment) -> None:
        """Finds out whether it can be given an experiment of such a component.

        Raises:
            InputError: when not; it says why.
        """

    def open(self, limits: Limits, stopping: Stopping) -> AbstractContextManager[Station]:
        """Makes it ready.

        Raises:
            InputError: when this machine lacks something; it says what to do.
        """
