"""The worker process of the engine, and the supervision of its time and memory.

Whatever a program does to it, a crash, memory that runs out, a stage that does not end, is the end
of that work only. The process is forked, so that jobs need no translation, and does one job after
the other for as long as it lives; messages are what `marshal` can write.

The engine ends by itself at a deadline, at a memory limit, or when asked to, and has something to
show for it. What does not, or takes its process down, is ended from here.
"""

import marshal
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType

from slowpath.core.jobs.job import Doer, Job, Lost, Message
from slowpath.core.jobs.stopping import Stopping

_LENGTH = 8  # bytes of the number that is in front of what is sent
_CHUNK = 1 << 20
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FORKING = threading.Lock()
"""A process must not have the ends of another one's pipes, else nobody learns of its death."""
_SIGNAL_SECONDS = 0.5
"""Seconds between two looks of the process at whether its owner is there."""
_STACKS = (2 * 512 + 128) << 20
"""Bytes of address space that stacks of the engine's threads and their like take, but not fill."""


Memory = Callable[[], int | None]
"""How many bytes the process can have at most; asked for in the process."""


class Worker:
    """Does jobs in another process; a new one whenever the last one was lost."""

    def __init__(self, jobs: Sequence[Job], memory: Memory) -> None:
        """`memory` says how much the process can have, in bytes, at the very most."""
        self._jobs = jobs
        self._memory = memory
        self._process: _Process | None = None

    def start(self, number: int, seconds: float | None) -> None:
        """Starts a job; its messages are to be received up to the last one."""
        if self._process is None:
            self._process = _Process(self._jobs, self._memory)
        self._process.ask(number, seconds)

    def receive(self, seconds: float) -> Message | None:
        """The next message of the job, or None if there is none for so long, or at its end.

        Raises:
            Lost: when the process has ended.
        """
        if self._process is None:
            raise Lost(0, "no job was started")
        try:
            return self._process.receive(seconds)
        except Lost:
            self._process = None
            raise

    def stop(self) -> None:
        """Asks the job to end with what it has."""
        if self._process is not None:
            self._process.signal(signal.SIGINT)

    def kill(self) -> None:
        """Ends the process, whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()


class _Process:
    """A forked process, from the outside."""

    def __init__(self, jobs: Sequence[Job], memory: Memory) -> None:
        self._buffer = bytearray()
        self._poll = select.poll()
        with _FORKING:  # threads of a worker of a cluster do that at the same time
            self._fork(jobs, memory)
        self._poll.register(self._answers, select.POLLIN)

    def _fork(self, jobs: Sequence[Job], memory: Memory) -> None:
        theirs, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self._errors = os.memfd_create("errors") if hasattr(os, "memfd_create") else -1
        # Signals wait until the new process knows what to do with them.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._requests)
            os.close(self._answers)
            _serve(jobs, theirs, answers, self._errors, memory)  # does not return
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(theirs)
        os.close(answers)

    def ask(self, number: int, seconds: float | None) -> None:
        try:
            _write(self._requests, (number, seconds))
        except BrokenPipeError:
            return  # `receive` says so

    def receive(self, seconds: float) -> Message | None:
        while True:
            message = self._taken()
            if message is not None:
                return message
            # A message on its way is waited for: whoever sends is alive.
            if not self._poll.poll(None if self._buffer else max(0, round(1000 * seconds))):
                return None
            data = os.read(self._answers, _CHUNK)
            if not data:
                raise self._lost()
            self._buffer += data

    def _taken(self) -> Message | None:
        """The first message in the buffer, if all of it is there."""
        if len(self._buffer) < _LENGTH:
            return None
        end = _LENGTH + int.from_bytes(self._buffer[:_LENGTH])
        if len(self._buffer) < end:
            return None
        message: Message = marshal.loads(self._buffer[_LENGTH:end])  # noqa: S302 - our own
        del self._buffer[:end]
        return message

    def _lost(self) -> Lost:
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        text = ""
        if self._errors >= 0:
            text = os.pread(self._errors, _CHUNK, 0).decode(errors="replace").strip()
        self._close()
        return Lost(status, text)

    def signal(self, number: int) -> None:
        os.kill(self._pid, number)

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._close()

    def _close(self) -> None:
        for descriptor in (self._requests, self._answers, self._errors):
            if descriptor >= 0:
                os.close(descriptor)


def _serve(jobs: Sequence[Job], requests: int, answers: int, errors: int, memory: Memory) -> None:
    """The other process: jobs as they are asked for, until nobody is there to ask."""
    status = 1
    try:
        stopping = Stopping()
        # What a terminal sends to both is for the owner to act on, who then asks with SIGINT.
        signal.signal(signal.SIGINT, lambda *_: stopping.ask())
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        _watch(os.getppid())
        if errors >= 0:
            os.dup2(errors, 2)
        most = memory()
        if most is not None:
            _limit(most)

        while length := os.read(requests, _LENGTH):
            request = os.read(requests, int.from_bytes(length))
            number, seconds = marshal.loads(request)  # noqa: S302 - our own
            jobs[number](seconds, lambda message: _write(answers, message), stopping)
        status = 0
    except MemoryError:
        os.write(2, b"memory allocation of Python failed")
    except BaseException as defect:  # noqa: BLE001 - the owner says it
        os.write(2, f"{type(defect).__name__}: {defect}".encode(errors="backslashreplace"))
    finally:
        os._exit(status)  # nothing of the owner's is cleaned up here


def _watch(owner: int) -> None:
    """Ends this process soon after its owner, however that ended."""

    def look(_signal: int, _frame: FrameType | None) -> None:
        if os.getppid() != owner:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _SIGNAL_SECONDS, _SIGNAL_SECONDS)


def _limit(memory: int) -> None:
    """Has allocations fail above so many bytes."""
    import resource

    most = memory + _STACKS
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_CORE):
        _, hard = resource.getrlimit(kind)
        wanted = most if kind == resource.RLIMIT_DATA else 0
        wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (wanted, hard))


def _write(descriptor: int, message: Message) -> None:
    data = marshal.dumps(message)
    view = memoryview(len(data).to_bytes(_LENGTH) + data)
    while view:
        view = view[os.write(descriptor, view) :]


_GRACE = 0.35
"""Seconds that a job has, from when it should have ended, before it is ended."""
_POLL_SECONDS = 0.1
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
                message = worker.receive(_POLL_SECONDS)
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
