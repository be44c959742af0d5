#!/usr/bin/env python3
"""Many programs and a million placements: one process, several, and a Dask cluster compared.

`bound` analyses the objects of `examples` on three targets, `place` places random sequences of
functions on a fleet. All variants run in turns and must give the same output. A last run on the
cluster continues after a worker is killed.
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
    given = options.parse_args()
    os.environ["SLOWPATH_NO_CACHE"] = "1"  # times are those of analyses
    with tempfile.TemporaryDirectory() as folder, cluster() as scheduler:
        command = bounds(given.times) if given.what == "bound" else placements(given, Path(folder))
        places = {
            "one process": ("--jobs", "1"),
            f"--jobs {WORKERS}": ("--jobs", str(WORKERS)),
            f"cluster of {WORKERS}": ("--scheduler", scheduler),
        }
        compare(command, places, given.repeat)
        killed(command, scheduler)


def bounds(times: int) -> list[str]:
    """Return a command that analyses all example objects `times` times for three targets."""
    objects = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "examples").glob("*.bpf.o"))]
    print(f"{len(objects) * times} objects on {TARGETS}")
    return ["bound", *objects * times, "--target", TARGETS, "--format", "json"]


def placements(given: argparse.Namespace, folder: Path) -> list[str]:
    """Return a command that places sequences of arrivals on ten thousand NICs."""
    fleet = (ROOT / "examples/fleet/fleet.yaml").read_text()
    fleet = fleet.replace("model: ", f"model: {ROOT}/examples/fleet/")
    file = folder / "fleet.yaml"
    file.write_text(fleet.replace("cores: 8\n", "cores: 8\n  count: 10000\n", 1))
    print(f"{given.sequences} sequences of {given.length} arrivals at 10,000 NICs")
    sequences = ["--sequences", str(given.sequences), "--length", str(given.length)]
    policy = ["--policy", "contention-aware", "--no-reference", "--format", "json"]
    return ["contention", "place", str(file), *sequences, *policy]


@contextmanager
def cluster() -> Iterator[str]:
    """Start a cluster of two processes with one thread each, and yield its address."""
    with LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None
    ) as found:
        yield found.scheduler_address


def compare(command: Sequence[str], places: dict[str, tuple[str, str]], repeat: int) -> None:
    """Run a command with each kind of pool in turns; print the median times.

    `places` has the options that select a pool.
    """
    seconds: dict[str, list[float]] = {name: [] for name in places}
    outputs = set()
    for _ in range(repeat):
        for name, place in places.items():
            started = time.perf_counter()
            outputs.add(output_of(subprocess.run(words(command, place), stdout=-1, check=False)))
            seconds[name].append(time.perf_counter() - started)
    first = statistics.median(next(iter(seconds.values())))
    for name, each in seconds.items():
        median = statistics.median(each)
        print(f"{name:<14} {median:8.2f} s  {first / median:5.2f} times as fast  {each}")
    print("the same output" if len(outputs) == 1 else f"{len(outputs)} DIFFERENT outputs")
    undisturbed.update(outputs)


undisturbed = set[bytes]()
"""Set of the outputs of all runs in which no worker was killed."""


def killed(command: Sequence[str], scheduler: str) -> None:
    """Run a command on the cluster, kill a worker meanwhile, and compare the output."""
    with Client(scheduler, set_as_default=False) as client:
        workers = list(client.run(os.getpid).values())
        started = time.perf_counter()
        process = subprocess.Popen(words(command, ("--scheduler", scheduler)), stdout=-1)
        watched = threading.Thread(target=kill_once_it_works, args=(client, workers[0]))
        watched.start()
        output, _ = process.communicate()
        watched.join()
    took = time.perf_counter() - started
    same = "the same output" if plain(output) in undisturbed else "ANOTHER output"
    print(f"a worker killed {took:8.2f} s, {same}")


def kill_once_it_works(client: Client, worker: int) -> None:
    """Wait until the cluster has done some of the work, then kill the process `worker`."""
    while sum(map(len, client.has_what().values())) == 0:  # neither results nor shared data
        time.sleep(0.05)
    time.sleep(1)
    os.kill(worker, signal.SIGKILL)
    print(f"killed process {worker}", file=sys.stderr)


def words(command: Sequence[str], place: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "slowpath", *command, *place]


def output_of(run: "subprocess.CompletedProcess[bytes]") -> bytes:
    json.loads(run.stdout)
    return plain(run.stdout)


def plain(output: bytes) -> bytes:
    """Remove times from a command's output, so that outputs can be compared."""
    return TIMES.sub(b"", output)


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
