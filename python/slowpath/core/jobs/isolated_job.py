"""Runs functions in a worker process, so that a crash cannot end the command.

`slowpath.bounds.analyst` does the same for analyses.
"""

from collections.abc import Callable, Iterator
from types import TracebackType

from slowpath.core.errors import InputError, StoppedError
from slowpath.core.jobs import Message, Send, Stopping
from slowpath.core.jobs.supervision import ProcessWorker, await_job

Work = Callable[..., Iterator[Message]]
"""A function that yields messages.

Its parameters are a limit in seconds or None, a `Stopping`, and the arguments of
`IsolatedJob.start`.
"""


class IsolatedJob:
    """Runs functions in a process with limits on time and memory.

    A crash of the process does not end the command. All functions share one process, so that a call
    can use data that earlier calls left there. After a crash, the next call gets a new process.
    """

    def __init__(self, memory: int | None, *works: Work) -> None:
        """Store the functions that can be run.

        `memory` is the memory limit of the process in bytes; None: no limit.
        """
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
        """Run the first function to its end, and pass on its messages.

        Return the reason if it ended early, or None if it finished. `take` gets each message that
        the function yields; `look` is called ten times a second. `seconds` is the time limit; None:
        no limit.

        Raises:
            InputError: if the function raised it.
        """
        self.start(0, seconds)
        return self.wait(seconds, stopping, take, look)

    def start(self, number: int, seconds: float | None, *arguments: object) -> None:
        """Start a function, given by its index, with arguments; the caller then has to call `wait`.

        `seconds` is the time limit; None: no limit.
        """
        self._worker.start(number, seconds, arguments)

    def wait(
        self,
        seconds: float | None,
        stopping: Stopping,
        take: Callable[[Message], None],
        look: Callable[[], None] = lambda: None,
    ) -> str | None:
        """Wait until the function that `start` started has ended.

        Parameters and result are those of `run`.
        """
        failed = list[InputError]()
        stopped = list[str | None]()

        def taken(message: Message) -> bool:
            match message:
                case ("input", code, file, reason, further):
                    failed.append(InputError(code, file, reason, further))
                case ("ended", reason):
                    stopped.append(reason)
                case _:
                    take(message)
                    return False
            return True

        ending = await_job(self._worker, seconds, stopping, taken, look)
        if failed:
            raise failed[0]
        if ending is None:
            return stopped[0]
        if ending.defect:
            return f"internal error: {ending.reason}; please report it"
        return ending.reason


def _job(work: Work) -> Callable[..., None]:
    def job(seconds: float | None, send: Send, stopping: Stopping, *arguments: object) -> None:
        try:
            for message in work(seconds, stopping, *arguments):
                send(message)
            send(("ended", None))
        except StoppedError as problem:
            send(("ended", problem.reason))
        except InputError as problem:
            send(("input", problem.code, problem.file, problem.reason, list(problem.further)))

    return job
