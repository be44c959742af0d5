"""What LLVM's back end for BPF does not take, calls most of all, exchanged for what it does.

Calls pass at most five numbers, functions take at most five, and bytes are copied one by one only
where it is known how many; what is left out is loaded from the stack, or is not passed. Atomic
additions are ordered with nothing else, as they are for the card; divisions have no sign.
"""

import re

from slowpath.insights.preparation.brackets import enclosed, separated

_MOST = 5
_COPIES = 1 << 10
"""Bytes that the back end copies in pieces, where they are aligned."""
_CALL = re.compile(r'(\bcall [^@\n]*?)(@(?:"(?:[^"\\]|\\.)*"|[\w.$-]+)|%[\w.$-]+)(?=\()')
_DEFINE = re.compile(r'^(define [^\n]*?@(?:"(?:[^"\\]|\\.)*"|[\w.$-]+))(?=\()')
_MEMORY = re.compile(r"@llvm\.(memcpy|memmove|memset)\.[\w.]+$")
_LABEL = re.compile(r'^(?:"(?:[^"\\]|\\.)*"|[-\w.$]+):')
_SIGNED = re.compile(r" = s(div|rem) ")
_MEMORY_PASSED = re.compile(r' (?:sret|byval)\((?:"[^"\n]*"|[^()"\n])*\)')
"""That a pointer is to where a structure is returned or passed."""
_ORDERED = re.compile(r" (?:seq_cst|acq_rel|acquire|release)(?=$|[ ,])")
"""What newer versions of LLVM read memory for, also where nobody wants what was there."""
_STOOD = "slowpath_"
"""What the names of functions begin with that stand in for copies of unknown length."""


def legal(text: str) -> str:
    """A module that the back end takes, as far as calls go."""
    lines, stood, loads = list[str](), set[str](), list[str]()
    for line in _MEMORY_PASSED.sub("", text).splitlines():
        if loads and not _LABEL.match(line):
            lines, loads = lines + loads, []
        if line.startswith("define "):
            head, *loads = _defined(line)
            lines.append(head)
        elif " = sdiv " in line or " = srem " in line:
            lines.append(_SIGNED.sub(r" = u\1 ", line))
        elif " = atomicrmw " in line:
            lines.append(_ORDERED.sub(" monotonic", line))
        elif "call " in line and line.startswith("  "):
            lines.append(_called(line, stood))
        else:
            lines.append(line)
    lines += [f"declare void @{name}(ptr, ptr, i64)" for name in sorted(stood)]
    return "\n".join(lines) + "\n"


def _defined(line: str) -> list[str]:
    """The head of a function, and loads of what it gets beyond the fifth parameter."""
    head = _DEFINE.match(line)
    if head is None:
        return [line]
    inside = enclosed(line[head.end() :])
    given = separated(inside[1:-1]) if inside != "()" else []
    if len(given) <= _MOST or not line.rstrip().endswith("{"):
        return [line]
    rest = line[head.end() + len(inside) :]
    lines = [f"{head[1]}({', '.join(given[:_MOST])}){rest}"]
    for number, one in enumerate(given[_MOST:]):
        words = one.split()
        lines += [
            f"  %slowpath.{number} = alloca i64, align 8",
            f"  {words[-1]} = load volatile {words[0]}, ptr %slowpath.{number}, align 8",
        ]
    return lines


def _called(line: str, stood: set[str]) -> str:
    found = _CALL.search(line)
    if found is None:
        return line
    inside = enclosed(line[found.end() :])
    given = separated(inside[1:-1])
    memory = _MEMORY.match(found[2])
    if memory:
        return _copied(line, given, memory[1], stood)
    if len(given) <= _MOST or found[2].startswith("@llvm."):
        return line
    cut = re.sub(r" \([^()]*\) $", " ", found[1])  # the type, where it says what is passed
    rest = line[found.end() + len(inside) :]
    return f"{line[: found.start()]}{cut}{found[2]}({', '.join(given[:_MOST])}){rest}"


def _copied(line: str, given: list[str], what: str, stood: set[str]) -> str:
    length = given[2].split()[-1]
    aligned = [int(one) for part in given[:2] for one in re.findall(r"\balign (\d+)", part)] or [1]
    if length.isdigit() and int(length) <= _COPIES * min(8, *aligned) // 8:
        return line
    if "ptr addrspace" in line:
        return line
    name = f"{_STOOD}{what}"
    stood.add(name)
    to = given[0].split()[-1]
    other = given[1].split()[-1] if what != "memset" else to
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}call void @{name}(ptr {to}, ptr {other}, i64 {length})"
