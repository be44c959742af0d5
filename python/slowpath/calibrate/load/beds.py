"""Sends packets at given rates to XDP programs, and to SWX pipelines in DPDK's interpreter.

XDP programs run on a pair of virtual devices between two network namespaces. For pipelines, one
process sends packets and receives those that come back. Another process runs the pipeline. A
net_memif device connects them, through an abstract socket, which has no file.
"""

import os
import selectors
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from slowpath.calibrate.experiments.folder import write
from slowpath.calibrate.experiments.specification import Experiment, swept_values
from slowpath.calibrate.load.settings import LoadSettings
from slowpath.calibrate.testbeds import LOAD
from slowpath.calibrate.testbeds.dpdk import write_pipelines
from slowpath.calibrate.testbeds.linux_xdp import witness_of
from slowpath.calibrate.testbeds.swx_programs import swx_load
from slowpath.calibrate.testbeds.xdp_files import Compiler, Written, XdpFiles
from slowpath.core import codes
from slowpath.core.engine import kernel, objects
from slowpath.core.engine.kernel import OfferedTrial
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from slowpath.measure.dpdk import Link, Process, start, toolchain

MARK = 16
"""Number of bytes that the sender appends to each packet: the packet's number and the time of
sending.
"""

Offering = Callable[[float | None, float], OfferedTrial]
"""Function that sends packets to a program. Arguments are the rate in packets per second (None: as
fast as possible) and the time in seconds. It returns early after a stop request, and raises an
`InputError` if packets cannot be sent or counted.
"""


class OfferedProgram(NamedTuple):
    """A program to which packets can be sent, at one value of the experiment's parameter."""

    experiment: Experiment
    value: int  # of the swept parameter
    packet: bytes  # without its mark
    open: Callable[[], AbstractContextManager[Offering]]
    """Starts the program; raises an `InputError` if it does not start."""

    @property
    def parameter(self) -> str:
        """Name of the swept parameter."""
        return self.experiment["component"]["sweep"]["parameter"]


XDP_NOTES = (
    "One kernel sends, forwards and receives, so rates include its virtual devices and are not "
    "those of a network card.",
    "Latencies include the wake-up of a sleeping CPU, so they can fall with a higher rate.",
)


@contextmanager
def open_xdp(settings: LoadSettings, stopping: Stopping) -> Iterator[Iterator[OfferedProgram]]:
    """Yield an iterator over the XDP programs to measure.

    Each program is written to a file when the iterator reaches it.

    Raises:
        InputError: when this machine lacks something; it has advice.
    """
    running = kernel.open_kernel()
    compiler = Compiler(LOAD)

    @contextmanager
    def opened(written: Written) -> Iterator[Offering]:
        compiled = compiler.begin(written).result()
        subject = objects.Subject(written.file, compiled.object, compiled.number, None)
        cpus, native = (settings.sender, settings.program), settings.attachment == "native"
        load = kernel.open_offered_load(running, subject, witness_of(written), cpus, native=native)
        with stopping.calling(load.stop):
            yield partial(kernel.offer, load)

    def programs() -> Iterator[OfferedProgram]:
        for experiment in settings.experiments:
            folder = settings.folder_of(experiment)
            files = XdpFiles(experiment, folder, sends_back=True)
            for value in swept_values(experiment):
                written = files.pair(value).component
                open_ = partial(opened, written)
                yield OfferedProgram(experiment, value, written.program.packet, open_)
                files.forget()

    try:
        yield programs()
    finally:
        compiler.stop()


PIPELINE_NOTES = (
    "Both processes copy each packet into or out of memory that they share, so rates include "
    "these copies and are not those of a network card.",
    "Both CPUs poll without pause, so latencies include no wake-ups; they include the time until "
    "a batch of packets is full or the pipeline runs out of instructions.",
)
_POLL = 0.1  # seconds between two checks for stop requests and ended processes
_LINES = 3  # number of last lines of a failed process that an error shows


@contextmanager
def open_pipelines(
    settings: LoadSettings, stopping: Stopping
) -> Iterator[Iterator[OfferedProgram]]:
    """Yield an iterator over the pipelines to measure.

    The files of each pipeline are written when the iterator reaches it.

    Raises:
        UnavailableError: when a tool or DPDK is missing; it has the command that installs it.
    """
    tools = toolchain(f"the test bed {LOAD} with --attach dpdk-swx")

    @contextmanager
    def opened(binary: Path, folder: Path, value: int) -> Iterator[Offering]:
        if not binary.exists():
            tools.compile(folder / f"{folder.name}.c", binary)
        with (
            closing(_Pair(settings, stopping, binary)) as pair,
            stopping.calling(pair.kill),
        ):
            pair.begin("pipeline", folder, value)
            pair.begin("sender", folder, value)
            yield pair.offer

    def programs(binaries: Path) -> Iterator[OfferedProgram]:
        for experiment in settings.experiments:
            folder = settings.folder_of(experiment)
            write(folder / f"{folder.name}.c", swx_load(experiment))
            for value in swept_values(experiment):
                packet = write_pipelines(experiment, value, folder).packet
                open_ = partial(opened, binaries / folder.name, folder, value)
                yield OfferedProgram(experiment, value, packet, open_)

    with tempfile.TemporaryDirectory(prefix="slowpath-") as binaries:
        yield programs(Path(binaries))


class _Pair:
    """Two connected processes: one runs a pipeline, the other one sends packets to it.

    They count packets in shared memory.
    """

    def __init__(self, settings: LoadSettings, stopping: Stopping, binary: Path) -> None:
        self._cpus = {"pipeline": settings.program, "sender": settings.sender}
        self._stopping, self._binary = stopping, binary
        self._counts = os.memfd_create("slowpath-counts")
        os.ftruncate(self._counts, os.sysconf("SC_PAGE_SIZE"))
        self._processes: dict[str, tuple[Process, IO[bytes]]] = {}
        self._read = b""  # output of the latest process, behind the lines that were answered

    def begin(self, role: str, folder: Path, value: int) -> None:
        """Start one of the processes, and wait until it is ready.

        `role` is `pipeline` or `sender`. `folder` and `value` identify the pipeline.

        Raises:
            InputError: when the process fails.
        """
        if self._stopping.asked:
            return
        end = "server" if role == "pipeline" else "client"
        socket = f"slowpath-{os.getpid()}-{self._counts}"
        device = f"net_memif0,role={end},socket={socket},socket-abstract=yes"
        words = [role, str(folder), str(value), str(self._counts)]
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        link = Link(device, self._counts)
        process = start(self._binary, self._cpus[role], words, errors, link)
        self._processes[role] = process, errors
        self._answer(process)

    def offer(self, rate: float | None, seconds: float) -> OfferedTrial:
        """Send packets at `rate` packets per second for a time, and return the counts.

        See `Offering`.
        """
        counts = [0] * 9
        if not self._stopping.asked:
            process, _ = self._processes["sender"]
            if process.stdin is not None:
                with suppress(BrokenPipeError):  # the answer tells the reason
                    os.write(process.stdin.fileno(), b"%.17g %.17g\n" % (rate or 0, seconds))
            kind, _, words = self._answer(process).partition(" ")
            if kind == "error":
                raise InputError(codes.TESTBED_FAILED, LOAD, words)
            counts = [int(word) for word in words.split()] or counts
        return OfferedTrial._make([*counts[:9], counts[9:]])

    def _answer(self, process: Process) -> str:
        """Return the next line that a process prints; an empty string after a stop request.

        Raises:
            InputError: when one of the processes ends.
        """
        if process.stdout is None:
            return ""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not self._stopping.asked:
                if selector.select(_POLL):
                    read = os.read(process.stdout.fileno(), 1 << 16)
                    self._read += read
                    if not read:
                        process.wait()
                self._check_alive()
                line, ended, rest = self._read.partition(b"\n")
                if ended:
                    self._read = rest
                    return line.decode()
        return ""

    def _check_alive(self) -> None:
        """Check that both processes are running, unless a stop was requested.

        If one process fails, the other one ends without a failure; the error is about the failed
        one.

        Raises:
            InputError: when a process has ended.
        """
        ended = {
            role: (process.returncode, errors)
            for role, (process, errors) in self._processes.items()
            if process.poll() is not None
        }
        if self._stopping.asked or not ended:
            return
        role = next((role for role, (code, _) in ended.items() if code), next(iter(ended)))
        code, errors = ended[role]
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()[-_LINES:]
        how = f"signal {-code}" if code < 0 else f"code {code}"
        reason = f"the process of the {role} ended with {how}: {'; '.join(lines) or 'no message'}"
        raise InputError(codes.TESTBED_FAILED, LOAD, reason)

    def kill(self) -> None:
        """Kill both processes."""
        for process, _ in self._processes.values():
            process.kill()

    def close(self) -> None:
        """Kill both processes, and release their files and shared memory."""
        self.kill()
        for process, errors in self._processes.values():
            with process, errors:
                pass
        os.close(self._counts)
