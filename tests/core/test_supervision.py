"""Tests workers (process and thread) with jobs that crash, hang or run out of memory."""

import faulthandler
import mmap
import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

import support
from slowpath.bounds import progress
from slowpath.bounds.progress import Watch
from slowpath.core import codes
from slowpath.core.engine.analyses import Run
from slowpath.core.errors import InputError
from slowpath.core.jobs import JobWorker, Message, Send, Stopping, heeding_signals
from slowpath.core.jobs.isolated_job import IsolatedJob
from slowpath.core.jobs.supervision import EarlyEnd, ProcessWorker, ThreadWorker, await_job
from support import heed_interrupts, without_progress


def talk(_seconds: float | None, send: Send, _stopping: Stopping) -> None:
    send(("large", "x" * 3_000_000))
    send(("done",))


def crash(_seconds: float | None, send: Send, _stopping: Stopping) -> None:
    faulthandler.disable()  # pytest's, which would write on its own
    send(("before",))
    os.write(2, b"what it died of\n")
    os.kill(os.getpid(), signal.SIGABRT)


def overflow(_seconds: float | None, _send: Send, _stopping: Stopping) -> None:
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(_seconds: float | None, _send: Send, _stopping: Stopping) -> None:
    while True:
        time.sleep(3600)


def swallow(_seconds: float | None, send: Send, _stopping: Stopping) -> None:
    send(("got", len(bytearray(8 << 30))))


def fail(_seconds: float | None, _send: Send, _stopping: Stopping) -> None:
    raise RuntimeError("a defect")


def obey(_seconds: float | None, send: Send, stopping: Stopping) -> None:
    requests = list[bool]()
    with stopping.calling(lambda: requests.append(True)):
        while not requests:
            time.sleep(0.01)
    send(("asked",))
    send(("done",))


JOBS = [talk, crash, overflow, hang, swallow, fail, obey]


@pytest.fixture
def worker() -> Iterator[ProcessWorker]:
    made = ProcessWorker(JOBS, lambda: 256 << 20)
    yield made
    made.kill()


def do(
    worker: JobWorker, job: object, seconds: float | None = None, stopping: Stopping | None = None
) -> tuple[list[Message], EarlyEnd | None]:
    """Run a job in a worker; return its messages, and the reason if it ended early, else None."""
    messages = list[Message]()

    def take(message: Message) -> bool:
        messages.append(message)
        return bool(message == ("done",))

    worker.start(JOBS.index(job), seconds)  # type: ignore[arg-type]
    ending = await_job(worker, seconds, stopping or Stopping(), take)
    return messages, ending


def test_messages_of_any_size(worker: ProcessWorker) -> None:
    for _ in range(2):
        messages, ending = do(worker, talk)
        assert ending is None
        assert [message[0] for message in messages] == ["large", "done"]
        assert len(messages[0][1]) == 3_000_000


@pytest.mark.parametrize(
    ("job", "reason", "defect"),
    [
        (crash, "what it died of", True),
        (overflow, "out of stack", False),
        (swallow, "memory limit", False),
        (fail, "RuntimeError: a defect", True),
    ],
)
def test_a_job_that_dies_leaves_others_alone(
    worker: ProcessWorker, job: object, reason: str, *, defect: bool
) -> None:
    messages, ending = do(worker, job)
    assert ending is not None
    assert (ending.reason, ending.defect) == (reason, defect)
    assert messages == ([("before",)] if job is crash else [])
    assert do(worker, talk)[1] is None


def test_memory_of_the_owner_does_not_count(worker: ProcessWorker) -> None:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    with mmap.mmap(-1, 4 << 30, flags=flags):  # above the limit, and never touched
        assert do(worker, talk)[1] is None
        ending = do(worker, swallow)[1]
    assert ending is not None
    assert ending.reason == "memory limit"


def test_a_job_that_hangs_is_ended(worker: ProcessWorker) -> None:
    ending = do(worker, hang, 0.01)[1]
    assert ending is not None
    assert ending.reason == "deadline"
    assert do(worker, talk)[1] is None


def test_a_job_that_does_not_listen_is_ended(worker: ProcessWorker) -> None:
    stopping = Stopping()
    stopping.ask()
    ending = do(worker, hang, stopping=stopping)[1]
    assert ending is not None
    assert ending.reason == "interrupted"


def test_a_job_that_listens_is_not(worker: ProcessWorker) -> None:
    stopping = Stopping()
    stopping.ask()
    messages, ending = do(worker, obey, stopping=stopping)
    assert (messages, ending) == ([("asked",), ("done",)], None)


def test_a_thread_does_jobs_too() -> None:
    thread = ThreadWorker(JOBS)
    messages, ending = do(thread, talk)
    assert ending is None
    assert [message[0] for message in messages] == ["large", "done"]
    stopping = Stopping()
    stopping.ask()
    assert do(thread, obey, stopping=stopping) == ([("asked",), ("done",)], None)
    failed = do(thread, fail)[1]
    assert failed is not None
    assert (failed.reason, failed.defect) == ("RuntimeError: a defect", True)
    for late in (do(thread, hang, 0.01)[1], do(thread, hang, stopping=stopping)[1]):
        assert late is not None
        assert late.reason in {"deadline", "interrupted"}
    assert do(thread, talk)[1] is None


def test_isolated_jobs_raise_input_errors() -> None:
    def work(_seconds: float | None, _stopping: Stopping) -> Iterator[Message]:
        yield ("begun",)
        raise InputError(codes.NOT_A_BPF_OBJECT, "a.bpf.o", "no object")

    messages = list[Message]()
    with IsolatedJob(None, work) as job, pytest.raises(InputError, match="no object"):
        job.run(None, Stopping(), messages.append)
    assert messages == [("begun",)]


def test_works_share_a_process_until_one_dies() -> None:
    made = list[int]()

    def make(_seconds: float | None, _stopping: Stopping, number: int) -> Iterator[Message]:
        made.append(number)
        yield "made", os.getpid(), list(made)

    def die(_seconds: float | None, _stopping: Stopping) -> Iterator[Message]:
        os._exit(3)
        yield ()

    messages = list[Message]()
    with IsolatedJob(None, make, die) as job:

        def do_work(number: int, *arguments: object) -> str | None:
            job.start(number, None, *arguments)
            return job.wait(None, Stopping(), messages.append)

        assert do_work(0, 1) is None
        assert do_work(0, 2) is None
        assert do_work(1) == "internal error: exit status 3; please report it"
        assert do_work(0, 3) is None
    (_, first, _), (_, second, both), (_, third, new) = messages
    assert first == second != third
    assert (made, both, new) == ([], [1, 2], [3])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_asks_and_the_second_ends(number: int) -> None:
    heed_interrupts()
    before = signal.getsignal(number)
    calls = list[int]()
    with heeding_signals() as stopping, stopping.calling(lambda: calls.append(1)):
        os.kill(os.getpid(), number)
        assert (stopping.asked, calls) == (True, [1])
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)  # does not disturb the cleanup
    assert calls == [1]
    assert signal.getsignal(number) is before


def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with heeding_signals() as stopping:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stopping.asked
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def run_with(*messages: Message) -> Run:
    run = Run()
    for message in messages:
        run.take(message)
    return run


def test_long_work_prints_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_LONG", 0.0)
    watch = Watch("a.bpf.o:f", "instructions", 60.0)
    run = run_with(("stage", "searching for the slowest path"), ("bound", 2914.0, 3.0, 4, 5))
    watch.look(run)
    watch.look(run)
    watch.close()
    line = capsys.readouterr().err
    assert line == (
        "note: a.bpf.o:f: 0 s so far, searching for the slowest path, at most 2914 instructions; "
        "time limit 60 s (--deadline), Ctrl-C stops with the bound so far, "
        "--unroll N@LOCATION limits a loop\n"
    )
    assert without_progress(f"warning: a\n{line}error: b\n") == "warning: a\nerror: b\n"


def test_slow_machines_change_no_expected_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that `support.slowpath` removes the line about long work from standard error.

    The line appears only on slow machines.
    """

    def slow(words: list[str], *_: object) -> subprocess.CompletedProcess[str]:
        errors = "note: a.asm: 11 s so far, searching; nothing ends it by itself\nwarning: a: b\n"
        return subprocess.CompletedProcess(words, 0, "", errors)

    monkeypatch.setattr(support, "run_forked", slow)
    assert support.slowpath("bound", "a.asm").stderr == "warning: a: b\n"


def test_the_line_before_the_first_bound(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_LONG", 0.0)
    Watch("a.asm", "bitrate", None).look(run_with(("stage", "unrolling the program")))
    error = capsys.readouterr().err
    assert "unrolling the program, no bound yet; no time limit (set one with " in error


def test_quick_work_prints_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    Watch("a.asm", "bitrate", None).look(run_with(("stage", "unrolling the program")))
    assert capsys.readouterr().err == ""
