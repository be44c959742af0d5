"""Interface of process pools, and the choice of one.

A pool calls a function for each of many items, wherever, and has the results in the order of the
items. What is called depends on nothing but its arguments, so that it does not matter where it is
called, nor how often: a worker that dies takes nothing with it but time.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from slowpath.core.errors import OptionError
from slowpath.core.jobs.ordered import NO_OBSERVER, Asked, PoolObserver, Undone

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Pool(Protocol):
    """Processes that work."""

    @property
    def beside(self) -> int:
        """How many calls a machine may have at work at once."""

    def map(
        self, work: Callable[[Common, Item], Result], common: Common, items: Sequence[Item]
    ) -> list[Result]:
        """What `work` says of each item.

        Args:
            work: a function of a module, which workers import.
            common: what all calls are given; it goes to each worker once.
            items: what each call is given.

        Raises:
            UnavailableError: when workers die again and again.
        """

    def each(
        self,
        work: Callable[[Common, Item, Asked], Result],
        common: Common,
        items: Sequence[Item],
        audience: PoolObserver = NO_OBSERVER,
    ) -> Generator[Result | Undone, None, None]:
        """What `work` says of each item, as soon as it and all in front of it are done.

        Once the audience asks, what has begun ends with what it has, and the rest is not begun.

        Raises:
            UnavailableError: when there are no workers any more, or they cannot do this work.
        """


def check_place(scheduler: str | None, jobs: int | None) -> None:
    """Refuses two places at once.

    Raises:
        OptionError: when both are given.
    """
    if scheduler is not None and jobs is not None:
        raise OptionError("--jobs", "is of this machine; the cluster has its own workers")


@contextmanager
def open_pool(scheduler: str | None, jobs: int | None = None) -> Iterator[Pool]:
    """Workers of a cluster where the address of its scheduler is given, else of this machine.

    Args:
        scheduler: as Dask has it, such as `tcp://host:8786`.
        jobs: how many processes of this machine; None: as many as it has CPUs for us.

    Raises:
        OptionError: when the scheduler cannot be reached.
        UnavailableError: when the extra `fleet` is not installed.
    """
    if scheduler is None:
        from slowpath.core.jobs.local_pool import LocalPool

        yield LocalPool(jobs)
    else:
        from slowpath.core.jobs.cluster_pool import connected

        with connected(scheduler) as pool:
            yield pool
