"""Runs slowpath as users do, in separate processes, and measures its time and memory.

This module knows the JSON of `slowpath bound`; programs and tables are defined elsewhere.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / ".venv/bin/slowpath"
PYTHON = ROOT / ".venv/bin/python"
UNCACHED = os.environ | {"SLOWPATH_NO_CACHE": "1"}
"""Environment without the cache of slowpath, in which times are those of analyses."""


@dataclass(frozen=True)
class Program:
    """A program that slowpath analyses in a benchmark."""

    name: str
    path: Path
    options: tuple[str, ...] = ()
    published_seconds: float | None = None  # of the published tool; inf: does not finish


class Run(NamedTuple):
    """Result and resource usage of one run of `slowpath bound`."""

    result: dict[str, Any]
    seconds: float
    megabytes: float

    @property
    def status(self) -> str:
        """The status of the result: `exact`, `conditional`, `bounds`, `refused`, or `some paths`.

        `some paths` means that the slowest path is known, but other requested paths are missing.
        """
        if self.result["error"]:
            return "refused"
        guarantee = self.result["guarantee"]
        if guarantee["verdict"] == "bound":
            return "bounds"
        return "some paths" if guarantee["stopped"] else str(guarantee["verdict"])


class Usage(NamedTuple):
    """Time and memory that a process used, with the output of the process."""

    seconds: float
    megabytes: float
    output: bytes


# The system counts the memory of a process's parent at its start. A small process in between
# therefore starts the command, and reports its resources.
LAUNCHER = """\
import os, sys, time
silent = os.open(os.devnull, os.O_WRONLY)
started = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,
                       file_actions=[(os.POSIX_SPAWN_DUP2, silent, 2)])
_, _, usage = os.wait4(child, 0)
print(time.perf_counter() - started, usage.ru_maxrss, file=sys.stderr)
"""


def process(command: list[str]) -> Usage:
    """Run a command; return its output, its time and its memory. | Standard error is discarded."""
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
    with tempfile.TemporaryFile() as output:
        launched = subprocess.run(
            launcher, env=UNCACHED, stdout=output, stderr=subprocess.PIPE, check=True, text=True
        )
        seconds, kilobytes = launched.stderr.split()
        output.seek(0)
        return Usage(float(seconds), int(kilobytes) / 1024, output.read())


def bound(tool: Path, program: Program, options: Iterable[str] = ()) -> Run:
    """Run `slowpath bound` on one program.

    Raises:
        SystemExit: if it ends without a result, for example because of wrong options.
    """
    command = [str(tool), "bound", str(program.path), "--format", "json"]
    used = process([*command, *program.options, *options])
    try:
        result = json.loads(used.output)["results"][0]
    except (ValueError, KeyError, IndexError):
        raise SystemExit(f"error: no result from: {' '.join(command)}") from None
    return Run(result, used.seconds, used.megabytes)


def take_turns(
    tool: Path, programs: list[Program], repeat: int, options: Iterable[str] = ()
) -> dict[Program, list[Run]]:
    """Run `slowpath bound` on all programs in turn, `repeat` times.

    Programs that are refused, or do not finish before their deadline, run only once.
    """
    options = list(options)
    runs: dict[Program, list[Run]] = {program: [] for program in programs}
    for _ in range(repeat):
        for program, done in runs.items():
            if not done or done[0].status == "exact":
                done.append(bound(tool, program, options))
    return runs


def start_up(tool: Path, python: Path, repeat: int) -> dict[str, float]:
    """Return the median start-up times of commands that analyse nothing, in seconds."""
    commands = {
        "slowpath --version": [str(tool), "--version"],
        "python -c pass": [str(python), "-c", "pass"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeat):
        for name, command in commands.items():
            seconds[name].append(process(command).seconds)
    return {name: statistics.median(values) for name, values in seconds.items()}
