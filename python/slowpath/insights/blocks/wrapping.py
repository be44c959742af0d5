"""Wraps a plain function as an XDP program, in LLVM IR, to compile it for the SmartNIC.

The function gets its packet from the context of the program, which has the packet's start and end.
Click's packet object is on the stack, the object of a method is the only element of an array map,
and other pointer parameters point to variables.

Added blocks, whose names begin with `ADDED`, read the ends of the packet and find the state. Code
that the function does not reach is left out, because BPF may not support it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.insights.source.calls import FETCHED, RECEIVE, framework, rewrite_line
from slowpath.insights.source.entry import Entry, Role
from slowpath.insights.source.functions import Function
from slowpath.insights.source.modules import split_at_commas
from slowpath.insights.source.pointer_parameters import PointerTarget

ADDED = "slowpath."
"""Prefix of the names of blocks and values that the wrapper adds."""
_STATE = "slowpath_state"
_TARGET = "slowpath_given_"
"""Name prefix of variables that pointer parameters point to."""
MBUF = 128
"""Size of `struct rte_mbuf` in bytes; like the next two constants, from rte_mbuf.h of slowpath's
headers.
"""
_HEADROOM, _LARGEST_PACKET = 128, 16384
_LARGEST = 1 << 24
"""Limit on the size of an element in its map, in bytes."""
_WORD, _WHOLE = 4, 64
_MIN_PACKET = 1
"""Smallest packet in bytes that the wrapper accepts; the function has its own checks."""
_ENDS = f"""\
  %{ADDED}first = load i32, ptr %{ADDED}context, align 4
  %{ADDED}second = getelementptr i8, ptr %{ADDED}context, i64 4
  %{ADDED}last = load i32, ptr %{ADDED}second, align 4
  %{ADDED}begins = zext i32 %{ADDED}first to i64
  %{ADDED}ends = zext i32 %{ADDED}last to i64
  %{ADDED}data = inttoptr i64 %{ADDED}begins to ptr
  %{ADDED}end = inttoptr i64 %{ADDED}ends to ptr
  %{ADDED}least = getelementptr i8, ptr %{ADDED}data, i64 {_MIN_PACKET}
  %{ADDED}short = icmp ugt ptr %{ADDED}least, %{ADDED}end"""


PULLED = f"%{ADDED}packet"
"""Stands for the packet object if the function fetches the packet itself."""


def head(entry: Entry, names: Sequence[str], packet: int, begin: str, result: str) -> Iterator[str]:
    """Yield the LLVM IR that the wrapper adds before the first block of the function `entry`.

    `names` are the names of the parameters, `packet` is the size of a packet object in bytes (0:
    none), `begin` is the name of the first block, and `result` is the function's return type.
    """
    named = dict(zip(entry.roles, names, strict=True))
    kept = named.get("packet") or named.get("mbuf") or (PULLED if packet else None)
    yield from _ENDS.splitlines()
    if kept is not None:
        yield f"  {kept} = alloca [{packet} x i8], align 8"
    if "element" in entry.roles:
        yield f"  %{ADDED}key = alloca i32, align 4"
        yield f"  store i32 0, ptr %{ADDED}key, align 4"
    targets = {one.place: one for one in entry.targets}
    parameters = zip(entry.roles, entry.function.parameters, names, strict=True)
    for at, (role, one, name) in enumerate(parameters):
        if at in targets:
            yield f"  {name} = getelementptr i8, ptr {_target(targets[at])}, i64 0"
        else:
            yield from _parameter(role, name, one.bits)
    if "burst" in named:
        yield f"  {named['burst']} = alloca ptr, align 8"
        yield f"  store ptr {kept}, ptr {named['burst']}, align 8"
    if kept is not None and entry.dpdk:
        yield from _mbuf(kept)
    elif kept is not None:
        yield f"  call void @{RECEIVE}(ptr {kept}, ptr %{ADDED}data, ptr %{ADDED}end)"
    yield f"  br i1 %{ADDED}short, label %{ADDED}none, label %{begin}"
    yield f"{ADDED}none:"
    yield f"  {returned(result)}"


def _mbuf(kept: str) -> Iterator[str]:
    """Yield LLVM IR that initialises the `struct rte_mbuf` at the address `kept`."""
    room = f"getelementptr i8, ptr %{ADDED}data, i64 -{_HEADROOM}"
    yield f"  %{ADDED}buffer = {room}"
    yield f"  %{ADDED}size = sub i64 %{ADDED}ends, %{ADDED}begins"
    yield f"  %{ADDED}whole = trunc i64 %{ADDED}size to i32"
    yield f"  %{ADDED}short.whole = trunc i64 %{ADDED}size to i16"
    fields = {
        **{("i64", at): "0" for at in range(8, MBUF, 8)},
        ("ptr", 0): f"%{ADDED}buffer",  # buf_addr
        ("i16", 16): str(_HEADROOM),  # data_off
        ("i16", 18): "1",  # refcnt
        ("i16", 20): "1",  # nb_segs
        ("i32", 36): f"%{ADDED}whole",  # pkt_len
        ("i16", 40): f"%{ADDED}short.whole",  # data_len
        ("i16", 54): str(_LARGEST_PACKET),  # buf_len
    }
    for number, ((kind, at), initial) in enumerate(fields.items()):
        yield f"  %{ADDED}at{number} = getelementptr i8, ptr {kept}, i64 {at}"
        aligned = 8 if kind == "ptr" else int(kind[1:]) // 8
        yield f"  store {kind} {initial}, ptr %{ADDED}at{number}, align {aligned}"


def _target(one: PointerTarget) -> str:
    """Return the LLVM name of the variable that a pointer parameter of the function points to."""
    if one.type is None:
        return "null"
    return f'@"{one.variables[0]}"' if one.variables else f"@{_TARGET}{one.place}"


def further(entry: Entry) -> Iterator[str]:
    """Yield definitions of the variables to which pointer parameters of `entry` point.

    Variables that the module already defines are left out.
    """
    for one in entry.targets:
        if one.type is not None and not one.variables:
            kind = f"[{one.type.size} x i8]"
            yield f"@{_TARGET}{one.place} = dso_local global {kind} zeroinitializer, align 16"


def state(entry: Entry, size: int) -> Iterator[str]:
    """Yield the definition of the BPF map that contains the object of a method.

    The object has `size` bytes. For a function that is not a method, yield nothing.
    """
    if "element" not in entry.roles:
        return
    size = max(_WORD, min(size, _LARGEST)) // _WORD * _WORD
    values = f"{{ i32 2, i32 4, i32 {size}, i32 1, i32 0 }}"
    kinds = "{ i32, i32, i32, i32, i32 }"
    yield f'@{_STATE} = dso_local global {kinds} {values}, section "maps", align 4'


def returned(kind: str) -> str:
    """Return an LLVM instruction that returns some value of the type `kind`, mostly 0."""
    if kind == "void":
        return "ret void"
    if kind == "ptr":
        return "ret ptr null"
    return f"ret {kind} {0 if re.fullmatch(r'i[0-9]+', kind) else 'zeroinitializer'}"


def _parameter(role: Role, name: str, bits: int) -> Iterator[str]:
    """Yield LLVM IR that defines the parameter `name` of the wrapped function.

    Its value depends on its `role`, such as the length of the packet. `bits` is the width of an
    integer.
    """
    match role:
        case "bytes":
            yield f"  {name} = getelementptr i8, ptr %{ADDED}data, i64 0"
        case "end":
            yield f"  {name} = getelementptr i8, ptr %{ADDED}end, i64 0"
        case "time":  # any number will do
            yield f"  {name} = sub i64 %{ADDED}ends, %{ADDED}begins"
        case "length":
            yield f"  %{ADDED}length = sub i64 %{ADDED}ends, %{ADDED}begins"
            if bits == _WHOLE:
                yield f"  {name} = add i64 %{ADDED}length, 0"
            else:
                yield f"  {name} = trunc i64 %{ADDED}length to i{bits}"
        case "port":
            yield f"  {name} = add i{bits} 0, 0"
        case "count":
            yield f"  {name} = add i{bits} 0, 1"
        case "element":
            passed = f"(ptr @{_STATE}, ptr %{ADDED}key)"
            yield f"  {name} = call ptr inttoptr (i64 1 to ptr){passed}"


_WRAPPING_WORD = 8
_FUNCTION = re.compile(r'^define ([^@]*)@("[^"]*"|[\w.$-]+)\((.*)\)([^()]*)\{$')
_LABEL = re.compile(r'^("[^"]*"|[\w.$-]+):')
_VARIABLE = re.compile(r'^@("[^"]*"|[\w.$-]+) = (.*)$')
_DECLARED = re.compile(r'^declare [^@]*@("[^"]*"|[\w.$-]+)\(')
_NAMED = re.compile(r'@("[^"]*"|[\w.$-]+)')
_CALL = re.compile(r'\bcall [^@\n]*@("[^"]*"|[\w.$-]+)\(')
_DEBUG = re.compile(r",? !(?:dbg|llvm\.loop|DIAssignID|heapallocsite|srcloc) !\d+")
_DEBUGS = re.compile(r"^\s*(?:#dbg_|(?:tail )?call void @llvm\.dbg\.)")
_GROUP = re.compile(r"#\d+")
_PLACE = re.compile(r" = alloca (?!.*, i\d+ %)")
"""Local variables of constant size, which must be in the first block."""
_FETCHED = re.compile(rf"^(\s*%\S+ = )(?:tail )?call [^@]*@{FETCHED}\(")
_PARAMETER = re.compile(r'(%(?:"[^"]*"|[\w.$-]+))$')
_PACKETS = re.compile(r"^@slowpath_click_packets = [^\[]*\[\d+ x \[(\d+) x i8\]\]", re.MULTILINE)
_ATTRIBUTES = re.compile(
    r"\b(?:dso_local|internal|weak|weak_odr|linkonce_odr|hidden|fastcc|noundef|signext|zeroext|"
    r"nonnull|noalias|range\([^)]*\)|align \d+|dereferenceable(?:_or_null)?\(\d+\))(?= |$)"
)

_EXTENDED = re.compile(r"(\bcall [^@(]*?)\b(?:zero|sign)ext ")
"""Pattern for attributes of calls whose result the callee extends to a full register, as on this
machine. In BPF, the caller extends it.
"""


class Wrapped(NamedTuple):
    """A module in which a plain function is wrapped as the only BPF program."""

    text: str
    framework: dict[str, str]
    """Names, by symbol, of called functions that have no body."""
    unsupported: dict[tuple[str, str], Counter[str]]
    """Features that BPF lacks, by function and block."""


def wrapped(
    file: str, text: str, functions: Mapping[str, Function], entry: Entry, sizes: Mapping[str, int]
) -> Wrapped:
    """Return a module with the function `entry` wrapped as a program, and the functions it calls.

    `text` is the LLVM IR of the source, and `sizes` has the sizes of variables in bytes.

    Raises:
        InputError: when the entry cannot be a program.
    """
    return _Wrapping(file, text, functions, entry, sizes).done()


class _Wrapping:
    """Builds the module for `wrapped`, line by line from the LLVM IR of the source."""

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
        self._unsupported = dict[tuple[str, str], Counter[str]]()
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
        variables = [*state(self._entry, size), *further(self._entry)]
        text = "\n".join([*around, *variables, *declared, *bodies, ""])
        return Wrapped(text, self._called, self._unsupported)

    def _kept(self) -> set[str]:
        """Return the symbols of all functions that the program needs, without the framework's."""
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

    # --- outside of functions --------------------------------------------------------------------

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
        """Return the definition of a variable for the wrapped module.

        Only constants without addresses keep their value; other variables are filled with zeros.
        """
        text = _DEBUG.sub("", variable[2])
        if re.search(r"\bconstant\b", text) and "@" not in text and "external" not in text:
            text = re.sub(r", comdat(?:\(\$[^)]*\))?", "", text)
            return f"@{variable[1]} = {text}"
        size = self._sizes.get(name, _WRAPPING_WORD)
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
            parameters = f"(ptr %{ADDED}context){attributes}"
            yield f'define dso_local {made} @{begun[2]}{parameters} section "xdp" {{'
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
            made = rewrite_line(_EXTENDED.sub(r"\1", _DEBUG.sub("", line)))
            if made.unsupported is not None:
                known = self._unsupported.setdefault((name, block), Counter())
                known[f"{made.unsupported}; counted as an unsigned division"] += 1
            if made.calls is not None:
                self._called[made.calls[0]] = made.calls[1]
            if made.text is not None:
                text = re.sub(r"^  unreachable\b", f"  {returned(kind)}", made.text)
                self._declare(text)
                fetched = _FETCHED.match(text) if name == self._entry.function.name else None
                if fetched:  # prepared like packets that arrive
                    yield f"  call void @{FETCHED}()"
                    text = f"{fetched[1]}getelementptr i8, ptr {PULLED}, i64 0"
                yield text

    def _declare(self, line: str) -> None:
        """Declare the functions without bodies that a line of LLVM IR calls."""
        for called in _CALL.finditer(line):
            name = called[1].strip('"')
            known = self._functions.get(name)
            if name.startswith("llvm.") or (known is not None and name not in self._all):
                continue
            self._called.setdefault(name, self._all.get(name, name))
            self._declared.setdefault(name, f"declare void @{called[1]}(...)")

    def _head(self, parameters: str, kind: str, places: list[str], first: str) -> Iterator[str]:
        """Yield the blocks of the wrapper, which come before the function's own blocks.

        They allocate the local variables of constant size, `places`. `parameters` is the parameter
        list, `kind` the return type, and `first` the function's first line.
        """
        names = [
            found[1] for one in split_at_commas(parameters) if (found := _PARAMETER.search(one))
        ]
        if len(names) != len(self._entry.roles):
            raise InputError(
                codes.INTERNAL_ERROR,
                self._file,
                "internal error: the parameters of the function are "
                "not understood; please report it",
            )
        packet = _PACKETS.search(self._text) if self._entry.click else None
        label = _LABEL.match(first)
        yield f"{ADDED}head:"
        yield from places
        size = MBUF if self._entry.dpdk else int(packet[1]) if packet else 0
        yield from head(self._entry, names, size, label[1] if label else "", kind)


def _until_end(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line == "}":
            return
        if line.strip() and not line.startswith(";"):
            yield line
