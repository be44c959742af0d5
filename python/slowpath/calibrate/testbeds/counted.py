"""Test beds that compute costs from the description of a target, instead of measuring them.

The cost of a program is that of its slowest path. It is computed for two programs: with the
component whose cost an experiment determines, and without it. The difference is exactly the cost of
the component, and a fitted model must reproduce it exactly.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.options import WrittenOptions, read_request
from slowpath.calibrate.experiments.documents import Sample
from slowpath.calibrate.experiments.running import BlockResult, Job, Limits, TestBed
from slowpath.calibrate.experiments.specification import Experiment, swept_values
from slowpath.calibrate.testbeds.xdp_files import FLAGS, Written, XdpFiles
from slowpath.calibrate.testbeds.xdp_programs import ENDING, ENTRY, FOLDER, xdp_program
from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from slowpath.core.programs.selection import Selection

_SECONDS = 20.0
"""Time limit for the analysis of a program, in seconds."""


class ComputedTestBed(TestBed):
    """Base class of test beds that compute the costs of programs on a target."""

    templates, ending = FOLDER, ENDING
    exact = True
    component: str
    """Component of the target, such as `processing`, whose cost is computed."""
    metric: str
    """Metric by which the analysis chooses the slowest path."""
    cores: int | None = None
    """Number of cores, small enough that `component` is the bottleneck; None: all cores of the
    target.
    """

    def check(self, experiment: Experiment) -> None:
        """Check that the test bed can run an experiment, as described in `TestBed.check`."""
        xdp_program(experiment, swept_values(experiment)[0], component=True)

    @contextmanager
    def open(self, limits: Limits, stopping: Stopping) -> Iterator["_Station"]:
        """Prepare the test bed, as described in `TestBed.open`."""
        del limits  # computed costs are exact
        yield _Station(self, stopping)


class Ebpf(ComputedTestBed):
    """The test bed `ebpf`, which counts BPF instructions on the slowest path."""

    name = target = "ebpf"
    says = "Counts the instructions of XDP programs, without running them"
    metrics = ("instructions",)
    component = metric = "instructions"


class Agilio(ComputedTestBed):
    """The test bed `agilio-cx-2x40`, which computes cycles on the SmartNIC Agilio CX 2x40."""

    name = target = "agilio-cx-2x40"
    says = "Computes the cycles of XDP programs on the Agilio CX 2x40 by its cost model"
    metrics = ("cycles",)
    component = "processing"
    metric = "packetrate"
    cores = 1


def _of_any_packet(experiment: Experiment) -> Experiment:
    """Return a copy of the experiment in which no packet bytes vary.

    The analysis considers all packets anyway.
    """
    return {**experiment, "traffic": {**experiment["traffic"], "vary": []}}


class _Station:
    def __init__(self, bed: ComputedTestBed, stopping: Stopping) -> None:
        self._bed, self._stopping = bed, stopping

    def measure(self, job: Job) -> BlockResult:
        files = XdpFiles(_of_any_packet(job.experiment), job.folder)
        samples, errors, known = list[Sample](), dict[int, str](), dict[str, float]()
        for value in job.points:
            if self._stopping.asked:
                return BlockResult(samples, errors, complete=False)
            job.say(f"computing {job.experiment['component']['sweep']['parameter']} = {value:,}")
            try:
                pair = files.pair(value)
                costs = self._cost(pair.component, known), self._cost(pair.baseline, known)
                samples.append(Sample(value, 1, *costs))
            except InputError as problem:
                if not self._stopping.asked:  # a stop aborts the analysis; that is not an error
                    errors[value] = problem.reason
        return BlockResult(samples, errors, complete=not self._stopping.asked)

    def _cost(self, written: Written, known: dict[str, float]) -> float:
        """Return the cost of the slowest path of a program.

        `known` has the costs of earlier programs, by file.

        Raises:
            InputError: when the cost is not known exactly.
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
            raise InputError(
                codes.Code(result["code"] or codes.TESTBED_FAILED), written.file, result["error"]
            )
        guarantee = result["guarantee"]
        if guarantee is None or not guarantee["exact"] or not result["paths"]:
            why = "" if guarantee is None else f" ({guarantee['stopped'] or guarantee['verdict']})"
            raise InputError(
                codes.TESTBED_FAILED,
                written.file,
                f"the slowest path of the program is not exact{why}",
            )
        return result["paths"][0]["cost"][self._bed.component]


EBPF, AGILIO = Ebpf(), Agilio()
