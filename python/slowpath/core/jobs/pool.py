"""Interface of process pools, and the choice of one.

A pool calls a function for each of many items, on any of its workers, and returns the results in
the order of the items. The function depends only on its arguments. A call can therefore run
anywhere and be repeated: if a worker dies, only time is lost.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from slowpath.core.errors import OptionError
from slowpath.core.jobs.ordered import NO_OBSERVER, PoolObserver, StopRequested, Unfinished

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Pool(Protocol):
    """A pool of worker processes."""

    @property
    def beside(self) -> int:
        """Maximum number of concurrent calls on one machine."""

    def map(
        self, work: Callable[[Common, Item], Result], common: Common, items: Sequence[Item]
    ) -> list[Result]:
        """Call `work` for each item and return the results in order.

        Args:
            work: A module-level function, which workers import.
            common: First argument of all calls; sent to each worker once.
            items: Second argument of each call.

        Raises:
            UnavailableError: if workers die repeatedly.
        """

    def each(
        self,
        work: Callable[[Common, Item, StopRequested], Result],
        common: Common,
        items: Sequence[Item],
        audience: PoolObserver = NO_OBSERVER,
    ) -> Generator[Result | Unfinished, None, None]:
        """Call `work` for each item; yield each result once it and all earlier ones are finished.

        After a stop request of `audience`, running items end with their results so far, and no
        other items are begun.

        Raises:
            UnavailableError: if no workers are left, or they cannot do this work.
        """


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
