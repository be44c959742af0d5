"""Compiles a module of LLVM IR into this process, and provides guarded memory for its functions."""

import ctypes
import mmap
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from slowpath.insights.sandbox.externals import bind_externals
from slowpath.insights.sandbox.faults import ARGUMENTS, guard
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
    """Make accesses to a page of memory crash the process.

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
        """Write bytes at an offset; bytes beyond the end of the region are dropped."""
        ctypes.memmove(self.address + offset, data, min(len(data), SIZE - offset))

    def read(self, size: int = WINDOW, offset: int = 0) -> bytes:
        """Return `size` bytes of the region from an offset."""
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
    """The machine code of a module, and its mutable variables."""

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
        functions, except on unknown machines. `instead` has addresses of replacements for functions
        of the C library, by name.
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
        """Return a mutable variable by name; None if it is unknown or too large to restore."""
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
        """Return the address of a function or variable of the module; 0 if it does not exist."""
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
        """Return a callable for a function; None if its types are unsupported or it has no code.

        The callable raises `FaultError` after a fault that the process survives.
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
    """Return true if all parameters and the result of a function are numbers or addresses."""
    return _types(function) is not None


def _types(function: Function) -> tuple[Any, list[Any]] | None:
    """Return the `ctypes` types of result and parameters of a function; None if unsupported."""
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
