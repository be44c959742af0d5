"""Targets with known prices: costs are computed instead of measured.

The slowest path of each program is the one that the experiment is about, with and without the
component. So the difference is exactly the component, and a model of it has to come out exactly
right.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from slowpath.bound.analyst import RunContext, Session
from slowpath.bound.options import WrittenOptions, read_request
from slowpath.calibrate.experiments.bed import Job, Limits, Measured
from slowpath.calibrate.experiments.documents import Sample
from slowpath.calibrate.experiments.specification import Experiment, Metric, points_of
from slowpath.calibrate.programs.xdp import ENTRY, kinds, xdp_program
from slowpath.calibrate.testbeds.xdp_files import FLAGS, Written, XdpFiles
from slowpath.core.errors import InputError
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.programs.selection import Selection

_SECONDS = 20.0
"""For one program."""


class Counted(NamedTuple):
    """A test bed that computes."""

    name: str
    says: str
    metrics: Sequence[Metric]
    component: str  # of the target, whose cost is taken
    metric: str  # by which paths are the slowest
    cores: int | None  # so few that the component is the bottleneck
    exact: bool = True
    blocks: int = 1

    @property
    def target(self) -> str:
        """The target has the same name."""
        return self.name

    def kinds(self) -> Sequence[str]:
        """As `Bed` has it."""
        return kinds()

    def check(self, experiment: Experiment) -> None:
        """As `Bed` has it."""
        xdp_program(experiment, points_of(experiment)[0], component=True)

    @contextmanager
    def open(self, limits: Limits, stopping: Stopping) -> "Iterator[_Station]":
        """As `Bed` has it."""
        del limits  # what is computed is exact
        yield _Station(self, stopping)


EBPF = Counted(
    "ebpf",
    "Instructions of XDP programs, counted",
    ("instructions",),
    "instructions",
    "instructions",
    None,
)
AGILIO = Counted(
    "agilio-cx-2x40",
    "XDP programs on the Agilio CX 2x40, cycles by its cost model",
    ("cycles",),
    "processing",
    "packetrate",
    1,
)


def _of_any_packet(experiment: Experiment) -> Experiment:
    """The experiment without bytes that vary: the analysis looks at all packets anyway."""
    return {**experiment, "traffic": {**experiment["traffic"], "vary": []}}


class _Station:
    def __init__(self, bed: Counted, stopping: Stopping) -> None:
        self._bed, self._stopping = bed, stopping

    def measure(self, job: Job) -> Measured:
        """As `Station` has it."""
        files = XdpFiles(_of_any_packet(job.experiment), job.folder)
        samples, errors, known = list[Sample](), dict[int, str](), dict[str, float]()
        for value in job.points:
            if self._stopping.asked:
                return Measured(samples, errors, complete=False)
            job.say(f"computing {job.experiment['component']['sweep']['parameter']} = {value:,}")
            try:
                pair = files.pair(value)
                costs = self._cost(pair.component, known), self._cost(pair.baseline, known)
                samples.append(Sample(value, 1, *costs))
            except InputError as problem:
                if not self._stopping.asked:  # else it is why, and the value has no error
                    errors[value] = problem.reason
        return Measured(samples, errors, complete=not self._stopping.asked)

    def _cost(self, written: Written, known: dict[str, float]) -> float:
        """What the slowest packet of a program costs.

        Raises:
            InputError: when that is not known exactly.
        """
        if written.file not in known:
            known[written.file] = self._computed(written)
        return known[written.file]

    def _computed(self, written: Written) -> float:
        options = WrittenOptions(
            selection=Selection((), (ENTRY,)),
            target=self._bed.name,
            metric=self._bed.metric,
            cores=self._bed.cores,
            deadline=_SECONDS,
            cflags=FLAGS,
        )
        session = Session(read_request([written.file], options))
        (analysed,) = session.analyse(RunContext(self._stopping))
        result = analysed.result
        if result["error"] is not None:
            raise InputError(written.file, result["error"])
        guarantee = result["guarantee"]
        if guarantee is None or not guarantee["exact"] or not result["paths"]:
            why = "" if guarantee is None else f" ({guarantee['stopped'] or guarantee['verdict']})"
            raise InputError(written.file, f"its slowest path is not known exactly{why}")
        return result["paths"][0]["cost"][self._bed.component]
