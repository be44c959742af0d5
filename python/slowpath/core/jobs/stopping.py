"""Handles SIGINT, SIGTERM and SIGHUP as requests to stop.

The first signal asks the work to end with its results so far; the second one ends the process.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """A request to stop, and the functions to call when it is made."""

    def __init__(self) -> None:
        self.asked = False
        self._listeners = list[Callable[[], None]]()

    def ask(self) -> None:
        """Ask the work to end, and call the listeners that were registered for this request."""
        self.asked = True
        for listener in list(self._listeners):
            listener()

    @contextmanager
    def calling(self, listener: Callable[[], None]) -> Iterator[None]:
        """Within the context, call `listener` on a stop request; at once if it was already made."""
        self._listeners.append(listener)
        try:
            if self.asked:
                listener()
            yield
        finally:
            self._listeners.remove(listener)


@contextmanager
def handling_signals(handle: Callable[[], None]) -> Iterator[None]:
    """Call `handle` on each of `SIGNALS`; ignored signals (`nohup`) stay ignored.

    Outside the main thread, signals cannot be handled, and nothing changes.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    handled = [n for n, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    try:
        for number in handled:
            signal.signal(number, lambda *_: handle())
    except ValueError:  # not the main thread
        handled = []
    try:
        yield
    finally:
        # Block signals while handlers are restored, so that none meets a mix of old and new ones.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, handled)
        for number in handled:
            signal.signal(number, before[number])
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def heeding_signals() -> Iterator[Stopping]:
    """Within the context, the first signal requests a stop; the second raises `KeyboardInterrupt`.

    Later signals are ignored, so that they do not disturb the cleanup.
    """
    stopping = Stopping()
    unwinding = False

    def handle() -> None:
        nonlocal unwinding
        if unwinding:
            return
        if stopping.asked:
            unwinding = True
            raise KeyboardInterrupt
        stopping.ask()

    with handling_signals(handle):
        try:
            yield stopping
        finally:
            unwinding = True
