"""A Dask cluster in a process of its own: `dask_cluster.py` has one until its input ends.

Tests start processes, and to do that beside the threads of a scheduler can hang. With the address
of a scheduler, one of its workers is killed.
"""

import os
import signal
import sys

import dask
from distributed import Client, LocalCluster


def main() -> None:
    # It gives up at once what a worker died over, so that tests need not wait for more to die.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
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
