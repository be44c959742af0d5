"""Work other than analyses in a worker process."""

from collections.abc import Callable, Iterator
from types import TracebackType

from slowpath.core.errors import InputError, StoppedError
from slowpath.core.jobs import Message, Send
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.jobs.supervision import ProcessWorker, await_job

Work = Callable[..., Iterator[Message]]
"""A function that works within a number of seconds, if limited, and yields messages.

It gets the seconds, a `Stopping`, and the arguments of `IsolatedJob.start`.
"""


class IsolatedJob:
    """Work in a process with limits on time and memory; a crash does not affect the command.

    Several pieces of work have one process, and find there what earlier ones have made. After a
    crash, the next one gets a new process.
    """

    def __init__(self, memory: int | None, *works: Work) -> None:
        """Prepare the process; `memory` is its limit in bytes."""
        self._worker = ProcessWorker(list(map(_job, works)), lambda: memory)

    def __enter__(self) -> "IsolatedJob":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None
    ) -> None:
        self._worker.kill()

    def run(
        self,
        seconds: float | None,
        stopping: Stopping,
        take: Callable[[Message], None],
        look: Callable[[], None] = lambda: None,
    ) -> str | None:
        """Do the first or only work, and return the reason if it ended early.

        `take` gets the messages; `look` is called ten times a second.

        Raises:
            InputError: if the work cannot be done.
        """
        self.start(0, seconds)
        return self.wait(seconds, stopping, take, look)

    def start(self, number: int, seconds: float | None, *given: object) -> None:
        """Start the work of this number with further arguments; the caller then has to wait."""
        self._worker.start(number, seconds, given)

    def wait(
        self,
        seconds: float | None,
        stopping: Stopping,
        take: Callable[[Message], None],
        look: Callable[[], None] = lambda: None,
    ) -> str | None:
        """Wait for the end of the started work, as `run` does."""
        failed = list[InputError]()
        stopped = list[str]()

        def taken(message: Message) -> bool:
            match message:
                case ("done",):
                    return True
                case ("input", file, reason, more):
                    failed.append(InputError(file, reason, more))
                    return True
                case ("stopped", reason):
                    stopped.append(reason)
                    return True
            take(message)
            return False

        ending = await_job(self._worker, seconds, stopping, taken, look)
        if failed:
            raise failed[0]
        if ending is not None and ending.defect:
            return f"internal error: {ending.reason}; please report it"
        if ending is not None:
            return ending.reason
        return stopped[0] if stopped else None


def _job(work: Work) -> Callable[..., None]:
    def job(seconds: float | None, send: Send, stopping: Stopping, *given: object) -> None:
        try:
            for message in work(seconds, stopping, *given):
                send(message)
            send(("done",))
        except StoppedError as problem:
            send(("stopped", problem.reason))
        except InputError as problem:
            send(("input", problem.file, problem.reason, list(problem.more)))

    return job
