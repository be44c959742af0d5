"""What tests of measurements share: whether the kernel can be used, and what it holds."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracles
from slowpath.cli.errors import UnavailableError
from slowpath.engine.kernel import stations

Held = tuple[set[int], set[int], set[int], set[Path]]
"""Numbers of programs, maps and links that the kernel has, and namespaces that processes are in."""


def needs_kernel() -> None:
    """Leaves a test out where the kernel runs no programs for us."""
    try:
        stations.open_kernel()
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
            for task in (process / "task").iterdir():
                spaces.add((task / "ns/net").readlink())
        except OSError:  # it has ended, or is no process
            continue
    programs, maps, links = stations.open_kernel().objects()
    return set(programs), set(maps), set(links), spaces


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
