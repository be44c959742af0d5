"""Recognises kinds of program files (objects, listings, C, LLVM IR), and finds source files.

Files are recognised by their content or their name, so that errors can name the kind. Otherwise all
unsupported files would be reported as invalid listings.

A source file is used only if it agrees with all lines in the object's debug information.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, NotRequired, TypedDict

from slowpath.core import codes
from slowpath.core.errors import Coded, InputError
from slowpath.core.inputs import STANDARD_INPUT, read_program, read_text
from slowpath.core.printable import one_line
from slowpath.core.terminal import Line

HEAD = 1 << 16
"""Number of bytes at the beginning of a file that determine its kind."""
_ELF = b"\x7fELF"
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""Magic numbers of LLVM bitcode, and of its wrapper (LLVM Bitcode File Format)."""
_LISTING = rb"^[ \t]*[0-9A-Fa-f]+:[ \t]+(\.[0-9]+\s|([0-9A-Fa-f]{2} ){4})"
"""A line of an NFP listing, or of the disassembly of an object. Like the patterns below, this one
takes linear time, even on long and on blank lines."""
_TEXTS = {
    "ll": rb'^(; ModuleID = |source_filename = "|target (datalayout|triple) = "|define .{0,80}@)',
    "p4": rb"^[ \t]*#[ \t]*include[ \t]*[<\"][\w/]+\.p4[>\"]",
    "c": rb"^[ \t]*#[ \t]*(include[ \t]*[<\"]|define[ \t]|if|pragma[ \t])",
    "s": rb"^[ \t]*\.(text|file|section|globl|global|type|size|p2align)\b",
}
"""For each file extension, a pattern of lines that are typical of this kind of text."""
KINDS = {
    "bc": ("LLVM bitcode", ("-x", "ir")),
    "ll": ("LLVM's intermediate language", ("-x", "ir")),
    "s": ("assembler source", ("-x", "assembler")),
    "c": ("C source", ("-x", "c")),
    "p4": ("P4", ()),
}
"""For each extension of source files: the name of the kind, and the flags with which clang reads a
source of this kind under any name."""


_CAPTURES = (
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x0a\x0d\x0d\x0a",
)
"""Magic numbers of pcap (microseconds, nanoseconds; both byte orders) and of pcapng."""
_OTHERS = {
    "spec": (
        rb"^([ \t]*((struct|header)[ \t]+\w+|metadata)[ \t]+instanceof[ \t]|apply[ \t]*\{)",
        "is a pipeline of DPDK's software switch, which this command does not read; slowpath "
        "bound, annotate and show read it, apart from objects",
    ),
    "click": (
        rb"^[ \t]*(elementclass[ \t]+\w+[ \t]*\{|"
        rb"\w+[ \t]*::[ \t]*[A-Z]\w*[ \t]*\([^\n{]*[;>][ \t\r]*$)",
        "is a Click configuration; slowpath insights reads the C++ source of an element (*.cc)",
    ),
    "csv": (
        rb"\A([^\n,;\t]{1,80}[,;\t]){1,200}[^\n,;\t]{0,80}\r?\n([^\n,;\t]{0,80}[,;\t]){0,200}-?[\d.]",
        "is CSV, not a program; slowpath fit reads measurements",
    ),
}
"""Texts that are not programs: for each extension, a pattern of a line, and an error text."""


_SOURCES = {*KINDS, "h", "hh", "hpp", "cc", "cpp", "cxx", "asm", "yaml", "yml", "json", "toml"}
"""For files with these extensions, the extension alone decides the kind."""


class Clang(NamedTuple):
    """Flags and limits for compiling C."""

    flags: tuple[str, ...] = ()
    seconds: float | None = None  # time limit for one file; None: the default
    until: float | None = None  # total deadline, by the monotonic clock; None: no limit
    memory_bytes: int | None = None  # None: a share of free memory, or no limit
    hidden: tuple[str, ...] = ()  # more flags, which the commands in errors lack
    pipelines: bool = False  # true: P4 programs become pipelines of DPDK's software switch


def kind_of(file: str, data: bytes) -> str | None:
    """Return the language of a source file: `c`, `p4`, `s`, `ll` or `bc`; None for other files."""
    if data.startswith(_ELF):
        return None
    if data.startswith(_BITCODE):
        return "bc"
    head = data[:HEAD]
    if re.search(_LISTING, head, re.MULTILINE):
        return None
    name = file.rpartition(".")[2].lower()
    # An empty file with this extension counts as P4, because errors of P4 then name a line.
    if name != "p4" and (b"\0" in head or not head.strip()):
        return None
    if name in KINDS and name != "bc":
        return name
    found = (kind for kind, line in _TEXTS.items() if re.search(line, head, re.MULTILINE))
    return next(found, None)


def advice_for(file: str, data: bytes, *, pipelines: bool = False) -> Coded | None:
    """Return an error with advice for a file of a known kind that is not a program; else None.

    For a packet capture, for example, the text has the option that reads it. `pipelines` is true if
    the command reads pipelines of DPDK's software switch.
    """
    if data.startswith(_CAPTURES):
        return Coded(
            codes.UNKNOWN_FILE_TYPE,
            "is a packet capture; name a program, and pass the capture to measure --pcap",
        )
    head = data[:HEAD]
    name = file.rpartition("/")[2].rpartition(".")
    extension = name[2].lower() if name[1] else ""
    if b"\0" in head or not head.strip() or extension in _SOURCES:
        return None
    found = next((kind for kind in _OTHERS if kind == extension), None)
    if found is None and not is_listing(head):
        looks = ((kind, pattern) for kind, (pattern, _) in _OTHERS.items())
        found = next((kind for kind, one in looks if re.search(one, head, re.MULTILINE)), None)
    if found is None or (pipelines and found == "spec"):
        return None
    return Coded(codes.UNKNOWN_FILE_TYPE, _OTHERS[found][1])


def is_pipeline(file: str, head: bytes) -> bool:
    """Return true if a file is a pipeline of DPDK's software switch, by its name or first bytes.

    `head` are the first bytes.
    """
    others = (".p4", ".c", ".asm")
    if head.startswith(_ELF) or is_listing(head) or file.endswith(others):
        return False
    named = file != STANDARD_INPUT and file.endswith(".spec")
    return named or (b"\0" not in head and _has_pipeline(head))


def _has_pipeline(head: bytes) -> bool:
    """Return true if a file's first bytes are those of a pipeline of DPDK's software switch."""
    return re.search(_OTHERS["spec"][0], head, re.MULTILINE) is not None


def not_an_object(data: bytes) -> Coded:
    """Return the error of a command that reads only BPF objects about another file."""
    if not data:
        return Coded(codes.FILE_EMPTY, "is empty; pass an object that clang -target bpf -c wrote")
    if is_listing(data[:HEAD]):
        return Coded(
            codes.NOT_EBPF_SOURCE, "is an NFP listing, not an object; slowpath bound analyses it"
        )
    if _has_pipeline(data[:HEAD]):
        return Coded(codes.UNKNOWN_FILE_TYPE, _OTHERS["spec"][1])
    return Coded(
        codes.UNKNOWN_FILE_TYPE,
        "is not an ELF file; pass an object that clang -target bpf -c wrote",
    )


def is_listing(head: bytes) -> bool:
    """Return true if a file is an assembly listing for a SmartNIC; `head` are its first bytes."""
    return not head.startswith(_ELF) and re.search(_LISTING, head, re.MULTILINE) is not None


def is_source(file: str) -> bool:
    """Return true if slowpath compiles this file (C, P4).

    The name decides; for standard input, the content.
    """
    if file == STANDARD_INPUT:
        return kind_of(file, read_program(file)) in ("c", "p4")
    return file.endswith((".c", ".p4"))


def is_p4(file: str) -> bool:
    """Return true if a file is a P4 program.

    The name decides; for standard input, the content.
    """
    if file == STANDARD_INPUT:
        return kind_of(file, read_program(file)) == "p4"
    return file.endswith(".p4")


class Provenance(TypedDict):
    """The version of the compiler, as a part of JSON documents about compiled programs."""

    compiler: NotRequired[str]
    """Version line of the compiler; absent if no source was compiled."""


def provenance(*, compiled: bool) -> Provenance:
    """Return the version of the compiler for a JSON document; empty if nothing was compiled."""
    if compiled:
        from slowpath.core.programs.compilers import CompilerError, find_compiler

        with suppress(CompilerError):
            return {"compiler": find_compiler().banner}
    return {}


def provenance_lines(document: Mapping[str, object]) -> Iterator[Line]:
    """Yield a line with the compiler's version, if the document has one."""
    if "compiler" in document:
        yield Line("")
        yield Line(one_line(f"compiled by {document['compiler']}"))


_LONGEST_TEXT = 200
"""Maximum length of a source line in the pipeline of a P4 program, in characters.

Equal to `LONGEST_TEXT` in crates/p4/src/swx.
"""


class Source(NamedTuple):
    """The lines of a source file, or the reason for not using them."""

    lines: Sequence[str]  # empty: file not found or not used
    remark: str | None

    def text(self, line: int) -> str | None:
        """Return the text of a line, counted from 1; None if it is unknown."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else None


def find_source(file: str, program: str, known: Mapping[int, str]) -> Source:
    """Search for a source file under its name in the debug information, and beside the program.

    `program` is the file of the program. `known` has the source lines that the object contains, by
    line number; a file that disagrees with them is not used.
    """
    from pathlib import Path

    remark = None
    folder = Path(program).parent
    for candidate in dict.fromkeys((Path(file), folder / file, folder / Path(file).name)):
        if not candidate.is_file():
            continue
        try:
            read = read_text(str(candidate)).split("\n")
        except InputError as problem:
            remark = f"{problem}; only the lines in the object are shown"
            continue
        wrong = next((n for n, text in known.items() if not _agrees(read, n, text)), None)
        if wrong is None:
            return Source([_printed(line) for line in read], None)
        remark = (
            f"{candidate} differs from the compiled source in line {wrong}; only the "
            "lines in the object are shown"
        )
    return Source((), remark)


def _printed(line: str) -> str:
    """Format a source line as the engine formats the lines that an object contains."""
    return line.rstrip().replace("\t", "    ")


def _agrees(lines: Sequence[str], number: int, text: str) -> bool:
    if not text:
        return number <= len(lines)  # no text in the object to compare with
    if number > len(lines):
        return False
    line, words = lines[number - 1].rstrip(), text.split()
    return words in (line.split(), line[:_LONGEST_TEXT].split())
