"""Runs untrusted code, such as calls of a program's functions, in confined child processes.

A piece of such work is called an attempt. A confined process has limits on memory, CPU time, open
files and file sizes, and a network namespace without devices. Where the kernel allows it, seccomp
rejects all system calls except those for memory, signals and sending results. Source: seccomp(2),
unshare(2), the kernel's system call tables.
"""

import ctypes
import json
import math
import mmap
import os
import resource
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from slowpath.core.jobs import SIGNALS
from slowpath.core.jobs.supervision import Child
from slowpath.insights.native import FaultError

Attempt = Callable[[], dict[str, Any] | None]
"""A function to try; it returns a finding that JSON can represent, or None if it fails."""
_SILENT = 60.0
"""Seconds without a message or a new attempt after which a process is killed, even if it sleeps."""
_MEMORY = 512 << 20
_DEATHS, _HANGING = 128, 6
"""Maximum numbers of attempts of a series that end their process: by any cause, and by a hanging
call.
"""
_SURVIVED = 16
"""Maximum number of faults that a process survives, because interrupted calls leak memory."""
_CHUNK = 1 << 16
_NUMBER = struct.Struct("=Q")


_DIED = frozenset(
    -one for one in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
)
"""Exit codes of processes that were killed by a fault in their code."""


def nothing() -> None:
    """Do nothing: the default for the function that prepares a process for attempts."""


class CrashRecord:
    """A record of calls of untrusted functions that killed their process.

    A series of attempts can skip calls that equal a recorded one.
    """

    def __init__(self, calls: Mapping[Attempt, Hashable] | None = None) -> None:
        """Create an empty record.

        `calls` maps an attempt to a key; attempts with equal keys make equal calls. Attempts
        without a key are never skipped.
        """
        self._calls = calls or {}
        self._dead = set[Hashable]()

    def died(self, attempt: Attempt) -> None:
        """Record that the call of an attempt killed its process; equal calls are then skipped."""
        if attempt in self._calls:
            self._dead.add(self._calls[attempt])

    def doomed(self, attempt: Attempt) -> bool:
        """Return true if an equal call killed its process, in this attempt or in another one."""
        return attempt in self._calls and self._calls[attempt] in self._dead


class Series:
    """Attempts that run one after the other in child processes, with a limit on CPU time.

    If an attempt kills its process, the next one runs in a new process. CPU time does not depend on
    the load of the machine by other processes.
    """

    def __init__(
        self,
        attempts: Sequence[Attempt],
        seconds: float,
        until: float,
        prepare: Callable[[], None] = nothing,
        fates: CrashRecord | None = None,
    ) -> None:
        """Store the attempts; they use at most `seconds` of CPU time, and end at `until`.

        `until` is on the monotonic clock. `prepare` runs first in each process; `fates` records
        calls that kill processes.
        """
        self._attempts, self._prepare = attempts, prepare
        self._fates = fates or CrashRecord()
        self._seconds, self._until = seconds, until
        self.given_up = False
        """True if the series stopped early: its time was up, or too many attempts died or hung."""
        self.ended = 0
        """Exit code of the last process, or the negative number of the signal that killed it."""

    def first(self) -> dict[str, Any] | None:
        """Run attempts until the first one succeeds, and return its result; None if none does."""
        return next((found for _, found in self.successes()), None)

    def successes(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Run the attempts, and yield the index and the result of each one that succeeds."""
        start, hanging, dead, left = 0, 0, 0, self._seconds
        while dead < _DEATHS:
            start = self._next(start)
            if start >= len(self._attempts):
                return
            last, reported = None, False
            with _Fork((self._attempts, self._fates), start, self._prepare, left) as fork:
                for message in fork.messages(self._until):
                    last = message["at"]
                    start = last + 1
                    if "defect" in message:
                        sys.stderr.write(message["defect"])
                    if "found" in message:
                        yield last, message["found"]
                    if "fault" in message:
                        self._fates.died(self._attempts[last])
                        dead += 1
                    if "again" in message:
                        start = last
                    reported = "fault" in message or "again" in message
                    if dead == _DEATHS:
                        break
            if fork.begun is not None and (last is None or fork.begun > last):
                last, reported = fork.begun, False
                start = last + 1
            dead += not reported
            hanging += fork.hung
            self.ended = fork.code
            left -= fork.seconds
            if last is not None and fork.code in _DIED:
                self._fates.died(self._attempts[last])
            if start >= len(self._attempts):
                return
            if hanging >= _HANGING or left <= 0 or time.monotonic() >= self._until:
                break
        self.given_up = True

    def _next(self, at: int) -> int:
        """Return the index of the next attempt to run, from `at` on.

        Attempts whose call has already killed a process are skipped.
        """
        left = range(at, len(self._attempts))
        return next(
            (one for one in left if not self._fates.doomed(self._attempts[one])),
            len(self._attempts),
        )


class _Fork:
    """A child process that runs attempts in order, from the index `start` on."""

    def __init__(
        self,
        attempts: tuple[Sequence[Attempt], CrashRecord],
        start: int,
        prepare: Callable[[], None],
        seconds: float,
    ) -> None:
        self._attempts, self._start, self._prepare = attempts, start, prepare
        self._seconds_limit = max(1, math.ceil(seconds))
        self.hung = False
        self.code = 0
        self.seconds = 0.0
        """CPU seconds that the process used."""
        self._begun = mmap.mmap(-1, _NUMBER.size)

    @property
    def begun(self) -> int | None:
        """Index of the last attempt that the process has begun; None if it has begun none.

        The number is in shared memory, because messages on thousands of short attempts would take
        longer than the attempts.
        """
        (count,) = _NUMBER.unpack_from(self._begun)
        # A damaged process may write anything.
        return count - 1 if self._start < count <= len(self._attempts[0]) else None

    def __enter__(self) -> "_Fork":
        self._child = Child(self._try)
        return self

    def __exit__(self, *_ended: object) -> None:
        self.code, self.seconds = self._child.kill()
        self.hung = self.code == -signal.SIGPROF

    def messages(self, end: float) -> Iterator[dict[str, Any]]:
        """Yield the messages of the child process until it exits or its time is up."""
        poll = select.poll()
        poll.register(self._child.output, select.POLLIN)
        buffer = b""
        while True:
            begun = self.begun
            left = min(end - time.monotonic(), _SILENT)
            if left <= 0:
                return
            if not poll.poll(1000 * left):
                if self.begun == begun:
                    return
                continue
            data = os.read(self._child.output, _CHUNK)
            if not data:
                return
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                yield json.loads(line)

    def _try(self, answers: int) -> int:
        """Run the attempts in the child process.

        The results are written to the file descriptor `answers`. After a fault, memory may be
        damaged. So an attempt that then succeeds is only reported for a retry in a new process.
        """
        (attempts, fates), at = self._attempts, self._start
        try:
            for number in (*SIGNALS, signal.SIGALRM, signal.SIGPROF):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            os.closerange(0, answers)
            os.closerange(answers + 1, answers + 64)
            leave_network()
            limit(self._seconds_limit, _MEMORY)
            refuse_calls()
            self._prepare()
            survived = 0
            for at in range(self._start, len(attempts)):
                if fates.doomed(attempts[at]):
                    continue
                _NUMBER.pack_into(self._begun, 0, at + 1)
                try:
                    found = attempts[at]()
                except FaultError:
                    _say(answers, {"at": at, "fault": True})
                    fates.died(attempts[at])
                    survived += 1
                    if survived == _SURVIVED:
                        break
                    continue
                if found is not None and survived:
                    _say(answers, {"at": at, "again": True})
                    break
                if found is not None:
                    _say(answers, {"at": at, "found": found})
        except BaseException:  # noqa: BLE001 - after any exception, the attempt has failed
            if "SLOWPATH_TRIALS" in os.environ:  # for debugging
                _say(answers, {"at": at, "defect": traceback.format_exc()})
        return 0


def _say(answers: int, message: dict[str, Any]) -> None:
    os.write(answers, json.dumps(message).encode() + b"\n")


# --- confinement ----------------------------------------------------------------------------------

_NETWORK = 0x40000000  # CLONE_NEWNET
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2  # of prctl(2)
_ALLOW, _REJECT = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_CALL_NUMBER, _MACHINE = 0, 4  # offsets in struct seccomp_data

_CALLS = {
    "x86_64": (
        0xC000003E,
        {
            "memory": (9, 10, 11, 12, 25, 28),  # mmap, mprotect, munmap, brk, mremap, madvise
            "answer": (0, 1, 3, 60, 231),  # read, write, close, exit, exit_group
            "signals": (13, 14, 15, 38),  # rt_sigaction, rt_sigprocmask, rt_sigreturn, setitimer
            "rest": (39, 186, 202, 228, 273, 318, 334),  # getpid, gettid, futex, ...
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "memory": (222, 226, 215, 214, 216, 233),
            "answer": (63, 64, 57, 93, 94),
            "signals": (134, 135, 139, 103),
            "rest": (172, 178, 98, 113, 99, 278, 293),
        },
    ),
}
"""For each machine, its audit number (`AUDIT_ARCH_*`) and the numbers of the allowed system
calls."""


@cache
def leave_network() -> bool:
    """Cut this process off from the network; return true if the kernel allows it.

    The process enters a network namespace with only an unused loopback. The result is cached:
    further calls, also in child processes, return the first result.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.unshare(_NETWORK) == 0)


def limit(seconds: int, memory: int) -> None:
    """Limit the resources of this process before it runs untrusted code.

    The limits are `seconds` of CPU time, and `memory` bytes of address space beyond its present
    size. New files, processes and core dumps are forbidden.
    """
    used = _address_space()
    for kind, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, used + memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        new = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (new, new))


def refuse_calls() -> bool:
    """Install a seccomp filter, so that the kernel rejects most system calls of this process.

    Return true if the kernel supports this.
    """
    text = _filter(os.uname().machine)
    if text is None:
        return False
    buffer = ctypes.create_string_buffer(text, len(text))
    header = struct.pack("HxxxxxxP", len(text) // len(_step(0, 0, 0, 0)), ctypes.addressof(buffer))
    libc = _libc()
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(_SECCOMP, _FILTER, header, 0, 0) == 0)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@cache
def _filter(name: str) -> bytes | None:
    """Return the seccomp filter for a kind of machine, such as x86_64, as classic BPF.

    Return None for an unknown kind.
    """
    known = _CALLS.get(name)
    if known is None:
        return None
    machine, groups = known
    numbers = [number for group in groups.values() for number in group]
    program = [
        _step(_LOAD, 0, 0, _MACHINE),
        _step(_EQUAL, 1, 0, machine),
        _step(_RETURN, 0, 0, _REJECT),
        _step(_LOAD, 0, 0, _CALL_NUMBER),
        *(_step(_EQUAL, len(numbers) - at, 0, number) for at, number in enumerate(numbers)),
        _step(_RETURN, 0, 0, _REJECT),
        _step(_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(program)


def _step(code: int, true: int, false: int, value: int) -> bytes:
    """Encode an instruction of classic BPF.

    `true` and `false` are the numbers of instructions to skip if the condition holds or not.
    """
    return struct.pack("HBBI", code, true, false, value)


def _address_space() -> int:
    """Return the size of this process's address space in bytes."""
    with open("/proc/self/statm", "rb") as stream:  # noqa: PTH123 - in a fork
        return int(stream.read().split()[0]) * resource.getpagesize()


def can_refuse_calls() -> bool:
    """Return true if the kernel can reject system calls of a process.

    The test runs in a child process.
    """
    # Fill the caches before the fork; all later children inherit them.
    _libc(), _filter(os.uname().machine)
    code, _ = Child(lambda _: 0 if refuse_calls() else 1).wait()
    return code == 0
