"""Restricts the current process before it runs untrusted code.

The process gets limits on memory, CPU time, open files and file sizes, and a network namespace
without devices. Where the kernel allows it, seccomp rejects all system calls except those for
memory, signals and sending results. Source: seccomp(2), unshare(2), the kernel's system call
tables.
"""

import ctypes
import os
import resource
import struct
from contextlib import suppress
from functools import cache

from slowpath.core.jobs.supervision import Child

_NETWORK = 0x40000000  # CLONE_NEWNET
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2  # of prctl(2)
_ALLOW, _REJECT = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _MACHINE = 0, 4  # offsets in struct seccomp_data

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
    """Enter a network namespace with only an unused loopback; return true if the kernel allows it.

    The result is cached, so that a second call, also in a child process, returns the first result.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.unshare(_NETWORK) == 0)


def limit(seconds: int, memory: int) -> None:
    """Limit the CPU time to `seconds`, and forbid new files, processes and core dumps.

    `memory` limits the address space in bytes beyond its present size.
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
    """Install the seccomp filter that allows only a few system calls.

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
    """Return the system call filter for a machine as classic BPF; None for an unknown machine."""
    known = _CALLS.get(name)
    if known is None:
        return None
    machine, groups = known
    numbers = [number for group in groups.values() for number in group]
    program = [
        _step(_LOAD, 0, 0, _MACHINE),
        _step(_EQUAL, 1, 0, machine),
        _step(_RETURN, 0, 0, _REJECT),
        _step(_LOAD, 0, 0, _NUMBER),
        *(_step(_EQUAL, len(numbers) - at, 0, number) for at, number in enumerate(numbers)),
        _step(_RETURN, 0, 0, _REJECT),
        _step(_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(program)


def _step(code: int, true: int, false: int, value: int) -> bytes:
    """Encode an instruction of classic BPF; `true` and `false` are jump offsets."""
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
