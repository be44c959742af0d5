"""The parts of an instruction in LLVM's text. Source: LLVM's language reference."""

import re
from typing import NamedTuple

from slowpath.insights.preparation.brackets import enclosed, separated

_RESULT = re.compile(r"^(%\S+) = ")
_FLAGS = frozenset({"volatile", "atomic", "weak"})
_VALUE = re.compile(r'([%@](?:"[^"]*"|[-\w.$]+)|-?\d+|null|true|false|undef|poison)$')
_CALLED = re.compile(r'@("(?:[^"\\]|\\.)*"|[\w.$-]+)\(|inttoptr \(i64 (\d+) to ptr\)\(')
_GLOBAL = re.compile(r'@("(?:[^"\\]|\\.)*"|[\w.$-]+)')


class Call(NamedTuple):
    """Whom a call calls."""

    name: str | None  # a function of the module or an intrinsic
    helper: int | None  # a function of the kernel by its number


def result(text: str) -> str | None:
    """The value that an instruction makes."""
    found = _RESULT.match(text)
    return found[1] if found else None


def parts(text: str) -> list[str]:
    """What stands between the commas of an instruction, without its name and result."""
    return separated(_RESULT.sub("", text).partition(" ")[2])


def value(part: str) -> str | None:
    """The value that a part ends in: `%name`, `@name`, a number; None for expressions."""
    found = _VALUE.search(part)
    if found:
        return found[1]
    inside = _GLOBAL.search(part)  # an address in a variable, as a constant expression
    return inside[0] if inside else None


def pointer(opcode: str, text: str) -> str | None:
    """The pointer that an instruction reads or writes through; None: it does neither."""
    given = parts(text)
    match opcode:
        case "load" | "store":
            return value(given[1]) if len(given) > 1 else None
        case "atomicrmw" | "cmpxchg":
            return value(given[0])
    return None


def width(kind: str) -> int:
    """The bits of a type as instructions have it; 0: not a number or pointer."""
    words = [word for word in kind.split() if word not in _FLAGS]
    first = words[0] if words else ""
    if first.startswith("ptr"):
        return 64
    number = re.match(r"i(\d+)", first)
    if number:
        return int(number[1])
    vector = re.match(r"<(\d+) x i(\d+)>", " ".join(words))
    return int(vector[1]) * int(vector[2]) if vector else 0


def called(text: str) -> Call:
    """Whom a call calls; neither: through a pointer."""
    found = _CALLED.search(text)
    if found is None:
        return Call(None, None)
    return Call(found[1].strip('"') if found[1] else None, int(found[2]) if found[2] else None)


def arguments(text: str) -> list[str]:
    """What a call passes, each with its type."""
    found = _CALLED.search(text)
    if found is None:
        return []
    return separated(enclosed("(" + text[found.end() :])[1:-1])
