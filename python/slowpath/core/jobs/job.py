"""Interface of supervised work."""

import signal
from collections.abc import Callable
from typing import Any, Protocol

from slowpath.core.jobs.stopping import Stopping

Message = tuple[Any, ...]
"""What a job says; of types that `marshal` can write."""
Send = Callable[[Message], None]
Job = Callable[[float | None, Send, Stopping], None]
"""Work within so many seconds that sends messages; its owner knows the last one."""


class Lost(Exception):  # noqa: N818 - what happened, not what is wrong
    """The work ended in the middle of a job."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status  # of its process, as `os.waitstatus_to_exitcode` has it
        self.text = text  # what it wrote to standard error

    @property
    def is_memory(self) -> bool:
        """Whether it ran out of memory, or the system killed it for that."""
        return self.status == -signal.SIGKILL or "memory allocation of" in self.text


class Doer(Protocol):
    """Does jobs, one after the other."""

    def start(self, number: int, seconds: float | None) -> None:
        """Starts a job; its messages are to be received up to the last one."""

    def receive(self, seconds: float) -> Message | None:
        """The next message of the job, or None if there is none for so long, or at its end.

        Raises:
            Lost: when the job has ended without its last message.
        """

    def stop(self) -> None:
        """Asks the job to end with what it has."""

    def kill(self) -> None:
        """Has nothing more to do with the job, whatever it does."""
