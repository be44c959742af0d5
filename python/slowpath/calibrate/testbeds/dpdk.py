"""Test beds for DPDK: C programs that call its libraries, and SWX pipelines in its interpreter.

Neither needs a network card or huge pages. An experiment sweeps a parameter over several values,
its points. One generated program visits all points repeatedly, in random order, and measures its
own time. Each visit rebuilds the tables and yields one observation of each point.

The programs of `dpdk-swx` time SWX pipelines, which DPDK's library interprets. Each point has two
pipelines in .spec files, with and without the component.
"""

import os
import selectors
import tempfile
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from slowpath.calibrate.experiments.documents import IMPRECISE, Sample
from slowpath.calibrate.experiments.folder import summarise, write
from slowpath.calibrate.experiments.running import BlockResult, Job, Limits, TestBed
from slowpath.calibrate.experiments.specification import Experiment, swept_values
from slowpath.calibrate.testbeds import dpdk_programs, swx_programs
from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from slowpath.measure import environment
from slowpath.measure.dpdk import Process, start, toolchain
from slowpath.measure.machine import chosen_cpu

_FEWEST = 3  # minimum number of visits to all points
_LOOK = 3  # number of visits before the first check of the precision; grows by half with each check
_POLL = 0.2  # seconds between two checks for stop requests


class Program(NamedTuple):
    """A program to compile and run: its C source file and its arguments."""

    source: Path
    arguments: tuple[str, ...] = ()  # further command-line arguments


class Runner:
    """A DPDK test bed that is ready to compile and run the programs of experiments."""

    def __init__(
        self, bed: "DpdkTestBed", folder: Path, limits: Limits, stopping: Stopping
    ) -> None:
        self._binary, self._write = folder / "experiment", bed.write
        self._toolchain = toolchain(f"the test bed {bed.name}")
        self._limits, self._stopping = limits, stopping
        self._cpu = chosen_cpu(limits.cpu)

    def measure(self, job: Job) -> BlockResult:
        """Measure an experiment with its generated program, see `TestBedSession.measure`."""
        name, program = job.experiment["name"], self._write(job)
        job.say("compiling")
        self._toolchain.compile(program.source, self._binary)
        run = _Run(job, self._limits)
        own = [f"{self._limits.seconds:g}", str(_FEWEST), "1", *program.arguments]
        with start(self._binary, self._cpu, own) as process:
            watch = environment.begin(self._cpu, thread=process.pid)
            try:
                failure = self._follow(process, run)
            finally:
                record = watch.end()
                with suppress(ProcessLookupError):
                    process.kill()
        if not run.samples and not run.errors and not self._stopping.asked:
            raise InputError(
                codes.TESTBED_FAILED,
                name,
                f"the program on DPDK failed: {failure or 'without a message'}",
            )
        return BlockResult(run.samples, run.errors, not self._stopping.asked, record, run.notes())

    def _follow(self, process: Process, run: "_Run") -> str:
        """Read the output into `run` until it ends, times are precise, or a stop is requested.

        Return the last line of standard error if the program ended by itself, else an empty string.
        """
        if process.stdout is None or process.stderr is None:
            return ""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            left = b""
            while not self._stopping.asked:
                if not selector.select(_POLL):
                    continue
                read = os.read(process.stdout.fileno(), 1 << 16)
                *lines, left = (left + read).split(b"\n")
                if not all(run.record_line(line.decode()) for line in lines):
                    return ""
                if not read:
                    break
            else:
                return ""
        words = process.stderr.read().decode(errors="replace").strip().splitlines()
        return words[-1] if words else ""


class _Run:
    """Samples and errors that a running program has printed so far."""

    def __init__(self, job: Job, limits: Limits) -> None:
        self._job, self._precision = job, limits.precision
        self._unit = 1.0
        self._look = _LOOK
        self._precise = False
        self.visits = 0
        self.samples: list[Sample] = []
        self.errors: dict[int, str] = {}

    def record_line(self, line: str) -> bool:
        """Record a line of the program's output.

        Return false once the samples are precise enough.
        """
        match line.split(maxsplit=4):
            case ["hz", hertz] if self._job.metric == "ns":
                self._unit = 1e9 / float(hertz)
            case ["sample", value, visit, component, baseline]:
                times = float(component) * self._unit, float(baseline) * self._unit
                self.samples.append(Sample(int(value), int(visit), *times))
            case ["error", value, *reason]:
                self.errors[int(value)] = " ".join(reason)
            case ["visit", number]:
                self.visits = int(number)
                self._job.say(f"all points measured {self.visits} times")
                return not self._is_enough()
        return True

    def _is_enough(self) -> bool:
        """Return true if the samples are precise enough to end the measurement.

        The precision is checked rarely. Stopping at the first narrow interval would favour
        intervals that are too narrow by chance.
        """
        if self.visits < self._look:
            return False
        self._look += max(1, self._look // 2)
        points = summarise(self.samples, exact=False)
        widths = [
            (one["high"] - one["low"]) / 2 / one["program"]
            for one in points
            if one["low"] is not None and one["high"] is not None
        ]
        self._precise = len(widths) == len(points) and max(widths, default=1) <= self._precision
        return self._precise

    def notes(self) -> list[str]:
        return [] if self._precise else [IMPRECISE]


class DpdkTestBed(TestBed):
    """Base class of DPDK test beds, whose programs measure their own time."""

    metrics = ("ns", "cycles")

    @abstractmethod
    def write(self, job: Job) -> Program:
        """Write the source of an experiment's program to the job's folder; return the program."""

    @contextmanager
    def open(self, limits: Limits, stopping: Stopping) -> Iterator[Runner]:
        """Prepare the test bed, as described in `TestBed.open`.

        Raises:
            UnavailableError: when a tool or DPDK is missing; it has the command that installs it.
        """
        with tempfile.TemporaryDirectory(prefix="slowpath-") as folder:
            yield Runner(self, Path(folder), limits, stopping)


class Dpdk(DpdkTestBed):
    """The test bed `dpdk`, which times generated C programs that call DPDK's libraries."""

    name = target = "dpdk"
    says = "Times programs on DPDK in user space, with packets in memory"
    templates, ending = dpdk_programs.FOLDER, ".c"

    def check(self, experiment: Experiment) -> None:
        """Check that the test bed can run an experiment, as described in `TestBed.check`."""
        dpdk_programs.dpdk_program(experiment)

    def write(self, job: Job) -> Program:
        """Write the C source of an experiment's program to the folder of the job."""
        source = job.folder / f"{job.experiment['name']}.c"
        write(source, dpdk_programs.dpdk_program(job.experiment))
        return Program(source)


class DpdkSwx(DpdkTestBed):
    """The test bed `dpdk-swx`, which times SWX pipelines in DPDK's interpreter."""

    name = target = "dpdk-swx"
    says = "Times pipelines of the P4 compiler p4c in DPDK's interpreter"
    templates, ending = swx_programs.FOLDER, ".spec"

    def check(self, experiment: Experiment) -> None:
        """Check that the test bed can run an experiment, as described in `TestBed.check`."""
        swx_programs.swx_driver(experiment)
        swx_programs.swx_pipelines(experiment, swept_values(experiment)[0])

    def write(self, job: Job) -> Program:
        """Write a program that times pipelines and, for each parameter value, two pipelines.

        The pipelines are with and without the experiment's component, and have an input packet and
        expected outputs.
        """
        for value in job.points:
            write_pipelines(job.experiment, value, job.folder)
        source = job.folder / f"{job.experiment['name']}.c"
        write(source, swx_programs.swx_driver(job.experiment))
        return Program(source, (str(job.folder),))


class LoadedSwx(DpdkSwx):
    """SWX pipelines of experiments for the test bed `load`, which sends packets to them."""

    def check(self, experiment: Experiment) -> None:
        """Check that the test bed can run an experiment, as described in `TestBed.check`."""
        super().check(experiment)
        swx_programs.swx_load(experiment)


def write_pipelines(experiment: Experiment, value: int, folder: Path) -> swx_programs.Pipelines:
    """Write the pipelines for a value of the swept parameter, with and without the component.

    Files with the input packet and the expected outputs are written, too.
    """
    name = f"{experiment['component']['sweep']['parameter']}-{value}"
    found = swx_programs.swx_pipelines(experiment, value)
    write(folder / f"{name}.packet", found.packet.hex() + "\n")
    for role, pipeline in ((name, found.component), (f"{name}.without", found.baseline)):
        write(folder / f"{role}.spec", pipeline.text)
        write(folder / f"{role}.sent", pipeline.sent.hex() + "\n")
    return found


DPDK, SWX, LOADED_SWX = Dpdk(), DpdkSwx(), LoadedSwx()
