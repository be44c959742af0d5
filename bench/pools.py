#!/usr/bin/env python3
"""Many programs, and a million placements: one process, several, and a Dask cluster beside them.

`bound` analyses the objects of `examples` on three targets, `place` places random sequences of
functions on a fleet. Each is run in turns, with the same output demanded, and once more on the
cluster while a worker is killed.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from distributed import Client, LocalCluster

ROOT = Path(__file__).resolve().parent.parent
TARGETS = "agilio-cx-2x40,ebpf,linux-xdp"
TIMES = re.compile(rb'"(?:solver_)?seconds": ?[0-9.e-]+')
WORKERS = 2


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("what", choices=["bound", "place"])
    options.add_argument("--repeat", type=int, default=3, help="turns (default: 3)")
    options.add_argument("--times", type=int, default=1, help="bound: each object so often")
    options.add_argument("--sequences", type=int, default=100, help="place: random sequences")
    options.add_argument("--length", type=int, default=10_000, help="place: arrivals of each")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, cluster() as scheduler:
        command = bounds(asked.times) if asked.what == "bound" else placements(asked, Path(folder))
        places = {
            "one process": ("--jobs", "1"),
            f"--jobs {WORKERS}": ("--jobs", str(WORKERS)),
            f"cluster of {WORKERS}": ("--scheduler", scheduler),
        }
        compare(command, places, asked.repeat)
        killed(command, scheduler)


def bounds(times: int) -> list[str]:
    """All objects of the examples, so often, on three targets."""
    objects = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "examples").glob("*.bpf.o"))]
    print(f"{len(objects) * times} objects on {TARGETS}")
    return ["bound", *objects * times, "--target", TARGETS, "--format", "json"]


def placements(asked: argparse.Namespace, folder: Path) -> list[str]:
    """Sequences of arrivals at ten thousand NICs."""
    fleet = (ROOT / "examples/fleet/fleet.yaml").read_text()
    fleet = fleet.replace("model: ", f"model: {ROOT}/examples/fleet/")
    file = folder / "fleet.yaml"
    file.write_text(fleet.replace("cores: 8\n", "cores: 8\n  count: 10000\n", 1))
    print(f"{asked.sequences} sequences of {asked.length} arrivals at 10,000 NICs")
    sequences = ["--sequences", str(asked.sequences), "--length", str(asked.length)]
    policy = ["--policy", "contention-aware", "--no-reference", "--format", "json"]
    return ["contention", "place", str(file), *sequences, *policy]


@contextmanager
def cluster() -> Iterator[str]:
    """The address of a cluster of two processes with a thread each."""
    with LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None
    ) as found:
        yield found.scheduler_address


def compare(command: Sequence[str], places: dict[str, tuple[str, str]], repeat: int) -> None:
    """Runs in turns; prints medians."""
    seconds: dict[str, list[float]] = {name: [] for name in places}
    outputs = set()
    for _ in range(repeat):
        for name, place in places.items():
            started = time.perf_counter()
            outputs.add(said(subprocess.run(started_as(command, place), stdout=-1, check=False)))
            seconds[name].append(time.perf_counter() - started)
    first = statistics.median(next(iter(seconds.values())))
    for name, each in seconds.items():
        median = statistics.median(each)
        print(f"{name:<14} {median:8.2f} s  {first / median:5.2f} times as fast  {each}")
    print("the same output" if len(outputs) == 1 else f"{len(outputs)} DIFFERENT outputs")
    told.update(outputs)


told = set[bytes]()
"""What runs without a killed worker have written."""


def killed(command: Sequence[str], scheduler: str) -> None:
    """One more run on the cluster, of which a worker is killed in the middle."""
    with Client(scheduler, set_as_default=False) as client:
        workers = list(client.run(os.getpid).values())
        started = time.perf_counter()
        process = subprocess.Popen(started_as(command, ("--scheduler", scheduler)), stdout=-1)
        watched = threading.Thread(target=kill_once_it_works, args=(client, workers[0]))
        watched.start()
        output, _ = process.communicate()
        watched.join()
    took = time.perf_counter() - started
    same = "the same output" if plain(output) in told else "ANOTHER output"
    print(f"a worker killed {took:8.2f} s, {same}")


def kill_once_it_works(client: Client, worker: int) -> None:
    """Kills a worker after some of the work is done."""
    while sum(map(len, client.has_what().values())) == 0:  # results, and what they have in common
        time.sleep(0.05)
    time.sleep(1)
    os.kill(worker, signal.SIGKILL)
    print(f"killed process {worker}", file=sys.stderr)


def started_as(command: Sequence[str], place: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "slowpath", *command, *place]


def said(run: "subprocess.CompletedProcess[bytes]") -> bytes:
    json.loads(run.stdout)
    return plain(run.stdout)


def plain(output: bytes) -> bytes:
    """Without times."""
    return TIMES.sub(b"", output)


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
