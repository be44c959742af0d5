"""Signals that ask work to end: SIGINT, SIGTERM and SIGHUP.

The first one asks for what there is by then; a second one ends the process at once.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """Whether the work is to end, and what to tell when it is."""

    def __init__(self) -> None:
        self.asked = False
        self._listeners = list[Callable[[], None]]()

    def ask(self) -> None:
        """Asks for the end of the work."""
        self.asked = True
        for listener in list(self._listeners):
            listener()

    @contextmanager
    def calling(self, listener: Callable[[], None]) -> Iterator[None]:
        """Has `listener` called when the work is to end; at once, if it already is."""
        self._listeners.append(listener)
        try:
            if self.asked:
                listener()
            yield
        finally:
            self._listeners.remove(listener)


@contextmanager
def heeding_signals() -> Iterator[Stopping]:
    """Has the first signal ask for the end of the work, and a second one end the process.

    The second one raises `KeyboardInterrupt`, once: what unwinds then, and what cleans up at the
    end, is not disturbed by more of them. Nothing changes outside the main thread, where signals
    cannot be handled, and for signals that are ignored (`nohup`).
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
        # A signal that came under the one handler is not to find the other, or none.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, heeded)
        for number in heeded:
            signal.signal(number, before[number])
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
