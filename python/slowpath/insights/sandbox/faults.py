"""Calls native code and survives its faults, such as invalid memory accesses.

A signal handler jumps back to the caller if the fault is in JIT-compiled code, which holds no locks
of the C library. Any other fault ends the process as usual. A fault may have damaged memory. So
what a process finds after a fault must be confirmed by another process. Source: sigaction(2),
setjmp(3), and `struct ucontext` of the kernel.
"""

import ctypes
import os
import signal
from functools import cache
from itertools import chain, islice
from pathlib import Path

import llvmlite.binding as llvm

from slowpath.insights.source.modules import machine

ARGUMENTS = 8
"""Number of arguments that a guarded call passes; functions may take fewer."""
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_COUNTER = {"x86_64": 168, "aarch64": 440}
"""Offset of the program counter in the context of a signal handler in bytes, by machine."""
_RANGES = 64
"""Maximum number of address ranges of compiled code; faults in other ranges end the process."""
_DETAILED, _NESTED = 4, 0x40000000  # SA_SIGINFO, SA_NODEFER
_CODE = """
@buffer = internal global [64 x i64] zeroinitializer, align 16
@active = internal global i32 0
@died = global i32 0
@ranges = global [{ranges} x [2 x i64]] zeroinitializer
declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn
declare ptr @signal(i32, ptr)
define i64 @guard(ptr %function, {parameters}) {{
  store volatile i32 0, ptr @died
  store volatile i32 1, ptr @active
  %second = call i32 @_setjmp(ptr @buffer) returns_twice
  %back = icmp ne i32 %second, 0
  br i1 %back, label %survived, label %first
first:
  %result = call i64 %function({parameters})
  store volatile i32 0, ptr @active
  ret i64 %result
survived:
  ret i64 0
}}
define void @handler(i32 %signal, ptr %details, ptr %context) {{
  %active = load volatile i32, ptr @active
  %guarded = icmp ne i32 %active, 0
  %place = getelementptr i8, ptr %context, i64 {counter}
  %counter = load i64, ptr %place
  br i1 %guarded, label %range, label %die
range:
  %at = phi i64 [0, %0], [%following, %next]
  %start = getelementptr [2 x i64], ptr @ranges, i64 %at
  %end = getelementptr i64, ptr %start, i64 1
  %from = load volatile i64, ptr %start
  %to = load volatile i64, ptr %end
  %behind = icmp uge i64 %counter, %from
  %before = icmp ult i64 %counter, %to
  %inside = and i1 %behind, %before
  br i1 %inside, label %survive, label %next
next:
  %following = add i64 %at, 1
  %over = icmp eq i64 %following, {ranges}
  br i1 %over, label %die, label %range
survive:
  store volatile i32 %signal, ptr @died
  store volatile i32 0, ptr @active
  call void @longjmp(ptr @buffer, i32 1)
  unreachable
die:
  call ptr @signal(i32 %signal, ptr null)
  ret void
}}
"""


class FaultError(Exception):
    """A fault in native code, such as an invalid memory access."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.strsignal(number))
        self.signal = number


class _Action(ctypes.Structure):
    """The C library's `struct sigaction`."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint8 * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class Guard:
    """Machine code and signal handler with which calls of native functions survive faults."""

    def __init__(self, counter: int) -> None:
        parameters = ", ".join(f"i64 %{letter}" for letter in "abcdefgh"[:ARGUMENTS])
        text = _CODE.format(parameters=parameters, counter=counter, ranges=_RANGES)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine())
        self._engine.finalize_object()
        self.address = self._engine.get_function_address("guard")
        """Address of the guard code, which takes a function's address and arguments
        (`uint64_t`)."""
        died = self._engine.get_global_value_address("died")
        self._died = ctypes.c_int32.from_address(died)
        ranges = self._engine.get_global_value_address("ranges")
        self._ranges = (ctypes.c_uint64 * (2 * _RANGES)).from_address(ranges)
        action = _Action(self._engine.get_function_address("handler"), flags=_DETAILED | _NESTED)
        libc = ctypes.CDLL(None)
        for number in FAULTS:
            libc.sigaction(int(number), ctypes.byref(action), None)

    def renew(self) -> None:
        """Update the address ranges of JIT-compiled code, after more code was compiled."""
        for at, bound in enumerate(islice(chain(*_anonymous_code()), 2 * _RANGES)):
            self._ranges[at] = bound

    def check(self) -> None:
        """Check that the last guarded call returned without a fault.

        Raises:
            FaultError: when a fault ended the call.
        """
        if self._died.value:
            raise FaultError(self._died.value)


@cache
def guard() -> Guard | None:
    """Return the guard of this process; None on an unknown kind of machine."""
    counter = _COUNTER.get(os.uname().machine)
    return None if counter is None else Guard(counter)


def _anonymous_code() -> list[tuple[int, int]]:
    """Return the address ranges of executable memory that is not mapped from a file (proc(5))."""
    found = []
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        place, rights, _, _, file, *name = line.split()
        if "x" in rights and file == "0" and not name:
            start, _, end = place.partition("-")
            found.append((int(start, 16), int(end, 16)))
    return found
