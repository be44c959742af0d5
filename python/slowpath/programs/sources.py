"""What a program file is: an object or listing, C source, or what compilers read and write.

It is recognised by its content, and by its name where that says nothing, so that nobody has to
guess why it is no listing.
"""

import re
from typing import NamedTuple

HEAD = 1 << 16
"""So many bytes tell what a file is."""
_ELF = b"\x7fELF"
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""Magic numbers of LLVM bitcode, and of its wrapper (LLVM Bitcode File Format)."""
_LISTING = rb"^[ \t]*[0-9A-Fa-f]+:[ \t]+(\.[0-9]+\s|([0-9A-Fa-f]{2} ){4})"
"""A line of an NFP listing, or of the disassembly of an object. Here and below, each line is looked
at once, however long it is or blank."""
_TEXTS = {
    "ll": rb'^(; ModuleID = |source_filename = "|target (datalayout|triple) = "|define .{0,80}@)',
    "c": rb"^[ \t]*#[ \t]*(include[ \t]*[<\"]|define[ \t]|if|pragma[ \t])",
    "s": rb"^[ \t]*\.(text|file|section|globl|global|type|size|p2align)\b",
}
"""Lines that texts of a kind have, by extension."""
KINDS = {
    "bc": ("LLVM bitcode", ("-x", "ir")),
    "ll": ("LLVM's intermediate language", ("-x", "ir")),
    "s": ("assembler source", ("-x", "assembler")),
    "c": ("C source", ("-x", "c")),
}
"""By extension: what a file is, and how clang is told so where the name does not say it."""


class Clang(NamedTuple):
    """How C is compiled."""

    flags: tuple[str, ...] = ()
    seconds: float | None = None  # for one file; None: the default
    until: float | None = None  # for all work, by the monotonic clock; None: no limit
    memory_bytes: int | None = None  # None: a share of what is free, or no limit


def kind_of(file: str, data: bytes) -> str | None:
    """What a file is, as an extension: `c`, `s`, `ll`, `bc`; None for all else."""
    if data.startswith(_ELF):
        return None
    if data.startswith(_BITCODE):
        return "bc"
    head = data[:HEAD]
    if re.search(_LISTING, head, re.MULTILINE):
        return None
    name = file.rpartition(".")[2].lower()
    if b"\0" in head or not head.strip():
        return None
    if name in KINDS and name != "bc":
        return name
    found = (kind for kind, line in _TEXTS.items() if re.search(line, head, re.MULTILINE))
    return next(found, None)


def is_listing(head: bytes) -> bool:
    """Whether a file that begins so, with `HEAD` bytes or all it has, is code of the card."""
    return not head.startswith(_ELF) and re.search(_LISTING, head, re.MULTILINE) is not None


def is_c(file: str) -> bool:
    """Whether a file is compiled, by its name."""
    return file.endswith(".c")
