"""Parses, links and optimises LLVM modules, and reads operands from the text of instructions.

Input is not trusted: this code runs in a worker process that may die (`slowpath.core.jobs`).

Quoted names may contain brackets and commas, as names of C++ templates do; a quotation mark in a
name is escaped as a hexadecimal number. Source: LLVM's language reference, Identifiers.

Source: LLVM's language reference, Memory Access and Addressing Operations.
"""

import re
import string
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

import llvmlite.binding as llvm

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.insights.source.sources import Source

Machine: TypeAlias = llvm.TargetMachine
Module: TypeAlias = llvm.ModuleRef

_KEPT_INLINE = b"alwaysinline"
_LETTERS = string.ascii_lowercase + string.ascii_uppercase + string.digits + "._"
_HEAD = 128
"""Bytes at the start of bitcode that contain the name of its producer."""
_HASH_RECOGNISED_SINCE = 22
"""First version of LLVM that replaces CRC loops.

Older versions end the process if they get the option against it.
"""


@cache
def machine(effort: int = 1) -> Machine:
    """Return LLVM's description of this machine as a target for compilation.

    `effort` is the optimisation level, from 0 to 3.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # Headers of the kernel have inline assembly; it is compiled, but never runs.
    llvm.initialize_native_asmparser()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=effort,
        jit=True,
        reloc="pic",
        codemodel="jitdefault",
    )


def read_module(source: Source) -> Module:
    """Parse the LLVM module of a source, and link the modules of the code that it needs.

    Raises:
        InputError: if LLVM cannot read the module, or the module is for another machine.
    """
    here = machine()
    try:
        if source.kind == "bitcode":
            module = llvm.parse_bitcode(source.data)
        else:
            module = llvm.parse_assembly(source.data.decode())
        module.verify()
    except UnicodeDecodeError as problem:
        raise InputError(
            codes.NOT_UTF8, source.file, f"the file is not UTF-8 text (byte {problem.start})"
        ) from None
    except RuntimeError as problem:
        raise InputError(
            codes.LLVM_CANNOT_READ, source.file, _in_one_line(source, str(problem))
        ) from None
    host, found = here.triple.partition("-")[0], module.triple.partition("-")[0]
    if found not in (host, ""):
        reason = f"the module is for {found}, but this machine is {host}; compile it for {host}"
        raise InputError(codes.LLVM_CANNOT_READ, source.file, reason)
    module.triple = here.triple
    module.data_layout = str(here.target_data)
    if source.support:
        _link(source, module)
    for other in source.others:
        _add(module, other)
    return module


def _add(module: Module, bitcode: bytes) -> None:
    """Link the module of another Click element into `module`.

    Do nothing if both modules define the same symbol.
    """
    other = llvm.parse_bitcode(bitcode)
    other.triple, other.data_layout = module.triple, module.data_layout
    if not _defined(module) & _defined(other):
        module.link_in(other)


def _defined(module: Module) -> set[str]:
    """Return the symbols of the external functions and variables that a module defines."""
    bodies = (
        one for one in (*module.functions, *module.global_variables) if not one.is_declaration
    )
    return {one.name for one in bodies if one.linkage is llvm.Linkage.external}


def _link(source: Source, module: Module) -> None:
    """Link slowpath's stand-in for the kernel (`headers/nic/xdp.c`) into the module.

    It provides the kernel helpers that an XDP program calls.

    Raises:
        InputError: if the source and the stand-in define functions with the same name.
    """
    support = llvm.parse_bitcode(source.support)
    support.triple, support.data_layout = module.triple, module.data_layout
    try:
        module.link_in(support)
    except RuntimeError as problem:
        raise InputError(
            codes.LLVM_CANNOT_READ,
            source.file,
            f"the source conflicts with the helper functions of slowpath: {problem}",
        ) from None


def optimise(module: Module, *, compiled: bool, kept: Collection[str] = ()) -> None:
    """Run LLVM's passes of -O1, except inlining, vectorisation and unrolling.

    These would obscure the source. Static functions become external first, so that passes do not
    adapt their parameters to callers. If slowpath did not compile the module (`compiled`), no pass
    runs. `kept` are the symbols of variables that code outside the module may read; passes do not
    remove them.
    """
    prevent_inlining(module, lambda _: compiled)
    if not compiled:
        return
    for variable in module.global_variables:
        if variable.name in kept:
            variable.linkage = llvm.Linkage.external
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_unrolling = options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine(), options)
    builder.getModulePassManager().run(module, builder)


def prevent_inlining(module: Module, separate: Callable[[str], bool]) -> None:
    """Forbid LLVM to inline some functions, and make all functions external.

    `separate` returns true for the symbol of a function that must not be inlined. Functions that
    the source marks as always inlined are still inlined.
    """
    for function in module.functions:
        if function.is_declaration:
            continue
        if function.linkage in (llvm.Linkage.internal, llvm.Linkage.private):
            function.linkage = llvm.Linkage.external
        inlined = any(_KEPT_INLINE in words for words in function.attributes)
        if separate(function.name) and not inlined:
            function.add_function_attribute("noinline")


def keep_crc_loops(*, keep: bool = True) -> None:
    """Choose whether later passes in this process keep loops that compute a CRC bit by bit.

    By default, LLVM 22 replaces these loops by table lookups, unlike a SmartNIC's compiler.
    """
    if llvm.llvm_version_info[0] >= _HASH_RECOGNISED_SINCE:
        llvm.set_option("", f"-disable-loop-idiom-hashrecognize={str(keep).lower()}")


def variables_of(module: Module) -> list[tuple[str, int]]:
    """Return the symbol and the size in bytes of each variable that a module defines."""
    target = machine().target_data
    return [
        (value.name, target.get_abi_size(value.global_value_type))
        for value in module.global_variables
        if not value.is_declaration and not value.name.startswith("llvm.")
    ]


def llvm_version() -> str:
    """Return the version of LLVM that llvmlite contains."""
    return ".".join(map(str, llvm.llvm_version_info))


def _in_one_line(source: Source, message: str) -> str:
    """Convert LLVM's error message on a source to one line for the user."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    first = next((line for line in lines if "error:" in line), lines[-1] if lines else "")
    first = re.sub(r"^<string>:", "line ", first.removeprefix("LLVM IR parsing error").strip())
    if source.kind == "text":
        return f"LLVM {llvm_version()} cannot read the file: {first}"
    made = producer(source.data)
    by = f" of LLVM {made}" if made else ""
    if made and int(made.partition(".")[0]) > llvm.llvm_version_info[0]:
        by += " (use an older clang with $CLANG, or a newer llvmlite)"
    return f"LLVM {llvm_version()} cannot read this bitcode{by}: {first}"


def producer(bitcode: bytes) -> str | None:
    """Return the version of LLVM that wrote bitcode; None if it is not recorded.

    The version is near the start, in 6-bit characters at any bit offset (LLVM Bitcode File Format).
    """
    bits = int.from_bytes(bitcode[:_HEAD], "little")
    name = sum(_LETTERS.index(letter) << 6 * at for at, letter in enumerate("LLVM"))
    for start in range(8 * _HEAD):
        if bits >> start & 0xFFFFFF == name:
            rest = bits >> start + 24
            letters = (_LETTERS[rest >> 6 * at & 63] for at in range(12))
            found = re.match(r"\d+(\.\d+)*", "".join(letters))
            if found:
                return found[0]
    return None


_OPENING, _CLOSING = "([{<", ")]}>"


def split_at_commas(text: str) -> list[str]:
    """Split text at commas, except those inside brackets and quoted names."""
    found, start = list[str](), 0
    for at, letter, depth in _outside(text):
        if letter == "," and not depth:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()]


def bracketed_prefix(text: str) -> str:
    """Return the text up to the bracket that closes its first bracket.

    Without such a bracket, return the whole text.
    """
    for at, letter, depth in _outside(text):
        if letter in _CLOSING and not depth:
            return text[: at + 1]
    return text


def _outside(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield each character outside quoted names, with its position and its bracket depth.

    Items are (position, character, depth).
    """
    depth, quoted = 0, False
    for at, letter in enumerate(text):
        quoted ^= letter == '"'
        if quoted:
            continue
        depth += letter in _OPENING
        depth -= letter in _CLOSING
        yield at, letter, depth


# --- operands -------------------------------------------------------------------------------------

Kind = Literal["read", "write"]

_WORDS = frozenset({"tail", "musttail", "notail", "atomic", "volatile", "weak"})
_RESULT = re.compile(r"^(%\S+) = ")
_FLAGS = frozenset({"volatile", "atomic", "weak"})
_VALUE = re.compile(r'([%@](?:"[^"]*"|[-\w.$]+)|-?\d+|null|true|false|undef|poison)$')
_CALLED = re.compile(r'@("(?:[^"\\]|\\.)*"|[\w.$-]+)\(|inttoptr \(i64 (\d+) to ptr\)\(')
_GLOBAL = re.compile(r'@("(?:[^"\\]|\\.)*"|[\w.$-]+)')
_CALLEE = re.compile(r'@("(?:[^"\\]|\\.)*"|[\w.$-]+)\((.*)\)')
_COPIES = ("llvm.memcpy.", "llvm.memmove.", "llvm.memcpy.inline.")
_FILLS = ("llvm.memset.", "llvm.memset.inline.")
_LIBRARY: dict[str, tuple[tuple[int, Kind], ...]] = {
    "memcpy": ((0, "write"), (1, "read")),
    "memmove": ((0, "write"), (1, "read")),
    "memset": ((0, "write"),),
    "memcmp": ((0, "read"), (1, "read")),
    "bcmp": ((0, "read"), (1, "read")),
    "__memcpy_chk": ((0, "write"), (1, "read")),
    "__memmove_chk": ((0, "write"), (1, "read")),
    "__memset_chk": ((0, "write"),),
}
"""For each library function, the index of each address argument and the kind of access.

Argument 2 is the size.
"""


class Access(NamedTuple):
    """A memory access of an LLVM instruction: kind, address and size."""

    kind: Kind
    pointer: str  # the operand as written
    size: str  # in bytes: an operand of type i64


def accesses(opcode: str, text: str) -> list[Access]:
    """Return the memory accesses of an instruction, in order; `text` is the instruction.

    An atomic operation reads and writes. Of calls, only those of library functions that copy, fill
    or compare memory are accesses; instructions of other callees are analysed separately.
    """
    if opcode == "load":
        parts = split_at_commas(text.partition(" = ")[2])
        return [Access("read", _operand(parts[1]), _size(_without(parts[0], "load")))]
    if opcode == "store":
        parts = split_at_commas(text)
        kind, _ = _typed(_without(parts[0], "store"))
        return [Access("write", _operand(parts[1]), _size(kind))]
    if opcode in ("atomicrmw", "cmpxchg"):
        parts = split_at_commas(text.partition(" = ")[2] or text)
        size = _size(_typed(parts[1])[0])
        pointer = _operand(parts[0][parts[0].index("ptr") :])
        return [Access("read", pointer, size), Access("write", pointer, size)]
    if opcode == "call":
        return list(_call(text))
    return []


def callee_of(text: str) -> str | None:
    """Return the symbol of the function that a call instruction names.

    Return None if it calls through a pointer. `text` is the instruction.
    """
    found = _CALLEE.search(_without_metadata(text))
    if found is None or text.partition("(")[0].rstrip().rpartition(" ")[2].startswith("%"):
        return None
    name = found[1]
    return name[1:-1] if name.startswith('"') else name


def _call(text: str) -> Iterator[Access]:
    found = _CALLEE.search(_without_metadata(text))
    if found is None:
        return
    name = found[1].strip('"')
    if name.startswith((*_COPIES, *_FILLS)):
        kinds: tuple[tuple[int, Kind], ...] = _LIBRARY[
            "memcpy" if "mem" in name and "set" not in name else "memset"
        ]
    else:
        kinds = _LIBRARY.get(name, ())
    if not kinds:
        return
    arguments = split_at_commas(found[2])
    size = arguments[2].split()[-1]
    for at, kind in sorted(kinds, key=lambda one: one[1]):  # copies read first
        yield Access(kind, _operand(arguments[at]), size)


def _without_metadata(text: str) -> str:
    """Return the text of a call without the attributes and metadata after its arguments."""
    start = text.find("@")
    if start < 0:
        return text
    opened = text.find("(", start + 1)
    if text[start + 1 : start + 2] == '"':
        opened = text.find("(", text.index('"', start + 2))
    return text[:opened] + bracketed_prefix(text[opened:])


def _without(text: str, opcode: str) -> str:
    """Remove the opcode and modifiers, such as `volatile` or `atomic`, from an instruction."""
    words = text.split()
    while words and (words[0] == opcode or words[0] in _WORDS):
        words.pop(0)
    return " ".join(words)


def _typed(text: str) -> tuple[str, str]:
    """Split a text, such as an operand, into the type at its start and the rest."""
    text = text.strip()
    if text[:1] in _OPENING:
        kind = bracketed_prefix(text)
        return kind, text[len(kind) :].strip()
    if text.startswith('%"'):
        end = text.index('"', 2) + 1
        return text[:end], text[end:].strip()
    kind, _, rest = text.partition(" ")
    return kind, rest.strip()


def _operand(text: str) -> str:
    """Return a pointer operand without its type and attributes.

    The result is a value or a constant expression.
    """
    text = text.strip()
    at = re.search(
        r'(%"(?:[^"\\]|\\.)*"|@"(?:[^"\\]|\\.)*"|[%@][\w.$-]+|\bnull\b|\bundef\b|\bpoison\b)', text
    )
    constant = re.search(r"\b(getelementptr|inttoptr|addrspacecast|bitcast)\b", text)
    if constant is not None and (at is None or constant.start() < at.start()):
        opened = text.index("(", constant.start())
        return text[constant.start() : opened] + bracketed_prefix(text[opened:])
    return "null" if at is None else at[0]


def _size(kind: str) -> str:
    """Return an LLVM constant expression, as text, for the size in bytes of the type `kind`."""
    return f"ptrtoint (ptr getelementptr ({kind}, ptr null, i32 1) to i64)"


class Call(NamedTuple):
    """The target of a call: a named function, or a kernel helper by number."""

    name: str | None  # a function of the module or an intrinsic; None: another target
    helper: int | None  # number of a kernel helper; None: another target


def result(text: str) -> str | None:
    """Return the name of the value that an instruction defines; None if it defines none."""
    found = _RESULT.match(text)
    return found[1] if found else None


def parts(text: str) -> list[str]:
    """Return the comma-separated operands of an instruction, without its opcode and result."""
    return split_at_commas(_RESULT.sub("", text).partition(" ")[2])


def value(part: str) -> str | None:
    """Return the value at the end of an operand: `%name`, `@name` or a constant.

    For a constant expression, this is the first variable that it names. Return None without a
    value.
    """
    found = _VALUE.search(part)
    if found:
        return found[1]
    inside = _GLOBAL.search(part)
    return inside[0] if inside else None


def pointer(opcode: str, text: str) -> str | None:
    """Return the address that an instruction accesses, as a value of LLVM IR.

    Return None if the instruction accesses no memory.
    """
    operands = parts(text)
    match opcode:
        case "load" | "store":
            return value(operands[1]) if len(operands) > 1 else None
        case "atomicrmw" | "cmpxchg":
            return value(operands[0])
    return None


def width(kind: str) -> int:
    """Return the width in bits of an integer, vector or pointer type; 0 for other types."""
    words = [word for word in kind.split() if word not in _FLAGS]
    first = words[0] if words else ""
    if first.startswith("ptr"):
        return 64
    number = re.match(r"i(\d+)", first)
    if number:
        return int(number[1])
    vector = re.match(r"<(\d+) x i(\d+)>", " ".join(words))
    return int(vector[1]) * int(vector[2]) if vector else 0


def call_target(text: str) -> Call:
    """Return the target of a call instruction.

    Both fields of the result are None for a call through a pointer.
    """
    found = _CALLED.search(text)
    if found is None:
        return Call(None, None)
    return Call(found[1].strip('"') if found[1] else None, int(found[2]) if found[2] else None)


def arguments(text: str) -> list[str]:
    """Return the arguments of a call instruction, each as text with its type."""
    found = _CALLED.search(text)
    if found is None:
        return []
    return split_at_commas(bracketed_prefix("(" + text[found.end() :])[1:-1])
