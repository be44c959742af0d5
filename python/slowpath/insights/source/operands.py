"""Reads the operands of LLVM instructions from their text.

Source: LLVM's language reference, Memory Access and Addressing Operations.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from slowpath.insights.source.modules import bracketed_prefix, split_at_commas

Kind = Literal["read", "write"]

_WORDS = frozenset({"tail", "musttail", "notail", "atomic", "volatile", "weak"})
_OPENING = "([{<"
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
    """A memory access, as the text of an LLVM instruction states it."""

    kind: Kind
    pointer: str  # the operand as written
    size: str  # in bytes: an operand of type i64


def accesses(opcode: str, text: str) -> list[Access]:
    """Return the memory accesses of an instruction, in order.

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
    """Return the symbol of the function that a call names; None if it calls through a pointer."""
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
    """Return the text of a call up to the parenthesis that closes its arguments."""
    start = text.find("@")
    if start < 0:
        return text
    opened = text.find("(", start + 1)
    if text[start + 1 : start + 2] == '"':
        opened = text.find("(", text.index('"', start + 2))
    return text[:opened] + bracketed_prefix(text[opened:])


def _without(text: str, opcode: str) -> str:
    """Return an instruction without its opcode and modifiers such as `volatile` or `atomic`."""
    words = text.split()
    while words and (words[0] == opcode or words[0] in _WORDS):
        words.pop(0)
    return " ".join(words)


def _typed(text: str) -> tuple[str, str]:
    """Split a text into its leading type and the rest."""
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
    """Return a pointer operand without its type and attributes: a value or constant expression."""
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
    """Return a constant expression of LLVM for the size of a type in bytes."""
    return f"ptrtoint (ptr getelementptr ({kind}, ptr null, i32 1) to i64)"


class Call(NamedTuple):
    """The target of a call."""

    name: str | None  # a function of the module or an intrinsic; None: another target
    helper: int | None  # number of a kernel helper; None: another target


def result(text: str) -> str | None:
    """Return the name of the value that an instruction defines; None if there is none."""
    found = _RESULT.match(text)
    return found[1] if found else None


def parts(text: str) -> list[str]:
    """Return the comma-separated operands of an instruction, without opcode and result."""
    return split_at_commas(_RESULT.sub("", text).partition(" ")[2])


def value(part: str) -> str | None:
    """Return the value at the end of an operand: `%name`, `@name` or a constant; None without one.

    For a constant expression, this is the first variable that it names.
    """
    found = _VALUE.search(part)
    if found:
        return found[1]
    inside = _GLOBAL.search(part)
    return inside[0] if inside else None


def pointer(opcode: str, text: str) -> str | None:
    """Return the address that an instruction accesses; None if it accesses no memory."""
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
    """Return the target of a call; both fields are None for a call through a pointer."""
    found = _CALLED.search(text)
    if found is None:
        return Call(None, None)
    return Call(found[1].strip('"') if found[1] else None, int(found[2]) if found[2] else None)


def arguments(text: str) -> list[str]:
    """Return the arguments of a call, each with its type."""
    found = _CALLED.search(text)
    if found is None:
        return []
    return split_at_commas(bracketed_prefix("(" + text[found.end() :])[1:-1])
