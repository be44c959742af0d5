"""Compiles C or C++ to BPF, and keeps each stage: LLVM IR, assembly and object.

Assembly and object come from the LLVM IR without additional passes, so all three have the same
blocks. The object equals the one that clang makes in a single step
(`tests/insights/test_insights_blocks.py`).

Functions that are not BPF programs are first compiled for this machine, as in
`slowpath insights counts`, so that clang finds the headers that they need. Both machines are
little-endian with 64-bit pointers, so the LLVM IR is also valid for BPF. The optimisation passes
then run for BPF.
"""

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError, StoppedError
from slowpath.core.inputs import read_program
from slowpath.core.programs.clang import OBJECT, Form, compile_c
from slowpath.core.programs.sources import Clang
from slowpath.insights.source.modules import bracketed_prefix, split_at_commas
from slowpath.insights.source.sources import compile_source, is_support

TRIPLE, CPU = "bpf", "v3"
"""BPF's name in LLVM, and the version of its instruction set that `OBJECT` requests."""
LAYOUT = "e-m:e-p:64:64-i64:64-i128:128-n32:64-S128"
"""Data layout string of LLVM for BPF."""
NAMES = "-fno-discard-value-names"
NO_PASSES = ("-Xclang", "-disable-llvm-passes")
AS_IT_IS = (*OBJECT.flags, "-w", *NO_PASSES)
"""Options with which clang compiles LLVM IR for BPF without additional passes."""
_ORDERED = ("-Xclang", "-emit-llvm-uselists")
"""Options that keep the order of uses, on which LLVM's loop strength reduction depends."""
_LLVM = Form(
    (*OBJECT.flags, NAMES, "-S", "-emit-llvm", *_ORDERED), "ll", "text of LLVM", kernel=True
)
_ASSEMBLER = Form((*AS_IT_IS, NAMES, "-S", "-x", "ir"), "s", "assembler", kernel=False)
AS_OBJECT = Form((*AS_IT_IS, NAMES, "-x", "ir"), "o", "object", kernel=False)
OPTIMISED = Form(
    (*OBJECT.flags, "-w", NAMES, "-S", "-emit-llvm", "-x", "ir"),
    "ll",
    "text of LLVM",
    kernel=False,
)
"""Output form of clang: LLVM IR for BPF after the passes, made from LLVM IR before them."""
_GLOBAL_USES = re.compile(r"^uselistorder.*\n", re.MULTILINE)
"""Order of uses across functions; it becomes wrong when a BPF program is removed from the text."""
_BODY = re.compile(r"^define .*?^}$", re.MULTILINE | re.DOTALL)
_UNNAMED = re.compile(r"(%|^(?=\d+:))(\d+)\b", re.MULTILINE)
"""Pattern for values and basic blocks that have a number instead of a name."""
_LABEL = re.compile(r'^(?:"(?:[^"\\]|\\.)*"|[-\w.$]+):')
_NUMBERED = re.compile(r"%\d+$")
_PROGRAM = re.compile(r'^define [^@\n]*@("[^"]*"|[\w.$-]+)\([^\n]*\bsection "[^\n]*$', re.MULTILINE)
USED = re.compile(r"^@llvm\.(?:compiler\.)?used = .*\n", re.MULTILINE)
"""Pattern for the list of symbols that passes must keep; it is removed after the last pass."""


class Steps(NamedTuple):
    """A source at each stage of its compilation to BPF: LLVM IR, assembly and object."""

    llvm: str  # after all passes, with names of blocks
    assembler: str
    object: bytes


def compile_to_ir(file: str, clang: Clang) -> str:
    """Compile a source to LLVM IR for BPF, after the optimisation passes.

    Raises:
        InputError: if the source does not compile.
        StoppedError: if the deadline passes first.
    """
    return named(_GLOBAL_USES.sub("", compile_c(file, clang, _LLVM).decode(errors="replace")))


def named(text: str) -> str:
    """Give each basic block in the LLVM IR `text` a name, because assembly omits unnamed blocks.

    Names begin with `n.`, or with more dots if the function already has values `n.1` and so on.
    """
    return _BODY.sub(lambda body: _body_named(body[0]), _with_entries(text))


def _body_named(body: str) -> str:
    begin = "n."
    while re.search(rf"(?:%|^){re.escape(begin)}\d", body, re.MULTILINE):
        begin += "."
    return _UNNAMED.sub(rf"\g<1>{begin}\g<2>", body)


def _with_entries(text: str) -> str:
    """Add a label to the first block of each function in LLVM IR, if it has no name.

    LLVM omits such labels when it writes LLVM IR as text.
    """
    lines = list[str]()
    for line in text.splitlines():
        before = lines[-1] if lines else ""
        if before.startswith("define ") and before.endswith("{") and not _LABEL.match(line):
            inside = bracketed_prefix(before[before.index("(", before.index("@")) :])
            count = sum(bool(_NUMBERED.search(one)) for one in split_at_commas(inside[1:-1]))
            lines.append(f"{count}:")
        lines.append(line)
    return "\n".join(lines) + "\n"


def programs(text: str) -> list[str]:
    """Return the names of the BPF programs in the LLVM IR `text`.

    A BPF program is a function that declares a section.
    """
    return [one.strip('"') for one in _PROGRAM.findall(text)]


def without_other_programs(text: str, program: str) -> str:
    """Remove all BPF programs except `program` from LLVM IR; other functions stay.

    The compiler may reject the removed programs.
    """

    def kept(body: re.Match[str]) -> str:
        name = _PROGRAM.match(body[0])
        return body[0] if name is None or name[1].strip('"') == program else ""

    return _BODY.sub(kept, USED.sub("", text))


def lowered(file: str, llvm: str, clang: Clang) -> Steps:
    """Compile LLVM IR for BPF to assembly and to an object; error messages name `file`.

    Raises:
        InputError: if clang cannot compile the code for BPF, for example a call through a pointer.
        StoppedError: if the deadline passes first.
    """
    assembler = from_llvm(file, llvm, clang, _ASSEMBLER).decode(errors="replace")
    return Steps(llvm, assembler, from_llvm(file, llvm, clang, AS_OBJECT))


def from_llvm(file: str, llvm: str, clang: Clang, form: Form) -> bytes:
    """Compile LLVM IR with clang to the output `form`, without the user's compiler flags.

    Error messages name `file`.

    Raises:
        InputError: if clang cannot compile the LLVM IR.
        StoppedError: if the deadline passes first.
    """
    with tempfile.TemporaryDirectory(prefix="slowpath-") as folder:
        path = Path(folder, f"{Path(file).stem}.ll")
        path.write_text(llvm)
        try:
            return compile_c(str(path), clang._replace(flags=()), form)
        except StoppedError:
            raise
        except InputError as problem:  # omit the command, as it names a temporary file
            reason = problem.reason.partition("; the command: ")[0]
            for location in (f"{path}:", "<unknown>:0:0: "):
                reason = reason.replace(location, "")
            raise InputError(
                codes.NOT_PREDICTABLE, file, f"clang cannot compile the source for BPF: {reason}"
            ) from None


_READ = Form(
    (
        *("-O2", "-g", "-w", "-S", "-emit-llvm", "-femit-all-decls", NAMES),
        *("-fno-stack-protector", "-U_FORTIFY_SOURCE", *NO_PASSES),
    ),
    "ll",
    "text of LLVM",
    kernel=False,
)
_BITCODE = Form((*AS_IT_IS, "-emit-llvm", "-x", "ir"), "bc", "bitcode", kernel=False)
_TARGET = re.compile(r'^target (?:triple|datalayout) = ".*"\n', re.MULTILINE)
TARGET_ATTRIBUTES = re.compile(r' "(?:target-cpu|target-features|tune-cpu)"="[^"]*"')
"""Pattern for attributes of functions that name the target machine."""
_DEFINE = re.compile(r'^define ([^@\n]*)(@("[^"]*"|[\w.$-]+)\(.*)$', re.MULTILINE)
_LINKAGE = re.compile(
    r"\b(?:internal|private|linkonce_odr|linkonce|weak_odr|weak|hidden|protected|dso_local|"
    r"available_externally) "
)
_COMDAT = re.compile(r" comdat(?:\(\$[^)]*\))?(?= )")
_VARIABLE = re.compile(r"^(@\S+ = )internal ((?:\w+ )*?global )", re.MULTILINE)
_PASSED = re.compile(
    r"(?:tail )?call (?:\w+ )*?\S+ @llvm\.bpf\.passthrough\.[\w.]+"
    r"\(i32 (?:noundef )?\d+, (\S+ )(?:noundef )?([^)]*)\)"
)


def read(file: str, clang: Clang) -> str:
    """Compile a source to LLVM IR for BPF, before the optimisation passes.

    Raises:
        InputError: if the source does not compile.
        StoppedError: if the deadline passes first.
    """
    text = compile_source(file, read_program(file), clang, _READ).decode(errors="replace")
    text = TARGET_ATTRIBUTES.sub("", _TARGET.sub("", text))
    return f'target datalayout = "{LAYOUT}"\ntarget triple = "{TRIPLE}"\n{text}'


def optimise_for_bpf(file: str, text: str, roots: Iterable[str], clang: Clang) -> str:
    """Run the optimisation passes for BPF on the LLVM IR `text`; `file` is the source.

    The functions `roots` and the support functions of slowpath's headers are not inlined. Variables
    that the module never reads stay, because a control plane may read them.

    Raises:
        InputError: if clang cannot compile the LLVM IR.
        StoppedError: if the deadline passes first.
    """
    symbols = frozenset(roots)
    text = _VARIABLE.sub(r"\g<1>\g<2>", text)
    text = _DEFINE.sub(lambda head: _linked(head, symbols), text)
    return named(from_llvm(file, text, clang, OPTIMISED).decode(errors="replace"))


def packed(file: str, text: str, clang: Clang) -> bytes:
    """Convert LLVM IR from text to bitcode, which other versions of LLVM can also read.

    Raises:
        InputError: if clang cannot read the text.
        StoppedError: if the deadline passes first.
    """
    return from_llvm(file, text, clang, _BITCODE)


def for_host(text: str) -> str:
    """Convert optimised LLVM IR for BPF to LLVM IR for this machine, with the same basic blocks.

    The program can then run here, and its blocks can be counted.
    """
    return _PASSED.sub(r"freeze \g<1>\g<2>", _TARGET.sub("", text))


def _linked(head: re.Match[str], external: frozenset[str]) -> str:
    """Change the linkage in the first line of a function definition in LLVM IR.

    Functions in `external` get external linkage. All others get internal linkage, except support
    functions of slowpath's headers, which stay as they are.
    """
    symbol = head[3].strip('"')
    if symbol not in external and is_support(symbol, ""):
        return head[0]
    linkage = "" if symbol in external else "internal "
    return f"define {linkage}{_LINKAGE.sub('', head[1])}{_COMDAT.sub('', head[2])}"
