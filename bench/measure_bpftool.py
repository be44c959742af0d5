"""`slowpath measure` beside `bpftool prog run`: the same program, the same packet, the same minute.

    measure_bpftool.py [OBJECT...]      all examples by default

Both run the very same loaded program with the same maps: slowpath holds it, bpftool runs it by its
number. Left out are paths that a repetition does not take by itself: bpftool restores nothing, and
would run another path. They take turns, with a busy loop before and behind each. Compared are the
medians of runs beside which the busy loop was undisturbed; bpftool tells whole nanoseconds.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.options import WrittenOptions, read_request
from slowpath.core.engine import kernel
from slowpath.core.jobs.stopping import Stopping
from slowpath.measure.programs import prepare_program, slowest_to_fastest
from slowpath.measure.sampling import DISTURBED, Reference
from slowpath.measure.statistics import quantile

ROOT = Path(__file__).resolve().parent.parent
ENOUGH, SECONDS = 31, 15.0
"""How many undisturbed runs of either are asked for, and how long they are waited for."""
REPEAT = 20_000
"""Runs in a call: a few milliseconds, so that not every call is disturbed."""
BUSY, KEPT, TRIES = 1000, 5000, 100
"""Runs of the busy loop in a call, calls that tell what it takes, and calls until it is undisturbed."""
UNDISTURBED = 0.05
"""The quantile of the busy loop's times that is taken for undisturbed."""
SHARE, MORE = 0.03, 1.0
"""By which share, and nanoseconds besides, the two may differ."""


def loaded(name: str) -> list[int]:
    """Numbers of the programs of a name that the kernel has, in the order in which they came."""
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=True)  # noqa: S607
    programs: list[dict[str, Any]] = json.loads(shown.stdout)
    return sorted(each["id"] for each in programs if each.get("name") == name[:15])


def by_bpftool(number: int, packet: Path, cpu: int) -> float:
    """Nanoseconds of one run, as bpftool tells."""
    words = ["taskset", "-c", str(cpu), "bpftool", "-j", "prog", "run", "id", str(number)]
    words += ["data_in", str(packet), "repeat", str(REPEAT)]
    run = subprocess.run(words, capture_output=True, check=True)
    return float(json.loads(run.stdout)["duration"])


def by_slowpath(station: kernel.Station, load: kernel.Load, case: int, call: float) -> float:
    """The same, as slowpath tells; a call takes so many nanoseconds besides."""
    nanoseconds, runs, _ = kernel.sample(station, load, case, REPEAT)
    return (nanoseconds - call) / runs


class Turns:
    """Runs of both, and the busy loop beside them."""

    def __init__(self, station: kernel.Station) -> None:
        """Loads the busy loop, and finds out what it takes."""
        self._station = station
        self._loop = kernel.load_busy(station)
        self._told = [self._busy() for _ in range(KEPT)]

    def _busy(self) -> int:
        return kernel.sample_busy(self._station, self._loop, BUSY)[0]

    def _settled(self, limit: float) -> int:
        """The busy loop as soon as it is undisturbed, or after so many tries."""
        for _ in range(TRIES):
            self._told.append(self._busy())
            if self._told[-1] <= limit:
                break
        return self._told[-1]

    def medians(self, runs: Sequence[Callable[[], float]]) -> tuple[list[float], float]:
        """What each run tells, and beside how slow a busy loop at most.

        They go on until enough was undisturbed, for so many seconds; then as many count as do with
        the first of the limits that leaves enough, as in `slowpath measure`.
        """
        quiet = quantile(self._told, UNDISTURBED)
        all_told = [list[tuple[float, float]]() for _ in runs]
        until = time.monotonic() + SECONDS
        while True:
            for run, values in zip(runs, all_told, strict=True):
                before = self._settled(quiet * DISTURBED[0])
                told, after = run(), self._busy()
                values.append((told, max(before, after) / quiet))
            for limit in DISTURBED:
                kept = [[told for told, busy in values if busy <= limit] for values in all_told]
                enough = min(map(len, kept)) >= ENOUGH
                if enough and (limit == DISTURBED[0] or time.monotonic() > until):
                    return [statistics.median(values) for values in kept], limit


def compare(
    file: Path, station: kernel.Station, turns: Turns, folder: Path
) -> list[tuple[float, float]]:
    """Ours and bpftool's times of the paths of an object."""
    written = WrittenOptions(target="ebpf", metric="instructions", paths="all", deadline=3.0)
    found = []
    for analysed in Session(read_request([str(file)], written)).analyse(RunContext(Stopping())):
        program = prepare_program(station, analysed, slowest_to_fastest, lambda *_: True)
        # Loaded in the order of the cases, so that the numbers are those of the paths.
        load = kernel.load_cases(station, program.cases)
        numbers = loaded(analysed.result["program"] or "")
        if len(numbers) != len(program.cases):
            print(f"{file.name}: other programs of that name are loaded", file=sys.stderr)
            continue
        empty = (kernel.sample(station, load, Reference.EMPTY, 1)[0] for _ in range(99))
        call = statistics.median(empty)
        for case, number in enumerate(numbers):
            path = program.record["paths"][program.numbers[case]]
            if path["arrangement"] != "repeated":
                continue
            packet = folder / "packet"
            packet.write_bytes(bytes.fromhex(path["packet"]))
            ours = partial(by_slowpath, station, load, case, call)
            theirs = partial(by_bpftool, number, packet, station.cpu or 0)
            (a, b), limit = turns.medians((ours, theirs))
            fits = abs(a - b) <= SHARE * b + MORE
            print(
                f"{file.name:24} {path['instructions']:5} instructions {a:8.1f} {b:8.0f} ns "
                f"{a / b - 1:+6.1%} beside {limit:.2f} {'' if fits else 'APART'}",
                flush=True,
            )
            found.append((a, b))
    return found


def main() -> None:
    files = [Path(word) for word in sys.argv[1:]] or sorted((ROOT / "examples").glob("*.bpf.o"))
    station = kernel.open_station(kernel.open_kernel(), max(os.sched_getaffinity(0)))
    turns, found = Turns(station), list[tuple[float, float]]()
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            found += compare(file, station, turns, Path(folder))
    fit = sum(abs(a - b) <= SHARE * b + MORE for a, b in found)
    differences = sorted(abs(a / b - 1) for a, b in found)
    print(
        f"{fit} of {len(found)} paths within {SHARE:.0%} + {MORE:g} ns; "
        f"median difference {statistics.median(differences):.1%}, most {differences[-1]:.1%}"
    )


if __name__ == "__main__":
    main()
