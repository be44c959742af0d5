"""Steps from C or C++ to BPF, each kept: LLVM IR, assembler, object.

The second and third are made from the first without further passes, so that all three have the same
blocks; the object is the one that clang makes at once (`tests/test_insights_blocks_exact.py`).

clang reads the source as for this machine, so that the headers are those that it is written with,
and as `slowpath insights counts` has it; both are little-endian with pointers of 64 bits, so the
text of LLVM's language may then be for BPF. The passes run for BPF, as they would for a program.
"""

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from slowpath.core.errors import InputError, StoppedError
from slowpath.core.inputs import read_program
from slowpath.core.programs.clang import OBJECT, Form, compile_c
from slowpath.core.programs.sources import Clang
from slowpath.insights.source.framework import is_support
from slowpath.insights.source.modules import enclosed, separated
from slowpath.insights.source.sources import compile_source

TRIPLE, CPU = "bpf", "v3"
"""The name of BPF in LLVM, and the version that clang is told in `OBJECT`."""
LAYOUT = "e-m:e-p:64:64-i64:64-i128:128-n32:64-S128"
"""Of data in LLVM's language for BPF."""
NAMES = "-fno-discard-value-names"
NO_PASSES = ("-Xclang", "-disable-llvm-passes")
AS_IT_IS = (*OBJECT.words, "-w", *NO_PASSES)
"""Options for LLVM's language for BPF after its passes."""
_ORDERED = ("-Xclang", "-emit-llvm-uselists")
"""Keeps the order of uses, on which choices of LLVM's loop strength reduction depend."""
_LLVM = Form(
    (*OBJECT.words, NAMES, "-S", "-emit-llvm", *_ORDERED), "ll", "text of LLVM", kernel=True
)
_ASSEMBLER = Form((*AS_IT_IS, NAMES, "-S", "-x", "ir"), "s", "assembler", kernel=False)
AS_OBJECT = Form((*AS_IT_IS, NAMES, "-x", "ir"), "o", "object", kernel=False)
OPTIMISED = Form(
    (*OBJECT.words, "-w", NAMES, "-S", "-emit-llvm", "-x", "ir"),
    "ll",
    "text of LLVM",
    kernel=False,
)
"""Of LLVM's language for BPF before its passes, what they make."""
_GLOBAL_USES = re.compile(r"^uselistorder.*\n", re.MULTILINE)
"""The order of uses across functions, wrong as soon as a program is taken out."""
_BODY = re.compile(r"^define .*?^}$", re.MULTILINE | re.DOTALL)
_UNNAMED = re.compile(r"(%|^(?=\d+:))(\d+)\b", re.MULTILINE)
"""Values and blocks that only have a number."""
_LABEL = re.compile(r'^(?:"(?:[^"\\]|\\.)*"|[-\w.$]+):')
_NUMBERED = re.compile(r"%\d+$")
_PROGRAM = re.compile(r'^define [^@\n]*@("[^"]*"|[\w.$-]+)\([^\n]*\bsection "[^\n]*$', re.MULTILINE)
USED = re.compile(r"^@llvm\.(?:compiler\.)?used = .*\n", re.MULTILINE)
"""Names that passes must keep; none run any more."""


class Steps(NamedTuple):
    """A source on its way to BPF."""

    llvm: str  # after all passes, with names of blocks
    assembler: str
    object: bytes


def language(file: str, clang: Clang) -> str:
    """A source as LLVM's language for BPF, after the passes.

    Raises:
        InputError: when it does not compile.
        StoppedError: when the time is up before.
    """
    return named(_GLOBAL_USES.sub("", compile_c(file, clang, _LLVM).decode(errors="replace")))


def named(text: str) -> str:
    """The text with a name for each block: assembler does not mention those that have none.

    Names begin with `n.`, or with more points where the function has a variable `n`, whose values
    are `n.1` and so on.
    """
    return _BODY.sub(lambda body: _body_named(body[0]), _with_entries(text))


def _body_named(body: str) -> str:
    begin = "n."
    while re.search(rf"(?:%|^){re.escape(begin)}\d", body, re.MULTILINE):
        begin += "."
    return _UNNAMED.sub(rf"\g<1>{begin}\g<2>", body)


def _with_entries(text: str) -> str:
    """The text with labels for first blocks that have but a number, which LLVM leaves out."""
    lines = list[str]()
    for line in text.splitlines():
        before = lines[-1] if lines else ""
        if before.startswith("define ") and before.endswith("{") and not _LABEL.match(line):
            inside = enclosed(before[before.index("(", before.index("@")) :])
            count = sum(bool(_NUMBERED.search(one)) for one in separated(inside[1:-1]))
            lines.append(f"{count}:")
        lines.append(line)
    return "\n".join(lines) + "\n"


def programs(text: str) -> list[str]:
    """The functions that have a section of their own, which is how programs are written."""
    return [one.strip('"') for one in _PROGRAM.findall(text)]


def alone(text: str, program: str) -> str:
    """The text without the other programs."""

    def kept(body: re.Match[str]) -> str:
        name = _PROGRAM.match(body[0])
        return body[0] if name is None or name[1].strip('"') == program else ""

    return _BODY.sub(kept, USED.sub("", text))


def lowered(file: str, llvm: str, clang: Clang) -> Steps:
    """The further steps; `file` names the source in messages.

    Raises:
        InputError: when clang has no BPF for it, such as a call through a pointer.
        StoppedError: when the time is up before.
    """
    assembler = from_llvm(file, llvm, clang, _ASSEMBLER).decode(errors="replace")
    return Steps(llvm, assembler, from_llvm(file, llvm, clang, AS_OBJECT))


def from_llvm(file: str, llvm: str, clang: Clang, form: Form) -> bytes:
    """Compile LLVM's language with clang, without the user's flags; `file` is named in messages.

    Raises:
        InputError: when it cannot.
        StoppedError: when the time is up before.
    """
    with tempfile.TemporaryDirectory(prefix="slowpath-") as folder:
        path = Path(folder, f"{Path(file).stem}.ll")
        path.write_text(llvm)
        try:
            return compile_c(str(path), clang._replace(flags=()), form)
        except StoppedError:
            raise
        except InputError as problem:  # the command is of a file that nobody has
            reason = problem.reason.partition("; the command: ")[0]
            for nowhere in (f"{path}:", "<unknown>:0:0: "):
                reason = reason.replace(nowhere, "")
            raise InputError(file, f"no code for BPF: {reason}") from None


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
MACHINE = re.compile(r' "(?:target-cpu|target-features|tune-cpu)"="[^"]*"')
"""What attributes of functions say of the machine."""
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
    """A source in LLVM's language before any pass, as if it were for BPF.

    Raises:
        InputError: when it does not compile.
        StoppedError: when the time is up before.
    """
    text = compile_source(file, read_program(file), clang, _READ).decode(errors="replace")
    text = MACHINE.sub("", _TARGET.sub("", text))
    return f'target datalayout = "{LAYOUT}"\ntarget triple = "{TRIPLE}"\n{text}'


def optimised(file: str, text: str, roots: Iterable[str], clang: Clang) -> str:
    """The same after the passes for BPF; `roots` and what the headers run stay by themselves.

    Variables stay, too, where nothing of the module reads them: a control plane would.

    Raises:
        InputError: when clang cannot compile it.
        StoppedError: when the time is up before.
    """
    wanted = frozenset(roots)
    text = _VARIABLE.sub(r"\g<1>\g<2>", text)
    text = _DEFINE.sub(lambda one: _linked(one, wanted), text)
    made = from_llvm(file, text, clang, OPTIMISED)
    return named(made.decode(errors="replace"))


def packed(file: str, text: str, clang: Clang) -> bytes:
    """Text as bitcode, which other versions of LLVM read, too.

    Raises:
        InputError: when clang cannot read it.
        StoppedError: when the time is up before.
    """
    return from_llvm(file, text, clang, _BITCODE)


def for_here(text: str) -> str:
    """What the passes have made for BPF, as this machine can run it: the same blocks."""
    return _PASSED.sub(r"freeze \g<1>\g<2>", _TARGET.sub("", text))


def _linked(one: re.Match[str], wanted: frozenset[str]) -> str:
    """The head of a function that others may call, or that only the module knows."""
    bare = one[3].strip('"')
    if bare not in wanted and is_support(bare, ""):
        return one[0]
    linkage = "" if bare in wanted else "internal "
    return f"define {linkage}{_LINKAGE.sub('', one[1])}{_COMDAT.sub('', one[2])}"
