"""Choice of a process pool: workers of a cluster, or processes of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager

from slowpath.core.errors import OptionError
from slowpath.core.jobs.ordered import Pool


def check_place(scheduler: str | None, jobs: int | None) -> None:
    """Check that work has at most one place: a cluster or this machine.

    Raises:
        OptionError: if both options are given.
    """
    if scheduler is not None and jobs is not None:
        raise OptionError("--jobs", "is of this machine; the cluster has its own workers")


@contextmanager
def open_pool(scheduler: str | None, jobs: int | None = None) -> Iterator[Pool]:
    """Open a pool of a cluster's workers if `scheduler` is given, else of local processes.

    Args:
        scheduler: Address of the Dask scheduler, such as `tcp://host:8786`.
        jobs: Number of local processes; None: one per CPU that this process may use.

    Raises:
        OptionError: if the scheduler cannot be reached.
        UnavailableError: if the extra `fleet` is not installed.
    """
    if scheduler is None:
        from slowpath.core.jobs.local_pool import LocalPool

        yield LocalPool(jobs)
    else:
        from slowpath.core.jobs.cluster_pool import connected

        with connected(scheduler) as pool:
            yield pool
