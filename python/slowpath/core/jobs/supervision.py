"""Runs jobs of the engine in processes or threads, and limits their time and memory.

A crash, lack of memory, or an endless loop ends only the current job of a worker process, not the
command. The process is forked, so that jobs need no serialisation, and runs one job after the
other. Messages have types that `marshal` can write. No other module forks.

Normally the engine itself stops at a deadline, at a memory limit, or on request, and returns its
results so far. This module kills the process of a job that does not stop, and reports crashes.
"""

import marshal
import os
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from slowpath.core.jobs import SIGNALS, Job, JobWorker, Message, Stopping, WorkerLostError

_LENGTH = 8  # bytes of the length that precedes each message
_CHUNK = 1 << 20
_OWNER_SECONDS = 0.5
"""Seconds between two checks in the process that its owner is still alive."""
_STACKS = (2 * 512 + 128) << 20
"""Bytes of address space that the engine's threads reserve but do not fill, such as stacks."""


Memory = Callable[[], int | None]
"""Function that returns the memory limit of the process in bytes; the process itself calls it."""


class ProcessWorker:
    """A worker that runs jobs in another process.

    If the process dies, the next job gets a new one.
    """

    def __init__(self, jobs: Sequence[Callable[..., None]], memory: Memory) -> None:
        """Store the functions that can be run as jobs.

        `memory` returns the memory limit of the process.
        """
        self._jobs = jobs
        self._memory = memory
        self._process: _Process | None = None

    def start(self, number: int, seconds: float | None, arguments: Message = ()) -> None:
        """Start the job with index `number`; the caller has to receive all its messages."""
        if self._process is None:
            self._process = _Process(self._jobs, self._memory)
        self._process.send((number, seconds, arguments))

    def receive(self, seconds: float) -> Message | None:
        """Return the next message of the job; None if none arrives within `seconds`.

        Raises:
            WorkerLostError: if the process has ended.
        """
        if self._process is None:
            raise WorkerLostError(0, "no job was started")
        try:
            return self._process.receive(seconds)
        except WorkerLostError:
            self._process = None
            raise

    def descriptor(self) -> int | None:
        """Return a file descriptor that becomes readable when a message arrives; None: no process.

        Callers that wait for several sources poll this descriptor.
        """
        return None if self._process is None else self._process.output

    def stop(self) -> None:
        """Ask the job to end with its results so far."""
        if self._process is not None:
            self._process.signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill the worker process, and with it the running job."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()


class _Process:
    """The owner's handle of a forked process that runs jobs."""

    def __init__(self, jobs: Sequence[Callable[..., None]], memory: Memory) -> None:
        self._buffer = bytearray()
        self._poll = select.poll()
        theirs, self._requests = os.pipe()
        self._errors = os.memfd_create("errors") if hasattr(os, "memfd_create") else -1

        def serve(answers: int) -> int:
            os.close(self._requests)
            return _serve(jobs, theirs, answers, self._errors, memory)

        self._child = Child(serve)
        os.close(theirs)
        self._poll.register(self._child.output, select.POLLIN)

    @property
    def output(self) -> int:
        """Descriptor of the pipe through which the process sends messages."""
        return self._child.output

    def send(self, request: Message) -> None:
        try:
            _write(self._requests, request)
        except BrokenPipeError:
            return  # `receive` reports it

    def receive(self, seconds: float) -> Message | None:
        while True:
            message = self._buffered_message()
            if message is not None:
                return message
            # Wait without a limit for the rest of a partial message: its sender is still writing.
            if not self._poll.poll(None if self._buffer else max(0, round(1000 * seconds))):
                return None
            data = os.read(self._child.output, _CHUNK)
            if not data:
                raise self._lost()
            self._buffer += data

    def _buffered_message(self) -> Message | None:
        """Remove the first message from the input buffer and return it; None if incomplete."""
        if len(self._buffer) < _LENGTH:
            return None
        end = _LENGTH + int.from_bytes(self._buffer[:_LENGTH])
        if len(self._buffer) < end:
            return None
        message: Message = marshal.loads(self._buffer[_LENGTH:end])  # noqa: S302 - our own
        del self._buffer[:end]
        return message

    def _lost(self) -> WorkerLostError:
        status, _ = self._child.wait()
        text = ""
        if self._errors >= 0:
            text = os.pread(self._errors, _CHUNK, 0).decode(errors="replace").strip()
        self._close()
        return WorkerLostError(status, text)

    def signal(self, number: int) -> None:
        os.kill(self._child.pid, number)

    def kill(self) -> None:
        self._child.kill()
        self._close()

    def _close(self) -> None:
        for descriptor in (self._requests, self._errors):
            if descriptor >= 0:
                os.close(descriptor)


_FORKING = threading.Lock()
"""Lock that is held during forks.

Otherwise a child could inherit the pipe of another child, which would hide that child's death.
"""


class Child:
    """A forked process whose output the parent reads from a pipe."""

    def __init__(self, work: Callable[[int], int]) -> None:
        """Fork, and call `work` in the new process with the descriptor of the pipe to write to.

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


def _serve(
    jobs: Sequence[Callable[..., None]], requests: int, answers: int, errors: int, memory: Memory
) -> int:
    """Runs in the forked process: execute the requested jobs until the owner closes the pipe.

    Descriptors: requests arrive at `requests`; messages go to `answers`, and error texts to
    `errors`.
    """
    try:
        stopping = Stopping()
        # A terminal signals both processes. Only the owner handles its signal, and sends SIGINT.
        signal.signal(signal.SIGINT, lambda *_: stopping.ask())
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        _exit_with_owner(os.getppid())
        if errors >= 0:
            os.dup2(errors, 2)
        most = memory()
        if most is not None:
            _limit(most)

        while length := os.read(requests, _LENGTH):
            request, left = bytearray(), int.from_bytes(length)
            while len(request) < left:  # a long request comes in pieces
                request += os.read(requests, left - len(request))
            number, seconds, arguments = marshal.loads(request)  # noqa: S302 - our own
            jobs[number](seconds, lambda message: _write(answers, message), stopping, *arguments)
        return 0
    except MemoryError:
        os.write(2, b"memory allocation of Python failed")
    except BaseException as defect:  # noqa: BLE001 - the owner reports it
        os.write(2, f"{type(defect).__name__}: {defect}".encode(errors="backslashreplace"))
    return 1


def _exit_with_owner(owner: int) -> None:
    """Let this process exit soon after its owner, the process `owner`, has ended."""

    def look(*_: object) -> None:
        if os.getppid() != owner:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _OWNER_SECONDS, _OWNER_SECONDS)


def _limit(memory: int) -> None:
    """Limit the memory that this process can allocate from now on to `memory` bytes.

    The process begins with the memory of its owner, which can be large in a notebook.
    """
    import resource

    most = _held() + memory + _STACKS
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_CORE):
        _, hard = resource.getrlimit(kind)
        soft = most if kind == resource.RLIMIT_DATA else 0
        soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        resource.setrlimit(kind, (soft, hard))


def _held() -> int:
    """Return the memory of this process that counts for RLIMIT_DATA; 0 if unknown.

    Source: proc_pid_statm(5). The number includes the stack, which the limit does not count.
    """
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[5])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _write(descriptor: int, message: Message) -> None:
    data = marshal.dumps(message)
    view = memoryview(len(data).to_bytes(_LENGTH) + data)
    while view:
        view = view[os.write(descriptor, view) :]


_GRACE = 0.35
"""Seconds from a job's deadline or a stop request until its worker is killed."""
_POLL_SECONDS = 0.1
"""Seconds between two checks of deadlines and stop requests."""


class EarlyEnd:
    """Reason why a job ended before it had sent its last message."""

    def __init__(self, reason: str, *, defect: bool = False) -> None:
        """Store the reason: `deadline`, `interrupted`, `memory limit`, or the job's error."""
        self.reason = reason
        self.defect = defect  # true: the job itself failed


def await_job(
    worker: JobWorker,
    seconds: float | None,
    stopping: Stopping,
    take: Callable[[Message], bool],
    look: Callable[[], None] = lambda: None,
) -> EarlyEnd | None:
    """Wait at most `seconds` until a started job ends; return None if the job finished.

    `take` gets the messages and returns true for the last one. `look` is called ten times a second.
    If the job does not finish, the result is the reason.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    stop_time: float | None = None  # time of the stop request
    with stopping.calling(worker.stop):
        try:
            while True:
                message = worker.receive(_POLL_SECONDS)
                if message is not None and take(message):
                    return None
                now = time.monotonic()
                if stopping.asked and stop_time is None:
                    stop_time = now
                if stop_time is not None and now > stop_time + _GRACE:
                    return _ended(worker, "interrupted")
                if deadline is not None and now > deadline + _GRACE:
                    return _ended(worker, "deadline")
                look()
        except WorkerLostError as lost:
            return _lost(lost)
        except BaseException:
            worker.kill()
            raise


def _ended(worker: JobWorker, reason: str) -> EarlyEnd:
    worker.kill()
    return EarlyEnd(reason)


def _lost(lost: WorkerLostError) -> EarlyEnd:
    if lost.is_memory:
        return EarlyEnd("memory limit")
    if lost.status == -signal.SIGSEGV:
        return EarlyEnd("out of stack")
    reason = lost.text.splitlines()[-1] if lost.text else f"exit status {lost.status}"
    return EarlyEnd(reason, defect=True)


class _Queue:
    """A queue of messages between two threads.

    The standard module `queue` takes too long to import.
    """

    def __init__(self) -> None:
        self._messages = deque[Message | WorkerLostError]()
        self._count = threading.Semaphore(0)

    def put(self, message: Message | WorkerLostError) -> None:
        self._messages.append(message)
        self._count.release()

    def get(self, seconds: float) -> Message | WorkerLostError | None:
        return self._messages.popleft() if self._count.acquire(timeout=seconds) else None


class ThreadWorker:
    """A worker that runs jobs on a thread of this process; meant for one small program.

    For a trivial program, a worker process would add a sixth to the time, because both processes
    copy the pages that they write to. The engine stops by itself at a deadline, at a memory limit,
    and on request. If it does not stop, its thread is abandoned and ends with this process. The
    advantage of a worker process is that a crash ends only that process. This matters if other
    programs wait, or if the input is so large that a crash is likely.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self._messages = _Queue()
        self._stopping = Stopping()

    def start(self, number: int, seconds: float | None) -> None:
        """Start the job with index `number`; the caller has to receive all its messages."""
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
