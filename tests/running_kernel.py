"""What tests of measurements share: whether the kernel can be used, and what it holds."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracles
from slowpath.core.engine import kernel
from slowpath.core.errors import UnavailableError

Held = tuple[set[int], set[int], set[int], set[Path]]
"""Numbers of programs, maps and links that the kernel has, and namespaces that processes are in.

Of processes, those that other tests started meanwhile do not count: insights run what they do not
trust in namespaces, too, and for longer than is waited for here.
"""


def needs_kernel() -> None:
    """Leaves a test out where the kernel runs no programs for us."""
    try:
        kernel.open_kernel()
    except UnavailableError as reason:
        oracles.missing("kernel", str(reason))


def paths_of(document: Any) -> Iterator[Any]:
    """The paths of all programs of a measurement."""
    for program in document["results"]:
        yield from program["paths"]


def held() -> Held:
    """What the kernel holds now."""
    spaces = set()
    for process in Path("/proc").iterdir():
        try:
            if _of_another_worker(int(process.name)):
                continue
            for task in (process / "task").iterdir():
                spaces.add((task / "ns/net").readlink())
        except (OSError, ValueError):  # it has ended, or is no process
            continue
    programs, maps, links = kernel.open_kernel().objects()
    return set(programs), set(maps), set(links), spaces


def _of_another_worker(process: int) -> bool:
    """Whether a process was started by tests that run beside this one.

    Raises:
        OSError: it has ended.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return False
    while process > 1:
        if process == os.getpid():
            return False
        _, after_name = (Path("/proc") / str(process) / "stat").read_text().rsplit(")", 1)
        parent = int(after_name.split()[1])
        if parent == os.getppid():
            return True
        process = parent
    return False


def stayed(before: Held) -> list[int]:
    """How many there are besides, once the kernel has cleared up, which takes it a moment."""
    for _ in range(100):
        programs, maps, links, spaces = held()
        more = [len(programs - before[0]), len(maps - before[1]), len(links - before[2])]
        more.append(len(spaces - before[3]))
        if not any(more):
            break
        time.sleep(0.1)
    return more
