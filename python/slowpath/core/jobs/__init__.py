"""Worker processes, pools and threads. This file defines the interface of workers and jobs."""

import signal
from collections.abc import Callable
from typing import Any, Protocol

from slowpath.core.jobs.stopping import Stopping

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
    """A worker that runs jobs one after the other."""

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
