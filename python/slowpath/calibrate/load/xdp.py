"""Offers load to XDP programs, on a pair of virtual devices between two network namespaces."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from slowpath.calibrate.experiments.specification import swept_values
from slowpath.calibrate.load.bed import OfferedProgram, Offering
from slowpath.calibrate.load.settings import LoadSettings
from slowpath.calibrate.testbeds import LOAD
from slowpath.calibrate.testbeds.linux_xdp import witness_of
from slowpath.calibrate.testbeds.xdp_files import Compiler, Written, XdpFiles
from slowpath.core.engine import kernel, objects
from slowpath.core.jobs import Stopping

NOTES = (
    "One kernel sends, forwards and receives, so rates include its virtual devices and are not "
    "those of a network card.",
    "Latencies include the wake-up of a sleeping CPU, so they can fall with a higher rate.",
)


@contextmanager
def open_xdp(settings: LoadSettings, stopping: Stopping) -> Iterator[Iterator[OfferedProgram]]:
    """Yield the programs to measure, which are written to files just before.

    Raises:
        InputError: when this machine lacks something, with advice.
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
