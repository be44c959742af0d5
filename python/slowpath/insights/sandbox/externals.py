"""Replaces or defines the external symbols of a module of LLVM IR, so that it can be linked.

Functions that are not allowed are renamed, so that the JIT compiler does not bind them to symbols
of this process. Variables that other files define get memory with zeros.
"""

import ctypes
import mmap
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import llvmlite.binding as llvm

from slowpath.insights.source.modules import Module, machine

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
    """A variable that the compiled source declares but does not define, with the memory for it."""

    address: int
    size: int


def is_allowed(name: str) -> bool:
    """Return true if compiled code may call an external function."""
    known = name in _PRESENT or name in _SILENT or name in _RENAMED or name == _ONCE
    return name.startswith("llvm.") or known


def bind_externals(
    module: Module, replacements: Mapping[str, int] = MappingProxyType({})
) -> dict[str, ExternalVariable]:
    """Bind all external symbols of a module, and return the external variables by name.

    The variables are zero. A function that is not allowed traps when it is called.

    `replacements` has addresses of replacements for functions of the C library, by name.
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
    """Return the addresses of three functions that replace external ones; `_OWN` defines them.

    They are `refused` (for functions that are not allowed), `silent` and `once`.
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
