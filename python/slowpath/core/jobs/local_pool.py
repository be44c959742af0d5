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
from typing import Any, TypeVar

from slowpath.core.jobs.ordered import (
    NO_OBSERVER,
    Asked,
    PoolObserver,
    Unasked,
    Undone,
    in_order,
    plainly,
)

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")

_ATTEMPTS = 3


class LocalPool:
    """As many processes as there are CPUs for us, or as many as asked for.

    With one, or for one item, the work is done by the caller.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs or len(os.sched_getaffinity(0))

    @property
    def beside(self) -> int:
        """As `Pool` has it."""
        return self._jobs

    def map(
        self, work: Callable[[Common, Item], Result], common: Common, items: Sequence[Item]
    ) -> list[Result]:
        """What `work` says of each item; see `Pool`.

        Raises:
            UnavailableError: when workers die again and again.
        """
        reason = "worker processes die again and again, perhaps for want of memory"
        found = self.each(Unasked(work), common, items)
        return plainly(found, f"{reason}; try fewer of them with --jobs")

    def each(
        self,
        work: Callable[[Common, Item, Asked], Result],
        common: Common,
        items: Sequence[Item],
        audience: PoolObserver = NO_OBSERVER,
    ) -> Generator[Result | Undone, None, None]:
        """What `work` says of each item, in their order; see `Pool`."""
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
            yield Undone(died=False) if audience.asked() else work(common, item, audience.asked)


class _Lanes:
    """Processes of their own for one item after the other: who dies, dies of its item alone."""

    def __init__(self, jobs: int, work: Callable[[Any, Any, Asked], Any], common: object) -> None:
        # Threads of libraries here are none of a new interpreter's, other than of a copy of this.
        context = multiprocessing.get_context("spawn")
        # Pipes whose ends here are closed, also when this process dies; nobody waits for who reads.
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
        """Gives an item to a process that has nothing to do."""
        lane = self._free.popleft()
        try:
            future = lane.submit(_call, item)
        except BrokenProcessPool:
            lane = self._lane()
            future = lane.submit(_call, item)
        future.add_done_callback(lambda _: self._free.append(lane))
        return future

    def judge(self, problem: Exception) -> None:
        """As `Crew` has it."""
        if not isinstance(problem, (BrokenProcessPool, MemoryError)):
            raise problem

    def end(self) -> None:
        """As `Crew` has it."""
        self._asked.close()

    def kill(self) -> None:
        """Ends processes, whatever they do."""
        self._gone.close()
        self._await(self._all)

    def close(self) -> None:
        """Ends all processes: none is at work that anybody waits for."""
        self._await(self._free)
        self.kill()

    def _await(self, lanes: Iterable[ProcessPoolExecutor]) -> None:
        # Awaited also when killed: an interpreter that ends while the thread of an executor does,
        # writes to a pipe that this thread has just closed, and says so (CPython 3.11).
        for lane in list(lanes):
            lane.shutdown()


_kept: list[Any] = []


def _keep(
    work: Callable[[Any, Any, Asked], Any],
    common: object,
    asked: Connection,
    gone: Connection,
) -> None:
    """In a new worker: what all calls have in common."""
    # What a terminal sends to all processes is for the owner to act on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _kept[:] = [work, common, asked.poll]
    threading.Thread(target=_leave, args=(gone,), daemon=True).start()


def _leave(gone: Connection) -> None:
    """Ends this process when it is not needed any more, however its owner ended."""
    gone.poll(None)
    os._exit(0)


def _call(item: object) -> Any:  # noqa: ANN401 - whatever the work says
    work, common, asked = _kept
    return work(common, item, asked)
