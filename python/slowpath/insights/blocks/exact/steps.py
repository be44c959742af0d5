"""The steps from C to BPF, each kept: LLVM's language, assembler, object.

The second and third are made from the first without further passes, so that all three have the same
blocks; the object is the one that clang makes at once (`tests/test_insights_blocks_exact.py`).
"""

import re
import tempfile
from pathlib import Path
from typing import NamedTuple

from slowpath.cli.errors import InputError, StoppedError
from slowpath.insights.preparation.brackets import enclosed, separated
from slowpath.programs.clang import OBJECT, Form, compile_c
from slowpath.programs.sources import Clang

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
