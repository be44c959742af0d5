"""Compiles LLVM IR into this process, and calls its functions even if they may crash.

External functions that are not allowed are renamed, so that the JIT compiler does not bind them to
symbols of this process. Variables that other files define get memory with zeros.

A signal handler jumps back to the caller after a fault, such as an invalid memory access, in
JIT-compiled code, which holds no locks of the C library. Any other fault ends the process as usual.
A fault may have damaged memory. Results that a process finds after a fault must therefore be
confirmed by another process. Source: sigaction(2), setjmp(3), and `struct ucontext` of the kernel.
"""

import ctypes
import mmap
import os
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from slowpath.insights.source.functions import Function
from slowpath.insights.source.modules import Module, machine

SIZE = 1 << 16
"""Size of a guarded memory region in bytes."""
WINDOW = 1 << 13
"""Number of bytes of a region that are compared. The state of a function is assumed to be no
larger."""
_PAGE = mmap.PAGESIZE
_NONE = 0  # PROT_NONE of mprotect(2)


def protect_page(address: int) -> None:
    """Protect a page of memory, so that any access to it crashes the process.

    `address` is the start of the page.

    Raises:
        MemoryError: when the kernel does not protect the page.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(_PAGE), _NONE):
        raise MemoryError("pages cannot be protected")


class Region:
    """Memory between two protected pages; an access beyond either end kills the process."""

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, SIZE + 2 * _PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.address = start + _PAGE
        for page in (start, self.address + SIZE):
            protect_page(page)

    def write(self, data: bytes, offset: int = 0) -> None:
        """Write `data` to the region, starting at `offset`; drop bytes beyond its end."""
        ctypes.memmove(self.address + offset, data, min(len(data), SIZE - offset))

    def read(self, size: int = WINDOW, offset: int = 0) -> bytes:
        """Return `size` bytes of the region, starting at `offset`."""
        return ctypes.string_at(self.address + offset, size)


def differing_ranges(before: bytes, after: bytes) -> list[tuple[int, int]]:
    """Return offset and size of each range in which two byte strings of equal length differ.

    Ranges with fewer than four equal bytes between them are merged.
    """
    found = list[tuple[int, int]]()
    if before == after:
        return found
    for at, (one, other) in enumerate(zip(before, after, strict=True)):
        if one == other:
            continue
        if found and at - sum(found[-1]) < _GAP:
            start, _ = found[-1]
            found[-1] = (start, at + 1 - start)
        else:
            found.append((at, 1))
    return found


_GAP = 4
"""Minimum number of equal bytes between two ranges that differ. Fewer bytes may be equal by chance
in random data."""


CALL_SECONDS = 0.1
"""CPU time of one call in seconds; a longer call kills the process (SIGPROF)."""
_MAX_RESTORED = 1 << 16
"""Maximum size in bytes of variables that callers restore before each call."""
_UNSIGNED = {1: ctypes.c_uint8, 8: ctypes.c_uint8, 16: ctypes.c_uint16, 32: ctypes.c_uint32}
_SIGNED = {8: ctypes.c_int8, 16: ctypes.c_int16, 32: ctypes.c_int32}
Native = Callable[[Sequence[int]], int]
"""A native function: it takes numbers and addresses, and returns a number (0 for `void`)."""


class Variable(NamedTuple):
    """A mutable global variable of a compiled module, in the memory of this process."""

    address: int
    size: int
    name: str


class CompiledModule:
    """The machine code of an LLVM module in this process, and its mutable global variables."""

    def __init__(
        self,
        module: Module,
        *,
        hasty: bool = False,
        guarded: bool = False,
        instead: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Compile a module of LLVM IR into this process; the object takes ownership of `module`.

        `hasty` skips optimisation, for short runs. With `guarded`, the process survives faults of
        functions, except on kinds of machines that slowpath does not know. `instead` maps names of
        C library functions to addresses of replacements.
        """
        self._outside = bind_externals(module, instead)
        self._module = module
        sizes = {
            value.name: machine().target_data.get_abi_size(value.global_value_type)
            for value in module.global_variables
            if not value.is_declaration
        }
        constant = {
            value.name
            for value in module.global_variables
            if " constant " in str(value).partition("=")[2][:120]
        }
        for value in module.global_variables:
            if value.linkage in (llvm.Linkage.internal, llvm.Linkage.private):
                value.linkage = llvm.Linkage.external
        self._engine = llvm.create_mcjit_compiler(module, machine(0 if hasty else 1))
        self._engine.finalize_object()
        self._guard = guard() if guarded else None
        if self._guard is not None:
            self._guard.renew()
        self._sizes = {name: size for name, size in sizes.items() if name not in constant}
        self._sizes |= {name: one.size for name, one in self._outside.items()}
        self.changeable = frozenset(self._sizes)
        """Names of the mutable variables."""
        found = map(self._found, self._sizes)
        self._variables = {name: one for name, one in zip(self._sizes, found, strict=True) if one}

    def construct(self) -> None:
        """Run the static constructors of C++, which may kill the process."""
        self._engine.run_static_constructors()

    def variable(self, name: str) -> Variable | None:
        """Return a mutable global variable; None if it is unknown or too large to restore."""
        return self._variables.get(name)

    @property
    def variables(self) -> Collection[Variable]:
        """All mutable variables that are small enough to restore before each call."""
        return self._variables.values()

    def _found(self, name: str) -> Variable | None:
        size = self._sizes[name]
        if not 0 < size <= _MAX_RESTORED:
            return None
        outside = self._outside.get(name)
        if outside is not None:
            return Variable(outside.address, size, name.removeprefix("slowpath.outside."))
        address = self._engine.get_global_value_address(name)
        return Variable(address, size, name) if address else None

    def address(self, name: str) -> int:
        """Return the address of a function or variable; 0 if the module does not have it."""
        outside = self._outside.get(f"slowpath.outside.{name}")
        if outside is not None:
            return outside.address
        found: int = self._engine.get_function_address(name)
        return found or int(self._engine.get_global_value_address(name))

    def outside(self) -> list[tuple[str, int, int]]:
        """Return symbol, address and size in bytes of each external variable.

        The module declares these variables, but another source file defines them.
        """
        return [
            (name.removeprefix("slowpath.outside."), one.address, one.size)
            for name, one in self._outside.items()
        ]

    def native(self, function: Function) -> Native | None:
        """Return a Python callable for a compiled function.

        Return None if the function's types are unsupported or it has no code. The callable raises
        `FaultError` after a fault that the process survives.
        """
        types = _types(function)
        address = self._engine.get_function_address(function.name)
        if types is None or not address:
            return None
        result, kinds = types
        guard_ = self._guard if len(kinds) <= ARGUMENTS else None
        first, rest = tuple[int, ...](), tuple[int, ...]()
        if guard_ is not None:
            first, rest = (address,), (0,) * (ARGUMENTS - len(kinds))
            kinds = [ctypes.c_uint64, *kinds, *[ctypes.c_uint64] * len(rest)]
            address = guard_.address
        called = ctypes.CFUNCTYPE(result, *kinds)(address)

        def call(arguments: Sequence[int]) -> int:
            signal.setitimer(signal.ITIMER_PROF, CALL_SECONDS)
            try:
                result = called(*first, *arguments, *rest)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            if guard_ is not None:
                guard_.check()
            return result or 0

        return call


def has_callable_prototype(function: Function) -> bool:
    """Return true if `native` supports the types of a function's parameters and result.

    They must be integers or addresses.
    """
    return _types(function) is not None


def _types(function: Function) -> tuple[Any, list[Any]] | None:
    """Return the `ctypes` types of a function's result and parameters.

    Return None if a type is unsupported.
    """
    results: Mapping[str, Any] = {
        "void": None,
        "pointer": ctypes.c_uint64,
        **{f"i{bits}": kind for bits, kind in _UNSIGNED.items()},
        "i64": ctypes.c_uint64,
    }
    if function.variadic or function.result not in results:
        return None
    kinds = list[Any]()
    for one in function.parameters:
        address = one.kind == "pointer" and one.plain
        if address or (one.kind == "integer" and one.bits == 64):  # noqa: PLR2004 - a register
            kinds.append(ctypes.c_uint64)
        elif one.kind == "integer" and one.bits in _UNSIGNED:
            widths = _SIGNED if one.signed and one.bits in _SIGNED else _UNSIGNED
            kinds.append(widths[one.bits])
        else:
            return None
    return results[function.result], kinds


# --- external symbols -----------------------------------------------------------------------------

_PRESENT = frozenset(
    [
        # memory
        *("memcpy", "memmove", "memset", "memcmp", "memchr", "bcmp", "bcopy", "bzero"),
        *("__memcpy_chk", "__memset_chk", "__memmove_chk"),
        *("malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign"),
        # strings and characters
        *("strlen", "strnlen", "strcmp", "strncmp", "strcasecmp", "strncasecmp", "strcpy"),
        *("strncpy", "strcat", "strncat", "strchr", "strrchr", "strstr", "snprintf", "vsnprintf"),
        *("strtol", "strtoul", "strtoll", "strtoull", "toupper", "tolower", "isalpha", "isdigit"),
        *("isalnum", "isspace", "isprint", "isupper", "islower", "isxdigit", "ispunct"),
        *("__ctype_b_loc", "__ctype_toupper_loc", "__ctype_tolower_loc"),
        # numbers
        *("abs", "labs", "llabs", "ffs", "ffsl", "ffsll", "sin", "cos", "tan", "asin", "acos"),
        *("atan", "atan2", "exp", "log", "log2", "log10", "pow", "sqrt", "fabs", "fmod", "floor"),
        *("ceil", "round"),
        # others
        *("htonl", "htons", "ntohl", "ntohs", "inet_ntop", "inet_pton", "qsort", "bsearch"),
        "__errno_location",
    ]
)
"""Functions of the C library that have no effect outside the process."""
_SILENT = frozenset(
    [
        *("printf", "puts", "putchar", "fprintf", "fputs", "fputc", "fwrite", "fflush", "perror"),
        *("putc", "vprintf", "vfprintf", "printk", "__printf_chk", "__fprintf_chk"),
        *(f"pthread_mutex_{verb}" for verb in ("init", "lock", "unlock", "destroy")),
        *("pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_unlock"),
    ]
)
"""Functions that only print or lock; calls of them are replaced by calls without an effect."""
_ONCE = "pthread_once"
_RENAMED = {
    "_Znwm": "malloc",
    "_Znam": "malloc",
    "_ZdlPv": "free",
    "_ZdaPv": "free",
    "_ZdlPvm": "free",
    "_ZdaPvm": "free",
    "explicit_bzero": "bzero",
    "mbedtls_platform_zeroize": "bzero",
    "OPENSSL_cleanse": "bzero",
    "sodium_memzero": "bzero",
    "zeromem": "bzero",
    "slowpath_xdp_mark": "_setjmp",
    "slowpath_xdp_return": "longjmp",
}
"""Equivalent C functions for C++ operators, for functions that wipe memory, and for the jumps of
XDP helpers. Sources may not call `longjmp` themselves, because a jump would skip counting code."""
_OWN = """
define void @"slowpath.refused"() {
  call void @llvm.trap()
  unreachable
}
define i64 @"slowpath.silent"(...) {
  ret i64 0
}
define i32 @"slowpath.once"(ptr %control, ptr %routine) {
  %seen = load i32, ptr %control
  %first = icmp eq i32 %seen, 0
  br i1 %first, label %run, label %done
run:
  store i32 2, ptr %control
  call void %routine()
  br label %done
done:
  ret i32 0
}
declare void @llvm.trap()
"""
_LARGEST = 1 << 26
"""Maximum size of an external variable in bytes; larger variables are truncated."""


class ExternalVariable(NamedTuple):
    """An external variable: the module declares it without a definition, so it gets new memory."""

    address: int
    size: int


def is_allowed(name: str) -> bool:
    """Return true if compiled code may call the external function `name`.

    It must have no effect outside the process.
    """
    known = name in _PRESENT or name in _SILENT or name in _RENAMED or name == _ONCE
    return name.startswith("llvm.") or known


def bind_externals(
    module: Module, replacements: Mapping[str, int] = MappingProxyType({})
) -> dict[str, ExternalVariable]:
    """Give all external symbols of a module an address, and return the external variables by name.

    The variables are zero. A function that is not allowed traps when it is called. `replacements`
    maps names of C library functions to addresses of replacements.
    """
    refused, silent, once = _own()
    for function in list(module.functions):
        name = function.name
        if not function.is_declaration or name.startswith("llvm."):
            continue
        other = replacements.get(_RENAMED.get(name, name))
        if name in _PRESENT and other is None:
            continue
        # The new name must be unused: LLVM would rename a duplicate, and then find no address for
        # it.
        function.name = f"slowpath.outside.{name}"
        same = llvm.address_of_symbol(_RENAMED[name]) if name in _RENAMED else None
        own = {_ONCE: once}.get(name, silent if name in _SILENT else refused)
        llvm.add_symbol(function.name, other or same or own)
    found = {}
    for value in list(module.global_variables):
        if not value.is_declaration:
            continue
        size = machine().target_data.get_abi_size(value.global_value_type)
        value.name = f"slowpath.outside.{value.name}"
        memory = mmap.mmap(-1, max(1, min(size, _LARGEST)))
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        _KEPT.append(memory)
        llvm.add_symbol(value.name, address)
        found[value.name] = ExternalVariable(address, min(size, _LARGEST))
    return found


@cache
def _own() -> tuple[int, int, int]:
    """Return the addresses of slowpath's three replacements of external functions.

    `_OWN` defines them: `refused` (for functions that are not allowed), `silent` and `once`, in
    this order.
    """
    module = llvm.parse_assembly(_OWN)
    engine = llvm.create_mcjit_compiler(module, machine())
    engine.finalize_object()
    _KEPT.append(engine)
    return (
        engine.get_function_address("slowpath.refused"),
        engine.get_function_address("slowpath.silent"),
        engine.get_function_address("slowpath.once"),
    )


_KEPT = list[object]()
"""Engines and memory that compiled code uses; they must stay alive."""


# --- faults ---------------------------------------------------------------------------------------

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
    """Raised after a fault in compiled code, such as an invalid memory access."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.strsignal(number))
        self.signal = number


class _Action(ctypes.Structure):
    """The C library's `struct sigaction`, for `ctypes`."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint8 * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class Guard:
    """Machine code and a signal handler that let the process survive faults of compiled code.

    A fault is, for example, an invalid memory access. The handler returns to the caller.
    """

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
        """Tell the signal handler the address ranges of the JIT-compiled code.

        Call this after more code was compiled.
        """
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
    """Return the guard of this process, which survives faults; None on unknown machines."""
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
