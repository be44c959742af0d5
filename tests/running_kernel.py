"""Helpers for tests in the running kernel: skip tests, run measurements, count kernel objects."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracles
from slowpath.core.engine import kernel
from slowpath.core.errors import UnavailableError
from slowpath.core.formats import Reporter
from slowpath.core.terminal import Line
from slowpath.measure.settings import Settings
from support import remembered

Held = tuple[set[int], set[int], set[int], set[Path]]
"""Identifiers of programs, maps and links in the kernel, and network namespaces of processes.

Processes of concurrent tests are ignored. `slowpath insights` runs untrusted code in namespaces,
for longer than `stayed` waits.
"""


HOT = ("--no-stretches", "--cache", "hot")
"""Options of a measurement that times only whole paths, with hot caches."""


def needs_kernel() -> None:
    """Skip the test if this process cannot run programs in the kernel."""
    try:
        kernel.open_kernel()
    except UnavailableError as reason:
        oracles.missing("kernel", str(reason))


def needs_two_cpus() -> None:
    """Skip the test if this process may use only one CPU."""
    if len(os.sched_getaffinity(0)) < 2:
        oracles.missing("kernel", "this process may use only one CPU")


def measured(*words: str | Path) -> Any:
    """Run `slowpath measure` and return its document.

    Equal arguments are run once per test session. The measurement has the smallest number of loads,
    unless `words` change the time limit.
    """
    return json.loads(remembered("measure", "--seconds", "0.1", "--format", "json", *words))


def text_of(document: Any, live: int | None = None) -> str:
    """Format a document of `slowpath measure` as text.

    `live` is the batch size of live packets; None for test runs.
    """
    report = Reporter("table", {"table": "slowpath.measure.report_document:document_text"})
    settings = Settings(True, 0.01, 10.0, None, report, verbose=False, live=live)
    lines = report(document, settings, "")
    return "\n".join(line.text if isinstance(line, Line) else line for line in lines)


def paths_of(document: Any) -> Iterator[Any]:
    """Yield the records of the paths of all programs in a document of `slowpath measure`."""
    for program in document["results"]:
        yield from program["paths"]


def held() -> Held:
    """Return the BPF programs, maps, links and network namespaces that exist in the kernel."""
    spaces = set()
    for process in Path("/proc").iterdir():
        try:
            if _of_another_worker(int(process.name)):
                continue
            for task in (process / "task").iterdir():
                spaces.add((task / "ns/net").readlink())
        except (OSError, ValueError):  # the process has ended, or the folder is not a process
            continue
    programs, maps, links = kernel.open_kernel().objects()
    return set(programs), set(maps), set(links), spaces


def _of_another_worker(process: int) -> bool:
    """Return true if a process belongs to another worker of this test session.

    Raises:
        OSError: if the process has ended.
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
    """Count the kernel objects of each kind that were added after `before`, and remain.

    The kinds are those of `held`. The function waits some time for objects to disappear.
    """
    for _ in range(100):
        programs, maps, links, spaces = held()
        added = [len(programs - before[0]), len(maps - before[1]), len(links - before[2])]
        added.append(len(spaces - before[3]))
        if not any(added):
            break
        time.sleep(0.1)
    return added
