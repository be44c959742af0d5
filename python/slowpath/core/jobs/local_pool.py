"""A pool of processes on this machine."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from typing import Any

from slowpath.core.jobs.ordered import (
    NO_OBSERVER,
    Common,
    Item,
    Pool,
    PoolObserver,
    Result,
    StopRequested,
    Unfinished,
    in_order,
)

_ATTEMPTS = 3


class LocalPool(Pool):
    """Worker processes: the requested number, or one per CPU that this process may use.

    With one job or one item, the calling process does the work.
    """

    lost = f"{Pool.lost}, perhaps for want of memory; try fewer of them with --jobs"

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs or len(os.sched_getaffinity(0))

    @property
    def beside(self) -> int:
        """Number of worker processes; see `Pool`."""
        return self._jobs

    def each(
        self,
        work: Callable[[Common, Item, StopRequested], Result],
        common: Common,
        items: Sequence[Item],
        audience: PoolObserver = NO_OBSERVER,
    ) -> Generator[Result | Unfinished, None, None]:
        """Call `work` for each item and yield the results in order; see `Pool`."""
        jobs = min(self._jobs, len(items))
        if jobs > 1:
            lanes = _Lanes(jobs, work, common)
            try:
                yield from in_order(lanes, items, audience, _ATTEMPTS)
            except BaseException:
                lanes.kill()
                raise
            lanes.close()
            return
        for at, item in enumerate(items):
            audience.look(at)
            yield Unfinished(died=False) if audience.asked() else work(common, item, audience.asked)


class _Lanes:
    """Independent processes, each with one item at a time: a crash loses only that item."""

    def __init__(
        self, jobs: int, work: Callable[[Any, Any, StopRequested], Any], common: object
    ) -> None:
        # A new interpreter is safe; a fork would copy the state of library threads here.
        context = multiprocessing.get_context("spawn")
        # Closing our end of a pipe signals all workers: to finish early (`asked`), or to exit
        # (`gone`). The system closes both if this process dies.
        asked, self._asked = context.Pipe(duplex=False)
        gone, self._gone = context.Pipe(duplex=False)
        self._context, self._kept = context, (work, common, asked, gone)
        self._all = list[ProcessPoolExecutor]()
        self._free = deque(self._lane() for _ in range(jobs))
        self.size = jobs

    def _lane(self) -> ProcessPoolExecutor:
        lane = ProcessPoolExecutor(1, self._context, _keep, self._kept)
        self._all.append(lane)
        return lane

    def begin(self, item: object) -> Future[Any]:
        lane = self._free.popleft()
        try:
            future = lane.submit(_call, item)
        except BrokenProcessPool:
            lane = self._lane()
            future = lane.submit(_call, item)
        future.add_done_callback(lambda _: self._free.append(lane))
        return future

    def judge(self, problem: Exception) -> None:
        if not isinstance(problem, (BrokenProcessPool, MemoryError)):
            raise problem

    def end(self) -> None:
        self._asked.close()

    def kill(self) -> None:
        """End all processes, even while they work."""
        self._gone.close()
        self._await(self._all)

    def close(self) -> None:
        """End all processes; none of them has work with an awaited result."""
        self._await(self._free)
        self.kill()

    def _await(self, lanes: Iterable[ProcessPoolExecutor]) -> None:
        # Wait for killed processes, too. Otherwise the interpreter can end while the thread of an
        # executor ends, write to a closed pipe, and print an error (CPython 3.11).
        for lane in list(lanes):
            lane.shutdown()


_kept: list[Any] = []


def _keep(
    work: Callable[[Any, Any, StopRequested], Any],
    common: object,
    asked: Connection,
    gone: Connection,
) -> None:
    """Store the common arguments of all calls; runs first in each worker."""
    # A terminal sends Ctrl-C to all processes; only the owner handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _kept[:] = [work, common, asked.poll]
    threading.Thread(target=_leave, args=(gone,), daemon=True).start()


def _leave(gone: Connection) -> None:
    """Exit when the owner closes its end of the pipe or dies."""
    gone.poll(None)
    os._exit(0)


def _call(item: object) -> Any:  # noqa: ANN401 - result of the work
    work, common, asked = _kept
    return work(common, item, asked)
