"""A pool of processes on this machine, by the standard library."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeVar

from slowpath.cli.errors import UnavailableError

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")

_ATTEMPTS = 4


class LocalPool:
    """As many processes as there are CPUs for us, or as many as asked for.

    With one, or for one item, the work is done by the caller.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs or len(os.sched_getaffinity(0))

    def map(
        self, work: Callable[[Common, Item], Result], common: Common, items: Sequence[Item]
    ) -> list[Result]:
        """What `work` says of each item; see `Pool`.

        Raises:
            UnavailableError: when workers die again and again.
        """
        if min(self._jobs, len(items)) <= 1:
            return [work(common, item) for item in items]
        done = dict[int, Result]()
        for _ in range(_ATTEMPTS):
            left = [at for at in range(len(items)) if at not in done]
            if not left:
                break
            self._round(work, common, items, left, done)
        if len(done) < len(items):
            reason = "worker processes die again and again, perhaps for want of memory"
            raise UnavailableError(f"{reason}; try fewer of them with --jobs")
        return [done[at] for at in range(len(items))]

    def _round(
        self,
        work: Callable[[Common, Item], Result],
        common: Common,
        items: Sequence[Item],
        left: Sequence[int],
        done: dict[int, Result],
    ) -> None:
        """Does what is left, as far as workers live: when one dies, all are replaced."""
        # Threads of libraries here are none of a new interpreter's, other than of a copy of this.
        context = get_context("spawn")
        with ProcessPoolExecutor(
            min(self._jobs, len(left)), context, _keep, (work, common)
        ) as workers:
            futures = {at: workers.submit(_call, items[at]) for at in left}
            try:
                for at, future in futures.items():
                    done[at] = future.result()
            except BrokenProcessPool:
                for at, future in futures.items():
                    if future.done() and not future.cancelled() and future.exception() is None:
                        done[at] = future.result()
            except BaseException:
                workers.shutdown(wait=False, cancel_futures=True)
                raise


_kept: list[Any] = []


def _keep(work: Callable[[Any, Any], Any], common: object) -> None:
    """In a new worker: what all calls have in common."""
    _kept[:] = [work, common]


def _call(item: object) -> Any:  # noqa: ANN401 - whatever the work says
    work, common = _kept
    return work(common, item)
