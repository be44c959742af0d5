"""Jobs, watched: whatever becomes of them, their time and memory are kept.

The engine ends by itself at a deadline, at a memory limit, or when asked to, and has something to
show for it. What does not, or takes its process down, is ended from here.
"""

import signal
import time
from collections.abc import Callable

from slowpath.work.jobs import Doer, Lost, Message
from slowpath.work.stopping import Stopping

_GRACE = 0.35
"""Seconds that a job has, from when it should have ended, before it is ended."""
_LOOK = 0.1
"""Seconds between two looks at what there is to do."""


class Ending:
    """Why a job has not sent its last message."""

    def __init__(self, reason: str, *, defect: bool = False) -> None:
        """`reason` is `deadline`, `interrupted`, `memory limit`, or what it died of."""
        self.reason = reason
        self.defect = defect  # the job is to blame, not what it was allowed


def await_job(
    worker: Doer,
    seconds: float | None,
    stopping: Stopping,
    take: Callable[[Message], bool],
    look: Callable[[], None] = lambda: None,
) -> Ending | None:
    """Awaits the end of a job that has been started, with so many seconds; None when it is done.

    `take` gets the messages, and says which one is the last. `look` is called ten times a second.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    asked: float | None = None  # when the job was asked to stop
    with stopping.calling(worker.stop):
        try:
            while True:
                message = worker.receive(_LOOK)
                if message is not None and take(message):
                    return None
                now = time.monotonic()
                if stopping.asked and asked is None:
                    asked = now
                if asked is not None and now > asked + _GRACE:
                    return _ended(worker, "interrupted")
                if deadline is not None and now > deadline + _GRACE:
                    return _ended(worker, "deadline")
                look()
        except Lost as lost:
            return _lost(lost)
        except BaseException:
            worker.kill()
            raise


def _ended(worker: Doer, reason: str) -> Ending:
    worker.kill()
    return Ending(reason)


def _lost(lost: Lost) -> Ending:
    if lost.is_memory:
        return Ending("memory limit")
    if lost.status == -signal.SIGSEGV:
        return Ending("out of stack")
    how = lost.text.splitlines()[-1] if lost.text else f"exit status {lost.status}"
    return Ending(how, defect=True)
