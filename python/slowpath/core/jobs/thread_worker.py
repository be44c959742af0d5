"""A worker on a thread of this process, for one small program.

For a trivial program, a worker process would add a sixth to the time, because both processes copy
the pages that they write to. The engine stops by itself at a deadline, at a memory limit, and on
request. If it does not stop, its thread is abandoned and ends with this process. The advantage of a
worker process is that a crash ends only that process. This matters if other programs wait, or if
the input is so large that a crash is likely.
"""

import threading
from collections import deque
from collections.abc import Sequence

from slowpath.core.jobs import Job, Message, WorkerLostError
from slowpath.core.jobs.stopping import Stopping


class _Queue:
    """A queue of messages between two threads; importing the module `queue` takes long."""

    def __init__(self) -> None:
        self._messages = deque[Message | WorkerLostError]()
        self._count = threading.Semaphore(0)

    def put(self, message: Message | WorkerLostError) -> None:
        self._messages.append(message)
        self._count.release()

    def get(self, seconds: float) -> Message | WorkerLostError | None:
        return self._messages.popleft() if self._count.acquire(timeout=seconds) else None


class ThreadWorker:
    """A worker that runs jobs on a thread; see `ProcessWorker`."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self._messages = _Queue()
        self._stopping = Stopping()

    def start(self, number: int, seconds: float | None) -> None:
        """Start a job, given by its index; the caller has to receive all messages of the job."""
        # A new queue drops later messages of an abandoned job.
        messages, stopping = _Queue(), Stopping()
        self._messages, self._stopping = messages, stopping
        job = self._jobs[number]

        def work() -> None:
            try:
                job(seconds, messages.put, stopping)
            except BaseException as defect:  # noqa: BLE001 - the owner reports it
                messages.put(WorkerLostError(1, f"{type(defect).__name__}: {defect}"))

        threading.Thread(target=work, daemon=True).start()

    def receive(self, seconds: float) -> Message | None:
        """Return the next message of the job; None if none arrives within `seconds`.

        Raises:
            WorkerLostError: if the job has failed.
        """
        message = self._messages.get(seconds)
        if isinstance(message, WorkerLostError):
            raise message
        return message

    def stop(self) -> None:
        """Ask the job to end with its results so far."""
        self._stopping.ask()

    def kill(self) -> None:
        """Ask the job to end, and abandon its thread."""
        self._stopping.ask()
