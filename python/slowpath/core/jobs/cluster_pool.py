"""A pool of the workers of a Dask cluster (extra `fleet`).

Work of a worker that dies is done by others; Dask knows that. What calls have in common is a task
like others, not scattered, so that it is made again where it got lost. Items are sent when there
is somebody to do them soon: a scheduler keeps what it has in its memory.
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
from typing import Any, TypeVar

from slowpath.core.errors import OptionError, UnavailableError
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

_SECONDS = 10
_STARTING = 3.0
"""Seconds for somebody to listen: a scheduler may just be starting."""
_AGAIN = 0.2
_RETRIES = 3
_ATTEMPTS = 2
"""Of each, Dask makes several (`distributed.scheduler.allowed-failures`)."""
_WAITING = 2
"""Items for each thread of a worker: one at work, one beside it that comes next."""
_LOOK = 5.0
"""Seconds between two looks at how many workers there are."""


class ClusterPool:
    """The workers that a scheduler has."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - of Dask, which has no types
        self._client = client

    @property
    def beside(self) -> int:
        """As `Pool` has it: threads of all workers on a machine, of the one with the most."""
        threads = Counter[str]()
        for address, count in self._client.nthreads().items():
            threads[address.rpartition(":")[0]] += count
        return max(threads.values(), default=1)

    def map(
        self, work: Callable[[Common, Item], Result], common: Common, items: Sequence[Item]
    ) -> list[Result]:
        """What `work` says of each item; see `Pool`.

        Raises:
            UnavailableError: when workers die again and again, or cannot do this work.
        """
        found = self.each(Unasked(work), common, items)
        return plainly(found, "workers of the cluster die again and again")

    def each(
        self,
        work: Callable[[Common, Item, Asked], Result],
        common: Common,
        items: Sequence[Item],
        audience: PoolObserver = NO_OBSERVER,
    ) -> Generator[Result | Undone, None, None]:
        """What `work` says of each item, in their order; see `Pool`.

        Raises:
            UnavailableError: when the scheduler is gone, or workers cannot do this work.
        """
        crew = _Workers(self._client, work, common)
        yield from in_order(crew, items, audience, _ATTEMPTS)


class _Workers:
    """The workers of a cluster for one kind of work."""

    def __init__(
        self,
        client: Any,  # noqa: ANN401
        work: Callable[[Any, Any, Asked], Any],
        common: object,
    ) -> None:
        self._client = client
        self._run = uuid.uuid4().hex
        self._size, self._counted = 1, -_LOOK
        self._submitted = 0
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # once for each run
            # Keys are new each time: a scheduler may still know the result of an earlier run.
            self._shared = self._submit(pickle.loads, pickle.dumps((work, common)))

    @property
    def size(self) -> int:
        """As `Crew` has it; workers come and go."""
        now = time.monotonic()
        if now >= self._counted + _LOOK:
            self._counted = now
            self._size = _WAITING * max(1, sum(self._client.nthreads().values()))
        return self._size

    def begin(self, item: object) -> Any:  # noqa: ANN401
        """As `Crew` has it."""
        return self._submit(_call, self._shared, item, self._run)

    def _submit(self, *call: object) -> Any:  # noqa: ANN401
        self._submitted += 1
        first = -self._submitted  # else any of them may come first
        return self._client.submit(*call, pure=False, retries=_RETRIES, priority=first)

    def judge(self, problem: Exception) -> None:
        """As `Crew` has it.

        Raises:
            UnavailableError: when the scheduler is gone, or workers cannot do this work.
        """
        from distributed import CancelledError, KilledWorker

        if isinstance(problem, (KilledWorker, MemoryError)):
            return
        if isinstance(problem, CancelledError):
            raise UnavailableError("the scheduler of the cluster is gone") from None
        if isinstance(problem, ModuleNotFoundError):
            reason = f"the cluster's workers lack {problem.name}"
            raise UnavailableError(f"{reason}; install the same slowpath there") from None
        raise problem

    def end(self) -> None:
        """As `Crew` has it; workers that do not answer learn it when nobody wants the result."""
        threading.Thread(target=self._tell, daemon=True).start()

    def _tell(self) -> None:
        """Waits for all workers, also for those that die meanwhile."""
        with suppress(Exception):  # a client that is closed, a scheduler that is gone
            self._client.run(_end, self._run, on_error="ignore")


_ended = set[str]()


def _end(run: str) -> None:
    """In a worker: work of this run is to end."""
    _ended.add(run)


def _call(shared: tuple[Callable[[Any, Any, Asked], Any], Any], item: object, run: str) -> Any:  # noqa: ANN401
    from distributed import get_worker

    worker: Any = get_worker()
    key = worker.get_current_task()

    def asked() -> bool:
        """Whether the work is to end: somebody said so, or nobody wants the result any more."""
        task = worker.state.tasks.get(key)
        return run in _ended or task is None or task.state == "cancelled"

    work, common = shared
    return work(common, item, asked)


@contextmanager
def connected(scheduler: str) -> Iterator[ClusterPool]:
    """The pool of a scheduler, by its address.

    Raises:
        OptionError: when it cannot be reached.
        UnavailableError: when Dask is not installed.
    """
    try:
        from distributed import Client
    except ImportError:
        reason = "distributed is not installed; pip install slowpath[fleet]"
        raise UnavailableError(reason) from None
    try:
        _await_listener(scheduler)
        client: Any = Client(scheduler, timeout=_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise OptionError("--scheduler", f"{scheduler!r}: {reason}") from None
    try:
        yield ClusterPool(client)
    finally:
        client.close()


def _await_listener(scheduler: str) -> None:
    """Finds out whether somebody listens, before Dask does, which tries for much longer.

    Raises:
        OSError: when nobody does.
        ValueError: when that is no address.
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
            socket.create_connection((host, port), max(left, _AGAIN)).close()
        except OSError as problem:
            if left <= _AGAIN:
                raise OSError(f"nobody listens there: {problem.strerror or problem}") from None
            time.sleep(_AGAIN)
        else:
            return
