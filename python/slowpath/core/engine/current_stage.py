"""Names of the stages of work that progress lines show."""

import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
LOOK = 0.1
"""Seconds between two looks at what is being done."""


class Doing(NamedTuple):
    """What is being done."""

    subject: str  # to what, such as the name of a program; empty: nobody says
    stage: str  # such as `rewriting`; empty: nobody says
    done: int  # how much of that
    unit: str  # what `done` counts; empty: nothing is counted


class Meanwhile(Generic[T]):
    """Work on another thread."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._done = list[T]()
        self._failed = list[BaseException]()

        def run() -> None:
            try:
                self._done.append(work())
            except BaseException as problem:  # noqa: BLE001 - raised where it is waited for
                self._failed.append(problem)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether it is over within so many seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> T:
        """What has come of it; raises what it raised."""
        if self._failed:
            raise self._failed[0]
        return self._done[0]
