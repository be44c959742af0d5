"""The steps from a plain function in C or C++ to LLVM's language for BPF.

clang reads the source as for this machine, so that the headers are those that it is written with,
and as `slowpath insights counts` has it; both are little-endian with pointers of 64 bits, so the
text of LLVM's language may then be for BPF. The passes run for BPF, as they would for a program.
"""

import re
from collections.abc import Iterable

from slowpath.cli.inputs import read_program
from slowpath.insights.blocks.exact.steps import (
    AS_IT_IS,
    LAYOUT,
    NAMES,
    NO_PASSES,
    OPTIMISED,
    TRIPLE,
    from_llvm,
    named,
)
from slowpath.insights.preparation.framework import is_support
from slowpath.insights.preparation.sources import compile_source
from slowpath.programs.clang import Form
from slowpath.programs.sources import Clang

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
