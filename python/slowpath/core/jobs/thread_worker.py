"""A worker on a thread of this process, for one small program.

A process of its own takes a sixth of the time of a program that is analysed at once, for copying
the pages that both write to. The engine ends by itself at a deadline, at a memory limit, and when
asked to; where it does not, its thread is left behind, and ends with the process. What a worker
process does better is to die alone, and that counts where others wait for their turn, or where the
input is large enough to make it likely.
"""

import threading
from collections import deque
from collections.abc import Sequence

from slowpath.core.jobs.job import Job, Lost, Message
from slowpath.core.jobs.stopping import Stopping


class _Queue:
    """Messages between two threads; the module of that name is long to import."""

    def __init__(self) -> None:
        self._messages = deque[Message | Lost]()
        self._count = threading.Semaphore(0)

    def put(self, message: Message | Lost) -> None:
        self._messages.append(message)
        self._count.release()

    def get(self, seconds: float) -> Message | Lost | None:
        return self._messages.popleft() if self._count.acquire(timeout=seconds) else None


class Companion:
    """Does jobs on a thread; see `Worker`."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self._messages = _Queue()
        self._stopping = Stopping()

    def start(self, number: int, seconds: float | None) -> None:
        """Starts a job; its messages are to be received up to the last one."""
        # What an earlier job that was left behind still says is not for this one.
        messages, stopping = _Queue(), Stopping()
        self._messages, self._stopping = messages, stopping
        job = self._jobs[number]

        def work() -> None:
            try:
                job(seconds, messages.put, stopping)
            except BaseException as defect:  # noqa: BLE001 - the owner says it
                messages.put(Lost(1, f"{type(defect).__name__}: {defect}"))

        threading.Thread(target=work, daemon=True).start()

    def receive(self, seconds: float) -> Message | None:
        """The next message of the job, or None if there is none for so long, or at its end.

        Raises:
            Lost: when the job has failed.
        """
        message = self._messages.get(seconds)
        if isinstance(message, Lost):
            raise message
        return message

    def stop(self) -> None:
        """Asks the job to end with what it has."""
        self._stopping.ask()

    def kill(self) -> None:
        """Waits no more for the job, whatever it does."""
        self._stopping.ask()
