"""Runs work in processes on this machine, or on a cluster if the user asks for it."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from slowpath.core import THREAD_VARIABLES
from slowpath.core.jobs.pool import (
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
"""Maximum number of attempts for an item, which is the input of one call."""


class LocalPool(Pool):
    """A pool of processes on this machine: `jobs`, or one per CPU that this process may use.

    With one job or one item, the calling process does the work itself.
    """

    lost = f"{Pool.lost}, perhaps for lack of memory; reduce their number with --jobs"

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs or len(os.sched_getaffinity(0))

    @property
    def concurrency(self) -> int:
        """Number of worker processes; see `Pool`."""
        return self._jobs

    def each(
        self,
        work: Callable[[Common, Item, StopRequested], Result],
        common: Common,
        items: Sequence[Item],
        observer: PoolObserver = NO_OBSERVER,
    ) -> Generator[Result | Unfinished, None, None]:
        """Call `work` for each item and yield the results in order; see `Pool`."""
        jobs = min(self._jobs, len(items))
        if jobs > 1:
            lanes = _Lanes(jobs, work, common)
            try:
                yield from in_order(lanes, items, observer, _ATTEMPTS)
            except BaseException:
                lanes.kill()
                raise
            lanes.close()
            return
        stop_requested = observer.stop_requested
        for at, item in enumerate(items):
            observer.look(at)
            yield Unfinished(died=False) if stop_requested() else work(common, item, stop_requested)


class _Lanes:
    """Independent processes, each of which works on one item at a time.

    A crash loses only this item.
    """

    def __init__(
        self, jobs: int, work: Callable[[Any, Any, StopRequested], Any], common: object
    ) -> None:
        # A new interpreter is safe; a fork would copy the state of threads of libraries.
        context = multiprocessing.get_context("spawn")
        # Closing our end of a pipe asks all workers to finish early (`stop`), or to exit (`quit`).
        # The system closes both if this process dies.
        stop, self._stop = context.Pipe(duplex=False)
        quit_, self._quit = context.Pipe(duplex=False)
        self._context, self._arguments = context, (work, common, stop, quit_)
        self._all = list[ProcessPoolExecutor]()
        self._free = deque(self._lane() for _ in range(jobs))
        self.size = jobs

    def _lane(self) -> ProcessPoolExecutor:
        lane = ProcessPoolExecutor(1, self._context, _prepare, self._arguments)
        self._all.append(lane)
        return lane

    def begin(self, item: object) -> Future[Any]:
        lane = self._free.popleft()
        try:
            future = _submit(lane, item)
        except BrokenProcessPool:
            lane = self._lane()
            future = _submit(lane, item)
        future.add_done_callback(lambda _: self._free.append(lane))
        return future

    def judge(self, problem: Exception) -> None:
        if not isinstance(problem, (BrokenProcessPool, MemoryError)):
            raise problem

    def end(self) -> None:
        self._stop.close()

    def kill(self) -> None:
        """End all processes at once, even while they work on items."""
        self._quit.close()
        self._await(self._all)

    def close(self) -> None:
        """End all processes after their current items; the caller needs no more results."""
        self._await(self._free)
        self.kill()

    def _await(self, lanes: Iterable[ProcessPoolExecutor]) -> None:
        # Wait even for killed processes. Otherwise the interpreter can exit during the end of an
        # executor's thread, write to a closed pipe, and print an error (CPython 3.11).
        for lane in list(lanes):
            lane.shutdown()


def _submit(lane: ProcessPoolExecutor, item: object) -> Future[Any]:
    """Let a process of the pool work on an item; the process is started if necessary."""
    with _settings_of_workers():
        return lane.submit(_call, item)


@contextmanager
def _settings_of_workers() -> Iterator[None]:
    """Within the context, prepare the environment that new worker processes inherit.

    Hide the file of the main module, because a new process would run it again; scripts that call
    slowpath then need no `if __name__ == "__main__"`. Give NumPy one thread in each process. The
    command line itself has the right settings.
    """
    if "slowpath.main" in sys.modules:
        yield
        return
    main = vars(sys.modules["__main__"])
    origin = dict(main)
    main.pop("__file__", None)
    main["__spec__"] = None  # `multiprocessing` reads it
    added = [name for name in THREAD_VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
        main |= {name: origin[name] for name in ("__file__", "__spec__") if name in origin}


_shared: list[Any] = []


def _prepare(
    work: Callable[[Any, Any, StopRequested], Any],
    common: object,
    stop: Connection,
    quit_: Connection,
) -> None:
    """Prepare a worker process: store the function and common argument of all calls.

    `stop` and `quit_` are pipes through which the owner asks for the end of the work or of the
    process.
    """
    # A terminal sends Ctrl-C to all processes; only the owner handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _shared[:] = [work, common, stop.poll]
    threading.Thread(target=_exit_with_owner, args=(quit_,), daemon=True).start()


def _exit_with_owner(quit_: Connection) -> None:
    """Exit as soon as the owner of this worker closes its end of the pipe or dies."""
    quit_.poll(None)
    os._exit(0)


def _call(item: object) -> Any:  # noqa: ANN401 - result of the work
    work, common, stop_requested = _shared
    return work(common, item, stop_requested)


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
        yield LocalPool(jobs)
    else:
        from slowpath.core.jobs.cluster_pool import connected

        with connected(scheduler) as pool:
            yield pool
