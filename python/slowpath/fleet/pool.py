"""What a pool of processes does, and which one is meant.

A pool calls a function for each of many items, wherever, and has the results in the order of the
items. What is called depends on nothing but its arguments, so that it does not matter where it is
called, nor how often: a worker that dies takes nothing with it but time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Pool(Protocol):
    """Processes that work."""

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
        from slowpath.fleet.local import LocalPool

        yield LocalPool(jobs)
    else:
        from slowpath.fleet.cluster import connected

        with connected(scheduler) as pool:
            yield pool
