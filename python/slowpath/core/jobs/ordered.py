"""Results of a pool in the order of the items.

A crew is kept at work, whatever is waited for. An item whose worker dies is begun once more when
nothing else is left, by itself: then nobody else takes memory, and nobody else dies with it.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol

from slowpath.core.errors import UnavailableError

_LOOK = 0.1
"""Seconds between two looks at what there is to do."""
_HOPELESS = 20
"""Workers that die without a single result before nobody tries any more."""
_GRACE = 3.0
"""Seconds that work has to end with what it has, from when it was asked to."""
_ALL_DIE = "all worker processes die"

Asked = Callable[[], bool]
"""Whether the work is to end with what it has; work that takes long looks at it."""


class PoolObserver(NamedTuple):
    """Who waits for results."""

    asked: Asked = lambda: False
    look: Callable[[int], None] = lambda _done: None
    """Is told how many items are done, about ten times a second."""


NO_OBSERVER = PoolObserver()
"""Nobody who would end the work."""


class Undone(NamedTuple):
    """Why an item has no result: its workers died, each time, or all of it had to end before."""

    died: bool


class Future(Protocol):
    """An item at work, or done."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Has `fn` called when it is done, on any thread."""

    def done(self) -> bool:
        """Whether nobody is at it any more."""

    def cancel(self) -> object:
        """Has nobody begin with it; who is at it may notice."""

    def result(self) -> Any:  # noqa: ANN401 - whatever the work says
        """What became of it; it is done.

        Raises:
            Exception: when there is no result.
        """


class Crew(Protocol):
    """Those who do one kind of work."""

    @property
    def size(self) -> int:
        """How many items are to be given to them at once."""

    def begin(self, item: object) -> Future:
        """Gives them an item."""

    def judge(self, problem: Exception) -> None:
        """Returns when a worker has died, and nothing else is wrong.

        Raises:
            Exception: what else is wrong.
        """

    def end(self) -> None:
        """Asks all work to end with what it has."""


def in_order(
    crew: Crew, items: Sequence[Any], audience: PoolObserver, attempts: int
) -> Iterator[Any | Undone]:
    """What the crew says of each item; at worst, so many of its attempts take workers down.

    Raises:
        UnavailableError: and whatever else the crew says is wrong.
    """
    work = _Work(crew, items, audience, attempts)
    try:
        for at in range(len(items)):
            yield work.awaited(at)
    finally:
        work.leave()


def plainly(
    found: Iterator[Any | Undone], reason: str = "worker processes die again and again"
) -> list[Any]:
    """All results.

    Raises:
        UnavailableError: when there is none for an item, for this reason.
    """
    results = []
    for one in found:
        if isinstance(one, Undone):
            raise UnavailableError(reason)
        results.append(one)
    return results


class Unasked:
    """Work that nothing ends, as work that can be asked to; workers get it as a pickled object."""

    def __init__(self, work: Callable[[Any, Any], Any]) -> None:
        self._work = work

    def __call__(self, common: object, item: object, _asked: Asked) -> Any:  # noqa: ANN401
        """As the work has it."""
        return self._work(common, item)


class _Work:
    """Items that are left, at work, and done."""

    def __init__(
        self, crew: Crew, items: Sequence[Any], audience: PoolObserver, attempts: int
    ) -> None:
        self._crew, self._items, self._audience = crew, items, audience
        self._attempts = attempts
        self._left = deque(range(len(items)))
        self._again = deque[int]()
        self._died = Counter[int]()
        self._busy = dict[int, Future]()  # kept: a cluster forgets what nobody has
        self._ended = SimpleQueue[tuple[int, Future]]()
        self._found = dict[int, Any]()
        self._done = 0
        self._asked: float | None = None  # when
        self._looked = 0.0

    def awaited(self, at: int) -> Any | Undone:  # noqa: ANN401
        """The result of an item, awaited."""
        while at not in self._found:
            self._step()
        return self._found.pop(at)

    def leave(self) -> None:
        """Waits for nothing any more."""
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
            return  # nobody waits for it any more
        del self._busy[at]
        try:
            self._found[at] = future.result()
        except Exception as problem:  # noqa: BLE001 - the crew knows
            self._crew.judge(problem)
            self._died[at] += 1
            if not self._done and self._died.total() >= _HOPELESS:
                raise UnavailableError(_ALL_DIE) from None
            if self._asked is None and self._died[at] < self._attempts:
                self._again.append(at)
                return
            self._found[at] = Undone(died=True)
            return
        self._done += 1

    def _give_up(self, items: Sequence[int]) -> None:
        self._found.update((at, Undone(died=self._died[at] > 0)) for at in items)
