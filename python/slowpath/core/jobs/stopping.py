"""Signals that stop work: SIGINT, SIGTERM and SIGHUP.

The first one asks the work to end with its results so far; the second one ends the process.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """A stop request with its listeners."""

    def __init__(self) -> None:
        self.asked = False
        self._listeners = list[Callable[[], None]]()

    def ask(self) -> None:
        """Ask the work to end."""
        self.asked = True
        for listener in list(self._listeners):
            listener()

    @contextmanager
    def calling(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call `listener` when the work has to end; at once if a stop was already requested."""
        self._listeners.append(listener)
        try:
            if self.asked:
                listener()
            yield
        finally:
            self._listeners.remove(listener)


@contextmanager
def heeding_signals() -> Iterator[Stopping]:
    """Install handlers: the first signal asks the work to end, the second ends the process.

    The second signal raises `KeyboardInterrupt`. Later ones are ignored, so that they do not
    disturb the cleanup. Outside the main thread, signals cannot be handled, and nothing changes.
    Signals that are ignored (`nohup`) stay ignored.
    """
    stopping = Stopping()
    unwinding = False

    def handle(_signal: int, _frame: FrameType | None) -> None:
        nonlocal unwinding
        if unwinding:
            return
        if stopping.asked:
            unwinding = True
            raise KeyboardInterrupt
        stopping.ask()

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heeded = [n for n, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    try:
        for number in heeded:
            signal.signal(number, handle)
    except ValueError:  # not the main thread
        heeded = []
    try:
        yield stopping
    finally:
        unwinding = True
        # Block signals while handlers are restored, so that none meets a mix of old and new ones.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, heeded)
        for number in heeded:
            signal.signal(number, before[number])
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
