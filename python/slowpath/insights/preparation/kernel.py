"""Whether a source is for the kernel, by its text; what stands in comments says nothing of it."""

import re
from pathlib import Path

from slowpath.cli.inputs import read_program

_COMMENT = re.compile(
    rb"""/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.DOTALL
)
"""Comments; or what is in quotes, where there are none."""
_CONTEXT = re.compile(rb"\bxdp_md\b")
_MACRO = re.compile(rb'\bSEC\s*\(\s*"')
"""Of the kernel's headers. The attribute that it stands for is written in other sources, too."""
_ATTRIBUTE = re.compile(rb'\bsection\s*\(\s*"')
_INCLUDE = rb'^[ \t]*#[ \t]*include[ \t]*[<"]'
_LOCAL = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_MOST = 32
"""Files that are looked at of those that a source includes."""
_HELPERS = re.compile(_INCLUDE + rb"(?:bpf/)?(?:bpf_helpers|vmlinux)\.h\b", re.MULTILINE)
"""Headers that nothing but programs of the kernel includes."""
_KERNEL = re.compile(_INCLUDE + rb"linux/bpf\.h\b", re.MULTILINE)
_USER = re.compile(_INCLUDE + rb"(?:bpf/)?(?:libbpf|bpf)\.h\b", re.MULTILINE)
"""What loads programs has one of these beside it."""


def is_xdp(file: str) -> bool:
    """Whether a file is a source in C that has an XDP program, itself or in files beside it.

    What loads programs has none, whatever it shares with them.

    Raises:
        InputError: when it cannot be read.
    """
    code = _kernel_code(file)
    section = _MACRO.search(code) or _ATTRIBUTE.search(code)
    return section is not None and _CONTEXT.search(code) is not None


def _kernel_code(file: str) -> bytes:
    """The code of a source in C and of files beside it; nothing of what loads programs."""
    if Path(file).suffix != ".c" or _USER.search(_code(file)):
        return b""
    return _all_code(file)


def may_have_programs(file: str) -> bool:
    """Whether a source speaks of the kernel's programs: if it does not compile for BPF, it should.

    Raises:
        InputError: when it cannot be read.
    """
    code = _code(file)
    return any(one.search(code) for one in (_MACRO, _CONTEXT, _HELPERS))


def is_for_kernel(file: str) -> bool:
    """Whether a source in C that does not compile for this machine is meant for the kernel.

    It need not have a program: where it is cut off before its first one, what clang says of it as
    plain C is of no use.

    Raises:
        InputError: when it cannot be read.
    """
    code = _kernel_code(file)
    return any(one.search(code) for one in (_KERNEL, _HELPERS)) or is_xdp(file)


def _all_code(file: str) -> bytes:
    """The same with what a source includes of files beside it, some of them at most."""
    found, left = dict[Path, bytes](), [Path(file)]
    while left and len(found) < _MOST:
        one = left.pop()
        if one in found or (found and not one.is_file()):
            continue
        found[one] = _code(str(one))
        left += [one.parent / name.decode(errors="replace") for name in _LOCAL.findall(found[one])]
    return b"\n".join(found.values())


def _code(file: str) -> bytes:
    """A source without comments."""
    return _COMMENT.sub(rb" \1", read_program(file))
