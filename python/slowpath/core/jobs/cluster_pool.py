"""Runs work on the workers of a Dask cluster (extra `fleet`).

If a worker dies, Dask repeats its tasks on other workers. The common argument of all calls is a
task of its own instead of scattered data, so that Dask can compute it again after a loss. Items are
submitted only shortly before a worker is free, because the scheduler keeps them in memory.
"""

import pickle
import socket
import threading
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from slowpath.core import codes
from slowpath.core.errors import OptionError, UnavailableError
from slowpath.core.extras import not_installed
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

_CONNECT_SECONDS = 10
_STARTING = 3.0
"""Seconds to wait for a scheduler that is just starting."""
_RETRY_SECONDS = 0.2
_RETRIES = 3
_ATTEMPTS = 2
"""Attempts per item; in each attempt, Dask tries several times (see its setting
`distributed.scheduler.allowed-failures`)."""
_SUBMITTED = 2
"""Submitted items per worker thread: one running, one waiting."""
_LOOK = 5.0
"""Seconds between two queries for the present number of workers."""


class ClusterPool(Pool):
    """A pool of the workers that are connected to a Dask scheduler."""

    lost = "workers of the cluster die repeatedly"
    is_local = False

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - Dask has no types
        self._client = client

    @property
    def concurrency(self) -> int:
        """Maximum number of worker threads on one machine of the cluster; see `Pool`."""
        threads = Counter[str]()
        for address, count in self._client.nthreads().items():
            threads[address.rpartition(":")[0]] += count
        return max(threads.values(), default=1)

    def each(
        self,
        work: Callable[[Common, Item, StopRequested], Result],
        common: Common,
        items: Sequence[Item],
        observer: PoolObserver = NO_OBSERVER,
    ) -> Generator[Result | Unfinished, None, None]:
        """Call `work` for each item and yield the results in order; see `Pool`.

        Raises:
            UnavailableError: if the scheduler is gone, or workers lack a module.
        """
        crew = _Workers(self._client, work, common)
        yield from in_order(crew, items, observer, _ATTEMPTS)


class _Workers:
    """The workers of a cluster, and the function that they call for each item; see `Crew`."""

    def __init__(
        self,
        client: Any,  # noqa: ANN401
        work: Callable[[Any, Any, StopRequested], Any],
        common: object,
    ) -> None:
        self._client = client
        self._run = uuid.uuid4().hex
        self._size, self._counted = 1, -_LOOK
        self._submitted = 0
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # printed once per run
            # Keys are unique: a scheduler may still have the result of an earlier run.
            self._shared = self._submit(pickle.loads, pickle.dumps((work, common)))

    @property
    def size(self) -> int:
        """Maximum number of calls to submit at a time; it grows with the number of workers."""
        now = time.monotonic()
        if now >= self._counted + _LOOK:
            self._counted = now
            self._size = _SUBMITTED * max(1, sum(self._client.nthreads().values()))
        return self._size

    def begin(self, item: object) -> Any:  # noqa: ANN401
        return self._submit(_call, self._shared, item, self._run)

    def _submit(self, *call: object) -> Any:  # noqa: ANN401
        self._submitted += 1
        priority = -self._submitted  # keeps the order, which is arbitrary by default
        return self._client.submit(*call, pure=False, retries=_RETRIES, priority=priority)

    def judge(self, problem: Exception) -> None:
        """Decide about an exception that ended the work on an item.

        Return if the worker died, so that the item can be retried; else raise the exception.

        Raises:
            UnavailableError: if the scheduler is gone, or workers lack a module.
        """
        from distributed import CancelledError, KilledWorker

        if isinstance(problem, (KilledWorker, MemoryError)):
            return
        if isinstance(problem, CancelledError):
            raise UnavailableError(
                codes.WORKER_LOST, "the scheduler of the cluster no longer responds"
            ) from None
        if isinstance(problem, ModuleNotFoundError):
            reason = f"the cluster's workers lack {problem.name}"
            raise UnavailableError(
                codes.WORKER_VERSION, f"{reason}; install the same slowpath there"
            ) from None
        raise problem

    def end(self) -> None:
        """Ask all running calls to end.

        Workers that this message does not reach notice that their task was cancelled.
        """
        threading.Thread(target=self._request_end, daemon=True).start()

    def _request_end(self) -> None:
        # The call waits for all workers, even for dying ones, and therefore has its own thread.
        with suppress(Exception):  # the client is closed, or the scheduler is gone
            self._client.run(_end, self._run, on_error="ignore")


_ended = set[str]()


def _end(run: str) -> None:
    """Runs in a worker: ask the calls of `Pool.each` that belong to `run` to end.

    `run` is the identifier of one call of `each`.
    """
    _ended.add(run)


def _call(
    shared: tuple[Callable[[Any, Any, StopRequested], Any], Any], item: object, run: str
) -> Any:  # noqa: ANN401
    from distributed import get_worker

    worker: Any = get_worker()
    key = worker.get_current_task()

    def stop_requested() -> bool:
        """Return true if the run was asked to end, or this task was cancelled."""
        task = worker.state.tasks.get(key)
        return run in _ended or task is None or task.state == "cancelled"

    work, common = shared
    return work(common, item, stop_requested)


@contextmanager
def connected(scheduler: str) -> Iterator[ClusterPool]:
    """Connect to a scheduler and yield the pool of its workers.

    Raises:
        OptionError: if the scheduler cannot be reached.
        UnavailableError: if Dask is not installed.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UnavailableError(
            codes.MISSING_PACKAGE, not_installed(["distributed"], "fleet")
        ) from None
    try:
        _await_listener(scheduler)
        client: Any = Client(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise OptionError(codes.NO_SCHEDULER, "--scheduler", f"{scheduler!r}: {reason}") from None
    try:
        yield ClusterPool(client)
    finally:
        client.close()


def _await_listener(scheduler: str) -> None:
    """Check that a scheduler listens; Dask itself would try to connect for much longer.

    Raises:
        OSError: if nothing listens at the address.
        ValueError: if the address is invalid.
    """
    from distributed.comm.addressing import parse_address, parse_host_port

    scheme, place = parse_address(scheduler)
    if scheme not in ("tcp", "tls"):
        return
    host, port = parse_host_port(place)
    end = time.monotonic() + _STARTING
    while True:
        left = end - time.monotonic()
        try:
            socket.create_connection((host, port), max(left, _RETRY_SECONDS)).close()
        except OSError as problem:
            if left <= _RETRY_SECONDS:
                raise OSError(
                    f"the scheduler does not answer: {problem.strerror or problem}"
                ) from None
            time.sleep(_RETRY_SECONDS)
        else:
            return
