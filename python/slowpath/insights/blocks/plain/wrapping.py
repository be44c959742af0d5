"""An XDP program around a function, in LLVM's text: the function's own blocks stay as they are.

Blocks in front of them read where the packet begins and ends and find the state; they are
recognised by their names. Whatever others than the function reach is left out: BPF may not have it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.insights.blocks.plain.framework import (
    FETCHED,
    RECEIVE,
    as_called,
    framework,
)
from slowpath.insights.blocks.plain.heads import (
    APART,
    MBUF,
    PULLED,
    further,
    head,
    returned,
    state,
)
from slowpath.insights.preparation.brackets import separated
from slowpath.insights.preparation.entry import Entry
from slowpath.insights.preparation.functions import Function

_WORD = 8
_FUNCTION = re.compile(r'^define ([^@]*)@("[^"]*"|[\w.$-]+)\((.*)\)([^()]*)\{$')
_LABEL = re.compile(r'^("[^"]*"|[\w.$-]+):')
_VARIABLE = re.compile(r'^@("[^"]*"|[\w.$-]+) = (.*)$')
_DECLARED = re.compile(r'^declare [^@]*@("[^"]*"|[\w.$-]+)\(')
_NAMED = re.compile(r'@("[^"]*"|[\w.$-]+)')
_CALLED = re.compile(r'\bcall [^@\n]*@("[^"]*"|[\w.$-]+)\(')
_DEBUG = re.compile(r",? !(?:dbg|llvm\.loop|DIAssignID|heapallocsite|srcloc) !\d+")
_DEBUGS = re.compile(r"^\s*(?:#dbg_|(?:tail )?call void @llvm\.dbg\.)")
_GROUP = re.compile(r"#\d+")
_PLACE = re.compile(r" = alloca (?!.*, i\d+ %)")
"""Local variables of a known size, which belong to the first block."""
_FETCHED = re.compile(rf"^(\s*%\S+ = )(?:tail )?call [^@]*@{FETCHED}\(")
_PARAMETER = re.compile(r'(%(?:"[^"]*"|[\w.$-]+))$')
_PACKETS = re.compile(r"^@slowpath_click_packets = [^\[]*\[\d+ x \[(\d+) x i8\]\]", re.MULTILINE)
_ATTRIBUTES = re.compile(
    r"\b(?:dso_local|internal|weak|weak_odr|linkonce_odr|hidden|fastcc|noundef|signext|zeroext|"
    r"nonnull|noalias|range\([^)]*\)|align \d+|dereferenceable(?:_or_null)?\(\d+\))(?= |$)"
)

_EXTENDED = re.compile(r"(\bcall [^@(]*?)\b(?:zero|sign)ext ")
"""Results that the called function has extended on this machine; of BPF's, the caller does."""


class Wrapped(NamedTuple):
    """A module with one program."""

    text: str
    framework: dict[str, str]
    """By symbol, how the source calls what is called and has no body."""
    apart: dict[tuple[str, str], Counter[str]]
    """By function and block, what BPF has not."""


def wrapped(
    file: str, text: str, functions: Mapping[str, Function], entry: Entry, sizes: Mapping[str, int]
) -> Wrapped:
    """The module with nothing but a program of the entry and what it reaches.

    `sizes` are bytes of variables.

    Raises:
        InputError: when it cannot be a program.
    """
    return _Wrapping(file, text, functions, entry, sizes).done()


class _Wrapping:
    def __init__(
        self,
        file: str,
        text: str,
        functions: Mapping[str, Function],
        entry: Entry,
        sizes: Mapping[str, int],
    ) -> None:
        self._file, self._text, self._functions, self._entry = file, text, functions, entry
        self._sizes = sizes
        self._all = framework(functions)
        self._called = dict[str, str]()
        self._apart = dict[tuple[str, str], Counter[str]]()
        self._declared = dict[str, str]()

    def done(self) -> Wrapped:
        kept = self._kept()
        bodies, others = list[str](), list[str]()
        lines = iter(self._text.splitlines())
        for line in lines:
            begun = _FUNCTION.match(line)
            if begun is None:
                others.append(line)
                continue
            body = list(_until_end(lines))
            name = begun[2].strip('"')
            if name in kept:
                bodies += self._function(name, begun, body)
        named = {one.strip('"') for line in bodies for one in _NAMED.findall(line)}
        around = [made for line in others for made in self._around(line, named)]
        declared = [one for name, one in self._declared.items() if name in named]
        size = self._sizes.get(self._entry.element or "", 0)
        lent = [*state(self._entry, size), *further(self._entry)]
        text = "\n".join([*around, *lent, *declared, *bodies, ""])
        return Wrapped(text, self._called, self._apart)

    def _kept(self) -> set[str]:
        """The functions that the program has: what a framework does is none of them."""
        first = self._entry.function.name
        found, left = {first}, [first]
        if self._entry.click and RECEIVE in self._functions:
            found.add(RECEIVE)
        while left:
            calls = self._functions[left.pop()].calls
            new = {one for one in calls if one in self._functions and one not in self._all} - found
            found |= new
            left += new
        return found

    # --- what is around functions ----------------------------------------------------------------

    def _around(self, line: str, named: set[str]) -> Iterator[str]:
        variable, declared = _VARIABLE.match(line), _DECLARED.match(line)
        if variable:
            name = variable[1].strip('"')
            if name in named and not name.startswith("llvm."):
                yield self._variable(name, variable)
        elif declared:
            name = declared[1].strip('"')
            if name not in self._called and "llvm.dbg." not in name:
                yield line
        elif not line.startswith(("!llvm.dbg.cu", "$")):
            yield line

    def _variable(self, name: str, variable: re.Match[str]) -> str:
        """A variable: constants with what is in them, as long as that is no address."""
        said = _DEBUG.sub("", variable[2])
        if re.search(r"\bconstant\b", said) and "@" not in said and "external" not in said:
            said = re.sub(r", comdat(?:\(\$[^)]*\))?", "", said)
            return f"@{variable[1]} = {said}"
        size = self._sizes.get(name, _WORD)
        return f"@{variable[1]} = dso_local global [{size} x i8] zeroinitializer, align 16"

    # --- functions -------------------------------------------------------------------------------

    def _function(self, name: str, begun: re.Match[str], body: list[str]) -> Iterator[str]:
        kind = _ATTRIBUTES.sub("", begun[1]).strip()
        group = _GROUP.search(begun[4])
        attributes = f" {group[0]}" if group else ""
        first = next(iter(body), "")
        if not _LABEL.match(first):
            body.insert(0, "slowpath_first:")
        if name == self._entry.function.name:
            made = "i32" if kind == "void" else kind
            lines = [one for one in body if not _PLACE.search(one)]
            places = [one for one in body if _PLACE.search(one)]
            given = f"(ptr %{APART}context){attributes}"
            yield f'define dso_local {made} @{begun[2]}{given} section "xdp" {{'
            yield from self._head(begun[3], made, [_DEBUG.sub("", one) for one in places], lines[0])
            if kind == "void":
                lines = [re.sub(r"^  ret void\b", "  ret i32 0", one) for one in lines]
            kind = made
        else:
            lines = body
            yield f"define dso_local {kind} @{begun[2]}({begun[3]}){attributes} {{"
        yield from self._body(name, kind, lines)
        yield "}"

    def _body(self, name: str, kind: str, lines: Iterable[str]) -> Iterator[str]:
        block = ""
        for line in lines:
            label = _LABEL.match(line)
            if label:
                block = label[1].strip('"')
            if _DEBUGS.match(line):
                continue
            made = as_called(_EXTENDED.sub(r"\1", _DEBUG.sub("", line)))
            if made.apart is not None:
                known = self._apart.setdefault((name, block), Counter())
                known[f"{made.apart}; counted as unsigned"] += 1
            if made.calls is not None:
                self._called[made.calls[0]] = made.calls[1]
            if made.text is not None:
                text = re.sub(r"^  unreachable\b", f"  {returned(kind)}", made.text)
                self._declare(text)
                fetched = _FETCHED.match(text) if name == self._entry.function.name else None
                if fetched:  # a packet as those that come by themselves
                    yield f"  call void @{FETCHED}()"
                    text = f"{fetched[1]}getelementptr i8, ptr {PULLED}, i64 0"
                yield text

    def _declare(self, line: str) -> None:
        """Functions without bodies, as the first call has them."""
        for called in _CALLED.finditer(line):
            name = called[1].strip('"')
            known = self._functions.get(name)
            if name.startswith("llvm.") or (known is not None and name not in self._all):
                continue
            self._called.setdefault(name, self._all.get(name, name))
            self._declared.setdefault(name, f"declare void @{called[1]}(...)")

    def _head(self, parameters: str, kind: str, places: list[str], first: str) -> Iterator[str]:
        """The program's own blocks, with the local variables of all."""
        names = [found[1] for one in separated(parameters) if (found := _PARAMETER.search(one))]
        if len(names) != len(self._entry.roles):
            raise InputError(self._file, "internal error: parameters are not understood")
        packet = _PACKETS.search(self._text) if self._entry.click else None
        label = _LABEL.match(first)
        yield f"{APART}head:"
        yield from places
        size = MBUF if self._entry.dpdk else int(packet[1]) if packet else 0
        yield from head(self._entry, names, size, label[1] if label else "", kind)


def _until_end(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line == "}":
            return
        if line.strip() and not line.startswith(";"):
            yield line
