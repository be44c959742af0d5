"""Forked processes. No other module forks."""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FORKING = threading.Lock()
"""Lock around forks: a process that inherits the pipes of another one hides its death."""


class Child:
    """A forked process whose output arrives through a pipe."""

    def __init__(self, work: Callable[[int], int]) -> None:
        """Fork; the process does `work`, which gets its end of the pipe and returns the exit code.

        `SIGNALS` are blocked at first, until `work` has set its handlers and unblocks them.
        """
        with _FORKING:  # a cluster worker has several threads that fork
            self.output, end = os.pipe()
            before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            self.pid = os.fork()
            if self.pid == 0:
                code = 1
                try:
                    _FORKING.release()  # held by the only thread that the process has
                    os.close(self.output)
                    code = work(end)
                finally:
                    os._exit(code)  # skips cleanup, which is up to the parent
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(end)

    def wait(self) -> tuple[int, float]:
        """Wait for the end; return exit code (or minus the signal) and CPU seconds."""
        _, status, used = os.wait4(self.pid, 0)
        os.close(self.output)
        return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime

    def kill(self) -> tuple[int, float]:
        """Kill the process unless it has ended; return the same as `wait`."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return self.wait()
