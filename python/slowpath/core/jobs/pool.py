"""Interface of process pools, and the code that retries work and restores its order.

While the caller waits for an item, all workers go on with later ones. If a worker dies, its item is
retried alone after all other items. The retry thus has all memory and cannot take others down.
"""

import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeVar

from slowpath.core import codes
from slowpath.core.errors import OptionError, UnavailableError

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")

_LOOK = 0.1
"""Seconds between two checks for finished items and stop requests."""
_HOPELESS = 20
"""If this number of workers dies before the first result, the pool gives up."""
_GRACE = 3.0
"""Seconds after a stop request in which work can still deliver its results."""

StopRequested = Callable[[], bool]
"""Function that returns true once work has to end with its results so far; long work polls it."""


class PoolObserver(NamedTuple):
    """Callbacks through which the caller of a pool asks for a stop and shows the progress."""

    stop_requested: StopRequested = lambda: False
    look: Callable[[int], None] = lambda _done: None
    """Called about ten times a second with the number of finished items."""


NO_OBSERVER = PoolObserver()
"""An observer that ignores progress and never stops the work."""


class Unfinished(NamedTuple):
    """Placeholder for a missing result of an item.

    Either its worker died in each attempt (`died`), or the work was stopped.
    """

    died: bool


class Pool(ABC):
    """A pool of worker processes.

    A pool calls a function for each of many items, on any of its workers, and returns the results
    in the order of the items. The function must depend only on its arguments, so that a call can
    run anywhere and be repeated after the death of a worker.
    """

    lost = "worker processes die repeatedly"
    """Text of the error that `map` raises if an item has no result."""
    is_local = True
    """True if the workers run the engine of this process, not only one of the same version."""

    @property
    @abstractmethod
    def concurrency(self) -> int:
        """Maximum number of concurrent calls on one machine."""

    def map(
        self, work: Callable[[Common, Item], Result], common: Common, items: Sequence[Item]
    ) -> list[Result]:
        """Call `work` for each item in the pool; return the results in the order of the items.

        Args:
            work: A module-level function, which workers import.
            common: First argument of all calls; sent to each worker only once.
            items: Second argument of each call.

        Raises:
            UnavailableError: if workers die in each attempt for an item.
        """
        results = []
        for one in self.each(_IgnoringStop(work), common, items):
            if isinstance(one, Unfinished):
                raise UnavailableError(codes.WORKER_LOST, self.lost)
            results.append(one)
        return results

    @abstractmethod
    def each(
        self,
        work: Callable[[Common, Item, StopRequested], Result],
        common: Common,
        items: Sequence[Item],
        observer: PoolObserver = NO_OBSERVER,
    ) -> Generator[Result | Unfinished, None, None]:
        """Call `work` for each item in the pool; yield the results in the order of the items.

        A result is yielded once it and all earlier ones are known. After a stop request of
        `observer`, running items end with their results so far, and no further items are begun.

        Raises:
            UnavailableError: if no workers are left, or they lack a module.
        """


class _IgnoringStop:
    """Adapts a function without a parameter for stop requests to the interface of `each`.

    It is a class instead of a nested function, so that it can be pickled.
    """

    def __init__(self, work: Callable[[Any, Any], Any]) -> None:
        self._work = work

    def __call__(self, common: object, item: object, _stop: StopRequested) -> Any:  # noqa: ANN401
        """Call the wrapped function without the argument `_stop`."""
        return self._work(common, item)


class Future(Protocol):
    """Handle of an item whose work has begun; gives access to its result later."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Register a function to call when the item is finished, on any thread."""

    def done(self) -> bool:
        """Return true if the item is finished or cancelled."""

    def cancel(self) -> object:
        """Cancel the item if it has not begun; a worker that runs it may notice the request."""

    def result(self) -> Any:  # noqa: ANN401 - result of the work
        """Return the result of a finished item.

        Raises:
            Exception: the one that the work raised, or one of the pool if there is no result.
        """


class Crew(Protocol):
    """Interface of a pool's workers, with the function that they call for each item."""

    @property
    def size(self) -> int:
        """Maximum number of items to hand to the workers at a time, waiting or running."""

    def begin(self, item: object) -> Future:
        """Begin the work on an item, and return a handle that later gives access to the result."""

    def judge(self, problem: Exception) -> None:
        """Decide about an exception that ended the work on an item.

        Return if it only means that the worker died, so that the item can be retried.

        Raises:
            Exception: the exception itself or a clearer one, if it has another cause.
        """

    def end(self) -> None:
        """Ask all running work to end with its results so far."""


def in_order(
    crew: Crew, items: Sequence[Any], observer: PoolObserver, attempts: int
) -> Iterator[Any | Unfinished]:
    """Let the workers of a pool process items; yield the results in the order of the items.

    If a worker dies, its item is retried, up to `attempts` attempts in all.

    Raises:
        UnavailableError: if all workers die.
        Exception: an exception that `Crew.judge` raises, such as that of a failed item.
    """
    work = _Work(crew, items, observer, attempts)
    try:
        for at in range(len(items)):
            yield work.awaited(at)
    finally:
        work.leave()


class _Work:
    """The items of a pool during the work: waiting, running and finished ones."""

    def __init__(
        self, crew: Crew, items: Sequence[Any], observer: PoolObserver, attempts: int
    ) -> None:
        self._crew, self._items, self._observer = crew, items, observer
        self._attempts = attempts
        self._waiting = deque(range(len(items)))
        self._retries = deque[int]()
        self._deaths = Counter[int]()
        self._running = dict[int, Future]()  # a cluster drops tasks that nothing refers to
        self._finished = SimpleQueue[tuple[int, Future]]()
        self._results = dict[int, Any]()
        self._done = 0
        self._stopped_at: float | None = None  # time of the stop request
        self._looked = 0.0

    def awaited(self, at: int) -> Any | Unfinished:  # noqa: ANN401
        while at not in self._results:
            self._step()
        return self._results.pop(at)

    def leave(self) -> None:
        for future in self._running.values():
            if not future.done():
                future.cancel()

    def _step(self) -> None:
        now = time.monotonic()
        if self._stopped_at is None and self._observer.stop_requested():
            self._stopped_at = now
            self._abandon([*self._waiting, *self._retries])
            self._waiting.clear()
            self._retries.clear()
            self._crew.end()
        if self._stopped_at is not None and now > self._stopped_at + _GRACE:
            self._abandon(list(self._running))
            self._running.clear()
        self._begin()
        try:
            if self._running:
                self._take(*self._finished.get(timeout=_LOOK))
        except Empty:
            pass
        if now >= self._looked + _LOOK:
            self._looked = now
            self._observer.look(self._done)

    def _begin(self) -> None:
        while self._waiting and len(self._running) < self._crew.size:
            self._start(self._waiting.popleft())
        if self._retries and not self._running:
            self._start(self._retries.popleft())

    def _start(self, at: int) -> None:
        future = self._crew.begin(self._items[at])
        self._running[at] = future
        future.add_done_callback(lambda done: self._finished.put((at, done)))

    def _take(self, at: int, future: Future) -> None:
        if self._running.get(at) is not future:
            return  # was abandoned
        del self._running[at]
        try:
            self._results[at] = future.result()
        except Exception as problem:  # noqa: BLE001 - the crew decides
            self._crew.judge(problem)
            self._deaths[at] += 1
            if not self._done and self._deaths.total() >= _HOPELESS:
                raise UnavailableError(
                    codes.WORKER_LOST, "all worker processes have died"
                ) from None
            if self._stopped_at is None and self._deaths[at] < self._attempts:
                self._retries.append(at)
                return
            self._results[at] = Unfinished(died=True)
            return
        self._done += 1

    def _abandon(self, items: Sequence[int]) -> None:
        self._results.update((at, Unfinished(died=self._deaths[at] > 0)) for at in items)


def check_place(scheduler: str | None, jobs: int | None) -> None:
    """Check that the user did not choose both a cluster and a number of local processes.

    Raises:
        OptionError: if both options are given.
    """
    if scheduler is not None and jobs is not None:
        raise OptionError(
            codes.OPTION_WITHOUT_EFFECT,
            "--jobs",
            "applies only to this machine; the cluster has its own workers",
        )
