"""A program that runs a Dask cluster for tests, until its standard input ends.

It prints the address of the scheduler. It has its own process, because a test process with the
threads of a scheduler can hang when it starts processes. With a scheduler's address as argument,
the program kills one of the scheduler's workers.
"""

import os
import signal
import sys

import dask
from distributed import Client, LocalCluster


def main() -> None:
    settings = {
        # Give up a task after the first death of its worker, so that tests do not wait for more.
        "distributed.scheduler.allowed-failures": 0,
        # On a busy machine, a worker may take long to start again; with a shorter limit, it would
        # count as lost.
        "distributed.deploy.lost-worker-timeout": "10 minutes",
    }
    with (
        dask.config.set(settings),
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster,
    ):
        sys.stdout.write(f"{cluster.scheduler_address}\n")
        sys.stdout.flush()
        sys.stdin.read()


def kill_one(scheduler: str) -> None:
    with Client(scheduler) as client:  # type: ignore[no-untyped-call]
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


if __name__ == "__main__":
    kill_one(sys.argv[1]) if sys.argv[1:] else main()
