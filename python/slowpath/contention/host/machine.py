"""What a profile has to know of this machine: its CPUs, and the cache that they share."""

from typing import NamedTuple

from slowpath.cli.errors import UnavailableError
from slowpath.contention.host.mixes import Places
from slowpath.contention.host.score import probe_bytes
from slowpath.contention.host.setup import Setup
from slowpath.engine import neighbours
from slowpath.engine.kernel.stations import Kernel, open_kernel
from slowpath.measurements.machine.files import Files
from slowpath.measurements.machine.processor import processor

_PROBES = (64 * 1024, 64 * 1024 * 1024)


class Machine(NamedTuple):
    """This machine."""

    name: str
    places: Places
    cache_bytes: int
    probe_bytes: int
    kernel: Kernel | None  # for programs


def this_machine(setup: Setup) -> Machine:
    """CPUs for a setup, their cache, and the kernel if it is about a program.

    Raises:
        UnavailableError: when there are too few CPUs, the size of the cache is not known, or the
            kernel loads no programs for this process.
    """
    what_for = "a function beside a competitor"
    if setup.function.pattern == "pipeline":
        what_for = "a pipeline, which has an accelerator on a CPU of its own,"
    cpus = neighbours.cpus(setup.cpus, 2, what_for)
    facts = processor(Files(), cpus[0])
    sizes = [(cache["level"] or 0, cache["bytes"] or 0) for cache in facts["caches"]]
    cache = max((size for size in sizes if size[1]), default=None)
    if cache is None:
        reason = "the kernel does not tell how large the last-level cache is (/sys/devices/system)"
        raise UnavailableError(reason)
    least, most = _PROBES
    private = max((size for level, size in sizes if level < cache[0]), default=0)
    probe = min(max(probe_bytes(cache[1], private), least), most)
    kernel = None if setup.function.program is None else open_kernel()
    return Machine(facts["model"] or "this host", Places(cpus), cache[1], probe, kernel)
