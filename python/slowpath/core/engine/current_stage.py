"""Remembers the current stage of long work, which progress lines show."""

import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
POLL_SECONDS = 0.1
"""Seconds between two updates of the current stage."""


class StageProgress(NamedTuple):
    """Current stage of work in the compiled engine, and how far it is."""

    subject: str  # such as the name of a program; empty: unknown
    stage: str  # such as `rewriting`; empty: unknown
    done: int  # completed units of the stage
    unit: str  # unit of `done`; empty: nothing is counted


class BackgroundWork(Generic[T]):
    """A function call that runs on another thread."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._done = list[T]()
        self._failed = list[BaseException]()

        def run() -> None:
            try:
                self._done.append(work())
            except BaseException as problem:  # noqa: BLE001 - `result` raises it
                self._failed.append(problem)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the work, for at most `seconds`; return true if it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> T:
        """Return the result of the work, or raise its exception."""
        if self._failed:
            raise self._failed[0]
        return self._done[0]
