"""Runs work in processes and threads. This file defines the interface of workers and jobs.

A job is one call of a function; a worker is a process or thread that runs jobs. SIGINT, SIGTERM and
SIGHUP are requests to stop: the first signal asks the work to end with its results so far; the
second one ends the process.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """A request to stop: records if it was made, and calls functions when it is."""

    def __init__(self) -> None:
        self.asked = False
        self._listeners = list[Callable[[], None]]()

    def ask(self) -> None:
        """Make the request: set `asked`, and call all registered listeners."""
        self.asked = True
        for listener in list(self._listeners):
            listener()

    @contextmanager
    def calling(self, listener: Callable[[], None]) -> Iterator[None]:
        """Within the context, call `listener` when a stop is requested.

        If this has already happened, call it at once.
        """
        self._listeners.append(listener)
        try:
            if self.asked:
                listener()
            yield
        finally:
            self._listeners.remove(listener)


@contextmanager
def handling_signals(handle: Callable[[], None]) -> Iterator[None]:
    """Within the context, call `handle` on each signal that requests a stop.

    Ignored signals (`nohup`) stay ignored. Outside the main thread, signals cannot be handled, and
    nothing changes.
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
        # Block signals while handlers are restored, so that none arrives between two restorations.
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


Message = tuple[Any, ...]
"""A message of a job; its values have types that `marshal` can write."""
Send = Callable[[Message], None]
Job = Callable[[float | None, Send, Stopping], None]
"""A function that works for at most a number of seconds (None: no limit) and sends messages.

The process that started the work recognises its last message.
"""


class WorkerLostError(Exception):
    """Error: the worker ended before it had sent the last message of a job."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status  # exit code of the process, as in `os.waitstatus_to_exitcode`
        self.text = text  # standard error of the process

    @property
    def is_memory(self) -> bool:
        """Return true if the process ran out of memory, or the system killed it for its memory."""
        return self.status == -signal.SIGKILL or "memory allocation of" in self.text


class JobWorker(Protocol):
    """Interface of workers, which run jobs one after the other."""

    def start(self, number: int, seconds: float | None) -> None:
        """Start a job, given by its index in the worker's list of jobs.

        `seconds` is its time limit; None: no limit. The caller has to receive all messages of the
        job.
        """

    def receive(self, seconds: float) -> Message | None:
        """Return the next message of the job; None if none arrives within `seconds`.

        Raises:
            WorkerLostError: if the job has ended without its last message.
        """

    def stop(self) -> None:
        """Ask the job to end with its results so far."""

    def kill(self) -> None:
        """Abandon the job, even if it does not react to `stop`."""
