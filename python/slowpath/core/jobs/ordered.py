"""Interface of process pools, and their results in the order of the items.

All workers of a crew stay busy, independent of the awaited item. If a worker dies, its item is
retried alone after all other items. The retry thus has all memory and cannot take others down.
"""

import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeVar

from slowpath.core.errors import UnavailableError

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")

_LOOK = 0.1
"""Seconds between two checks for finished items and stop requests."""
_HOPELESS = 20
"""Number of workers that may die before the first result; then the pool gives up."""
_GRACE = 3.0
"""Seconds after a stop request in which work can still deliver its results."""
_ALL_DIE = "all worker processes die"

StopRequested = Callable[[], bool]
"""Function that returns true if the work has to end with its results so far; long work polls it."""


class PoolObserver(NamedTuple):
    """The caller that waits for results."""

    asked: StopRequested = lambda: False
    look: Callable[[int], None] = lambda _done: None
    """Callback with the number of finished items, about ten times a second."""


NO_OBSERVER = PoolObserver()
"""An observer that ignores progress and never stops the work."""


class Unfinished(NamedTuple):
    """An item without a result: its worker died in each attempt, or the work was stopped."""

    died: bool


class Pool(ABC):
    """A pool of worker processes.

    A pool calls a function for each of many items, on any of its workers, and returns the results
    in the order of the items. The function depends only on its arguments. A call can therefore run
    anywhere and be repeated: if a worker dies, only time is lost.
    """

    lost = "worker processes die again and again"
    """Reason of the error if an item has no result."""

    @property
    @abstractmethod
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
        results = []
        for one in self.each(_IgnoringStop(work), common, items):
            if isinstance(one, Unfinished):
                raise UnavailableError(self.lost)
            results.append(one)
        return results

    @abstractmethod
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


class _IgnoringStop:
    """Adapter for work that ignores stop requests; workers get it as a pickled object."""

    def __init__(self, work: Callable[[Any, Any], Any]) -> None:
        self._work = work

    def __call__(self, common: object, item: object, _asked: StopRequested) -> Any:  # noqa: ANN401
        """Call the work without the stop request."""
        return self._work(common, item)


class Future(Protocol):
    """An item that was begun."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Register a function to call when the item is finished, on any thread."""

    def done(self) -> bool:
        """Return true if the item is finished or cancelled."""

    def cancel(self) -> object:
        """Cancel the item if it waits; if it runs, its worker may notice."""

    def result(self) -> Any:  # noqa: ANN401 - result of the work
        """Return the result of a finished item.

        Raises:
            Exception: if there is no result.
        """


class Crew(Protocol):
    """Workers for one kind of work."""

    @property
    def size(self) -> int:
        """Maximum number of items that are begun at the same time."""

    def begin(self, item: object) -> Future:
        """Begin an item."""

    def judge(self, problem: Exception) -> None:
        """Return normally if an error only means that a worker died.

        Raises:
            Exception: if the error has another cause.
        """

    def end(self) -> None:
        """Ask all work to end with its results so far."""


def in_order(
    crew: Crew, items: Sequence[Any], audience: PoolObserver, attempts: int
) -> Iterator[Any | Unfinished]:
    """Yield the results of a crew in the order of the items; retry items whose worker died.

    `attempts` is the maximum number of attempts for an item.

    Raises:
        UnavailableError: if all workers die; further exceptions come from `Crew.judge`.
    """
    work = _Work(crew, items, audience, attempts)
    try:
        for at in range(len(items)):
            yield work.awaited(at)
    finally:
        work.leave()


class _Work:
    """Waiting, running and finished items."""

    def __init__(
        self, crew: Crew, items: Sequence[Any], audience: PoolObserver, attempts: int
    ) -> None:
        self._crew, self._items, self._audience = crew, items, audience
        self._attempts = attempts
        self._left = deque(range(len(items)))
        self._again = deque[int]()
        self._died = Counter[int]()
        self._busy = dict[int, Future]()  # a cluster drops tasks without references
        self._ended = SimpleQueue[tuple[int, Future]]()
        self._found = dict[int, Any]()
        self._done = 0
        self._asked: float | None = None  # time of the stop request
        self._looked = 0.0

    def awaited(self, at: int) -> Any | Unfinished:  # noqa: ANN401
        while at not in self._found:
            self._step()
        return self._found.pop(at)

    def leave(self) -> None:
        for future in self._busy.values():
            if not future.done():
                future.cancel()

    def _step(self) -> None:
        now = time.monotonic()
        if self._asked is None and self._audience.asked():
            self._asked = now
            self._give_up([*self._left, *self._again])
            self._left.clear()
            self._again.clear()
            self._crew.end()
        if self._asked is not None and now > self._asked + _GRACE:
            self._give_up(list(self._busy))
            self._busy.clear()
        self._begin()
        try:
            if self._busy:
                self._take(*self._ended.get(timeout=_LOOK))
        except Empty:
            pass
        if now >= self._looked + _LOOK:
            self._looked = now
            self._audience.look(self._done)

    def _begin(self) -> None:
        while self._left and len(self._busy) < self._crew.size:
            self._give(self._left.popleft())
        if self._again and not self._busy:
            self._give(self._again.popleft())

    def _give(self, at: int) -> None:
        future = self._crew.begin(self._items[at])
        self._busy[at] = future
        future.add_done_callback(lambda done: self._ended.put((at, done)))

    def _take(self, at: int, future: Future) -> None:
        if self._busy.get(at) is not future:
            return  # was given up
        del self._busy[at]
        try:
            self._found[at] = future.result()
        except Exception as problem:  # noqa: BLE001 - the crew decides
            self._crew.judge(problem)
            self._died[at] += 1
            if not self._done and self._died.total() >= _HOPELESS:
                raise UnavailableError(_ALL_DIE) from None
            if self._asked is None and self._died[at] < self._attempts:
                self._again.append(at)
                return
            self._found[at] = Unfinished(died=True)
            return
        self._done += 1

    def _give_up(self, items: Sequence[int]) -> None:
        self._found.update((at, Unfinished(died=self._died[at] > 0)) for at in items)
