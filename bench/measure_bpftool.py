"""Compares `slowpath measure` with `bpftool prog run`: same program, same packet, same minute.

    measure_bpftool.py [OBJECT...]      all examples by default

Both run the same loaded program with the same maps: slowpath loads it, bpftool finds it by its id.
Only paths that can be repeated without restoring packet or maps are measured, as bpftool does not
restore them. Both tools take turns, with a busy loop before and after each. The results are medians
over runs with an undisturbed busy loop; bpftool reports whole nanoseconds.
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
from slowpath.core.jobs import Stopping
from slowpath.measure.programs import prepare_program, slowest_to_fastest
from slowpath.measure.sampling import DISTURBED, Reference
from slowpath.measure.statistics import quantile

ROOT = Path(__file__).resolve().parent.parent
ENOUGH, SECONDS = 31, 15.0
"""Required number of undisturbed runs of each tool, and the maximum time for them in seconds."""
REPEAT = 20_000
"""Number of program runs in one call.

A call takes a few milliseconds, so that some calls are undisturbed.
"""
BUSY, KEPT, TRIES = 1000, 5000, 100
"""Numbers for the busy loop: runs per call, calls that determine its undisturbed time, and maximum
calls to wait for an undisturbed one."""
UNDISTURBED = 0.05
"""Quantile of the times of the busy loop that counts as its undisturbed time."""
SHARE, MORE = 0.03, 1.0
"""Maximum difference between the times of both tools, as a share and in nanoseconds."""


def loaded(name: str) -> list[int]:
    """Return the kernel ids of BPF programs with this name, in the order of loading."""
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=True)  # noqa: S607
    programs: list[dict[str, Any]] = json.loads(shown.stdout)
    return sorted(each["id"] for each in programs if each.get("name") == name[:15])


def by_bpftool(number: int, packet: Path, cpu: int) -> float:
    """Measure the time of one run of a program with bpftool, in nanoseconds.

    `number` is the program's id.
    """
    words = ["taskset", "-c", str(cpu), "bpftool", "-j", "prog", "run", "id", str(number)]
    words += ["data_in", str(packet), "repeat", str(REPEAT)]
    run = subprocess.run(words, capture_output=True, check=True)
    return float(json.loads(run.stdout)["duration"])


def by_slowpath(station: kernel.Station, load: kernel.Load, case: int, call: float) -> float:
    """Measure the time of one run of a path with slowpath, in nanoseconds.

    `call` is the overhead of a call, which is subtracted.
    """
    nanoseconds, runs, _ = kernel.sample(station, load, case, REPEAT)
    return (nanoseconds - call) / runs


class Turns:
    """Measures with both tools in turns; busy loops between them show disturbances."""

    def __init__(self, station: kernel.Station) -> None:
        """Load the busy loop, and determine its undisturbed time."""
        self._station = station
        self._loop = kernel.load_busy(station)
        self._busy_times = [self._busy() for _ in range(KEPT)]

    def _busy(self) -> int:
        return kernel.sample_busy(self._station, self._loop, BUSY)[0]

    def _settled(self, limit: float) -> int:
        """Run the busy loop until its time is below a limit; return its last time.

        It runs at most `TRIES` times.
        """
        for _ in range(TRIES):
            self._busy_times.append(self._busy())
            if self._busy_times[-1] <= limit:
                break
        return self._busy_times[-1]

    def medians(self, runs: Sequence[Callable[[], float]]) -> tuple[list[float], float]:
        """Return the median time of each measurement, and the limit for the busy loops.

        A measurement counts if the busy loops around it took at most `limit` times their
        undisturbed time. Measurements are repeated until enough count with the strictest limit, for
        at most `SECONDS`. After that, the first limit that leaves enough is used, as in `slowpath
        measure`.
        """
        quiet = quantile(self._busy_times, UNDISTURBED)
        samples = [list[tuple[float, float]]() for _ in runs]
        until = time.monotonic() + SECONDS
        while True:
            for run, values in zip(runs, samples, strict=True):
                before = self._settled(quiet * DISTURBED[0])
                nanoseconds, after = run(), self._busy()
                values.append((nanoseconds, max(before, after) / quiet))
            for limit in DISTURBED:
                kept = [[time for time, busy in values if busy <= limit] for values in samples]
                enough = min(map(len, kept)) >= ENOUGH
                if enough and (limit == DISTURBED[0] or time.monotonic() > until):
                    return [statistics.median(values) for values in kept], limit


def compare(
    file: Path, station: kernel.Station, turns: Turns, folder: Path
) -> list[tuple[float, float]]:
    """Measure the paths of an object; return the times of slowpath and bpftool for each."""
    written = WrittenOptions(target="ebpf", metric="instructions", paths="all", deadline=3.0)
    found = []
    for analysed in Session(read_request([str(file)], written)).analyse(RunContext(Stopping())):
        program = prepare_program(station, analysed, slowest_to_fastest, lambda *_: True)
        # slowpath loads programs in the order of the cases, so their ids have the same order.
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
            with_slowpath = partial(by_slowpath, station, load, case, call)
            with_bpftool = partial(by_bpftool, number, packet, station.cpu or 0)
            (a, b), limit = turns.medians((with_slowpath, with_bpftool))
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
