"""External symbols of a module.

Names that the list has not are renamed, so that the JIT finds nothing of this process by them.
Variables of other files are there, and zero.
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
        "memcpy",
        "memmove",
        "memset",
        "memcmp",
        "memchr",
        "bcmp",
        "bcopy",
        "bzero",
        "strlen",
        "strnlen",
        "strcmp",
        "strncmp",
        "strcpy",
        "strncpy",
        "strcat",
        "strncat",
        "strchr",
        "strrchr",
        "snprintf",
        "vsnprintf",
        "strcasecmp",
        "strncasecmp",
        "malloc",
        "calloc",
        "realloc",
        "free",
        "aligned_alloc",
        "posix_memalign",
        "abs",
        "labs",
        "llabs",
        "htonl",
        "htons",
        "ntohl",
        "ntohs",
        "qsort",
        "bsearch",
        "strtol",
        "strtoul",
        "strtoll",
        "strtoull",
        "strstr",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "exp",
        "log",
        "log2",
        "log10",
        "pow",
        "sqrt",
        "fabs",
        "fmod",
        "floor",
        "ceil",
        "round",
        "inet_ntop",
        "inet_pton",
        "toupper",
        "tolower",
        "isalpha",
        "isdigit",
        "isalnum",
        "isspace",
        "isprint",
        "isupper",
        "islower",
        "isxdigit",
        "ispunct",
        "__ctype_b_loc",
        "__ctype_toupper_loc",
        "__ctype_tolower_loc",
        "__errno_location",
        "ffs",
        "ffsl",
        "ffsll",
        "__memcpy_chk",
        "__memset_chk",
        "__memmove_chk",
    ]
)
"""What the C library does without leaving the process."""
_SILENT = frozenset(
    [
        "printf",
        "puts",
        "putchar",
        "fprintf",
        "fputs",
        "fputc",
        "fwrite",
        "fflush",
        "perror",
        "putc",
        "vprintf",
        "vfprintf",
        "printk",
        "__printf_chk",
        "__fprintf_chk",
        "pthread_mutex_init",
        "pthread_mutex_lock",
        "pthread_mutex_unlock",
        "pthread_mutex_destroy",
        "pthread_rwlock_rdlock",
        "pthread_rwlock_wrlock",
        "pthread_rwlock_unlock",
    ]
)
"""What writes or locks, and here does nothing."""
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
"""C++, what libraries wipe memory with, and what helpers of XDP programs jump with, by what does
the same in C. No source may jump itself: it would leave what counts."""
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
"""Bytes of a variable from outside."""


class Outside(NamedTuple):
    """A variable that another file would have."""

    address: int
    size: int


def is_allowed(name: str) -> bool:
    """Whether a function from outside may be called."""
    given = name in _PRESENT or name in _SILENT or name in _RENAMED or name == _ONCE
    return name.startswith("llvm.") or given


def settle(module: Module, instead: Mapping[str, int] = MappingProxyType({})) -> dict[str, Outside]:
    """Gives everything from outside a meaning, or none; the variables are zero, by name.

    `instead` are addresses of functions that stand for those of the C library.
    """
    refused, silent, once = _own()
    for function in list(module.functions):
        name = function.name
        if not function.is_declaration or name.startswith("llvm."):
            continue
        other = instead.get(_RENAMED.get(name, name))
        if name in _PRESENT and other is None:
            continue
        # Never the name of another function: LLVM makes a new one of it, which is nowhere, and then
        # links nothing.
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
        found[value.name] = Outside(address, min(size, _LARGEST))
    return found


@cache
def _own() -> tuple[int, int, int]:
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
"""Engines and memory that code uses."""
