"""Starts forked processes. No other module forks."""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

from slowpath.core.jobs.stopping import SIGNALS

_FORKING = threading.Lock()
"""Lock that is held during forks.

Otherwise a child could inherit the pipe of another child, which would hide that child's death.
"""


class Child:
    """A forked process whose output arrives through a pipe."""

    def __init__(self, work: Callable[[int], int]) -> None:
        """Fork, and call `work` in the new process with its end of the pipe.

        `work` returns the exit code. `SIGNALS` are blocked until it unblocks them, so that it can
        set handlers first.
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
        """Wait until the process ends.

        Return its exit code (or minus the signal number) and its CPU seconds.
        """
        _, status, used = os.wait4(self.pid, 0)
        os.close(self.output)
        return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime

    def kill(self) -> tuple[int, float]:
        """Kill the process unless it has ended; return what `wait` returns."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return self.wait()
