"""Compiles XDP programs and other kernel code in C so that they can run on this machine.

A successful `bpf_tail_call` in a program never returns. In a function that a program calls, the
target replaces only this function, and the caller gets the target's result. A function with tail
calls is therefore called through a wrapper, which marks where to continue.

Other instructions stay unchanged, so the blocks equal those that are counted for the SmartNIC.

Sources: `___BPF_FUNC_MAPPER` in include/uapi/linux/bpf.h; Documentation/bpf;
arch/x86/net/bpf_jit_comp.c; LLVM's language reference; llvm/docs/BPF (relocations are variables
whose names state their values).
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count

from slowpath.core.engine.objects import HELPER_NUMBERS, HELPERS, MAP_KINDS
from slowpath.core.errors import InputError, StoppedError
from slowpath.core.programs.clang import Form, compile_c
from slowpath.core.programs.sources import Clang
from slowpath.insights.source.bpf_steps import (
    AS_IT_IS,
    AS_OBJECT,
    NAMES,
    OPTIMISED,
    TARGET_ATTRIBUTES,
    USED,
    compile_to_ir,
    for_host,
    from_llvm,
    named,
)
from slowpath.insights.source.modules import bracketed_prefix, split_at_commas
from slowpath.insights.source.sources import HEADERS, Source, is_for_kernel, is_xdp, load_source
from slowpath.insights.trace.xdp_maps import (
    ARRAY,
    BLOOM,
    DESCRIPTOR_BYTES,
    HASH,
    KINDS,
    LPM,
    LRU,
    OF_MAPS,
    PORTS,
    PROGRAMS,
    QUEUE,
    STACK,
    LookupCounts,
    Table,
    kinds_of,
)


def name_of(number: int) -> str:
    """Return the name of the kernel helper with this number."""
    return HELPERS.get(number) or f"helper {number} of the kernel"


def known() -> str:
    """Return the names of the kernel helpers that slowpath supports, for error messages."""
    text = (HEADERS / "nic" / "xdp.c").read_text()
    defined = {*re.findall(r"^WORK [^(\n]*\b(bpf_\w+)\(", text, re.MULTILINE)}
    return ", ".join(one.removeprefix("bpf_") for one in HELPER_NUMBERS if one in defined)


TAIL_CALL = HELPER_NUMBERS["bpf_tail_call"]
"""Number of the kernel helper `bpf_tail_call`."""
_CALLS = f"inttoptr (i64 {TAIL_CALL} to ptr)("
_BODY = re.compile(r"^define .*?^}$", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r'^define [^@\n]*@("[^"]*"|[\w.$-]+)\(')
_DEFINITION = "define "
_RANGE = re.compile(r"\brange\([^()]*\) ")
"""Attribute with the range of a function's results.

It is removed, because the target of a tail call can return other values.
"""
_LINKAGE = frozenset({"internal", "private", "dso_local", "hidden", "weak", "linkonce_odr"})
_BACK = 1024
"""Bytes reserved for a `struct back` (`source/headers/nic/xdp.c`)."""
_DECLARATIONS = """
declare void @slowpath_xdp_enter(ptr)
declare void @slowpath_xdp_leave(ptr)
declare i32 @slowpath_xdp_follow()
declare i32 @slowpath_xdp_mark(ptr) returns_twice
"""


def with_returns(text: str) -> str:
    """Make tail calls in functions return to the functions' callers, as in the kernel.

    `text` is the LLVM IR of the module. Return it with a wrapper around each function that makes
    tail calls.
    """
    heads = dict(_with_tail_calls(text))
    if not heads:
        return text
    names = "|".join(re.escape(name) for name in heads)
    used = re.compile(rf"^define [^\n]*$|@({names})(?![\w.$-])", re.MULTILINE)
    text = used.sub(lambda one: one[0] if one[1] is None else _wrapper_name(one[1]), text)
    return text + _DECLARATIONS + "".join(_wrapper(name, head) for name, head in heads.items())


def _with_tail_calls(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the first line of each function that makes tail calls.

    Programs are left out, because the target of a tail call replaces them.
    """
    for body in _BODY.findall(text):
        head = body.partition("\n")[0]
        name = _HEAD.match(head)
        if name is not None and _CALLS in body and ' section "' not in head:
            yield name[1], head


def _wrapper_name(name: str) -> str:
    return f'@"slowpath_xdp_return to {name.strip(chr(34))}"'


def _wrapper(name: str, head: str) -> str:
    """Return the LLVM IR of the wrapper of a function that makes tail calls.

    `name` is the function, and `head` the first line of its definition.
    """
    before, _, rest = _RANGE.sub("", head).partition(f"@{name}(")
    words = [one for one in before.removeprefix(_DEFINITION).split() if one not in _LINKAGE]
    parameters = bracketed_prefix(f"({rest}")
    kind = words[-1]
    result = "" if kind == "void" else "%own = "
    own = "ret void" if kind == "void" else f"ret {kind} %own"
    return f"""
define internal {" ".join(words)} {_wrapper_name(name)}{parameters} noinline {{
  %slowpath.back = alloca [{_BACK} x i8], align 16
  call void @slowpath_xdp_enter(ptr %slowpath.back)
  %slowpath.again = call i32 @slowpath_xdp_mark(ptr %slowpath.back) returns_twice
  %slowpath.jumped = icmp ne i32 %slowpath.again, 0
  br i1 %slowpath.jumped, label %slowpath.next, label %slowpath.first
slowpath.first:
  {result}call {" ".join(words)} @{name}({", ".join(split_at_commas(parameters[1:-1]))})
  call void @slowpath_xdp_leave(ptr %slowpath.back)
  {own}
slowpath.next:
  %slowpath.given = call i32 @slowpath_xdp_follow()
  call void @slowpath_xdp_leave(ptr %slowpath.back)
{_converted_result(kind)}
}}
"""


def _converted_result(kind: str) -> str:
    """Return LLVM IR that converts a program's 32-bit result to the type `kind` and returns it."""
    if kind == "void":
        return "  ret void"
    if kind == "i32":
        return "  ret i32 %slowpath.given"
    cast = "zext" if int(kind[1:]) > 32 else "trunc"  # noqa: PLR2004 - a register
    as_taken = f"  %slowpath.taken = {cast} i32 %slowpath.given to {kind}\n"
    return f"{as_taken}  ret {kind} %slowpath.taken"


_HELPER = re.compile(
    r"inttoptr \(i64 (\d+) to ptr\)\((ptr (?:\w+ |\w+\(\d+\) )*?@([\w.$-]+))?",
)
_BARRIER = re.compile(
    r'^( +(%\S+) = )(?:tail )?call (\w+) asm (?:sideeffect )?"", '
    r'"=r,0(?:,~\{\w+\})*"\(\w+ (%[\w.$-]+|-?\d+)\)(?: #\d+)?',
    re.MULTILINE,
)
_NOTHING = re.compile(
    r'^ +(?:tail )?call void asm sideeffect "", "[^"\n]*"\([^\n]*\n', re.MULTILINE
)
"""Barriers without an instruction, which do not change their operands."""
_OFFSET = re.compile(
    r'^( +%\S+ = )load (i\d+), ptr @"llvm\.[\w.]+:\d+:(\d+)\$[\d:]*"(?:, align \d+)?',
    re.MULTILINE,
)
_MAP = re.compile(r'^(@\S+ = )([^\n]*?)(, section "\.?maps")', re.MULTILINE)
_WORDS = re.compile(r"\{ (i32 \d+(?:, i32 \d+){4})")
"""Members of `struct bpf_map_def`, kept because `xdp_maps.py` reads them in the host's module."""
_STATIC = re.compile(
    r"(?:tail )?call void asm sideeffect "
    r'"r1 = \$0\\0A\\09r2 = \$1\\0A\\09r3 = \$2\\0A\\09'
    rf'call {TAIL_CALL}", "r,r,i,[^"]*"\('
)
"""Inline assembly of `bpf_tail_call_static` in libbpf's bpf_helpers.h."""
_BY_KEY, _QUEUES = frozenset({HASH, ARRAY, LRU, LPM, PORTS}), frozenset({QUEUE, STACK})
_SUPPORTED = {
    "bpf_map_lookup_elem": _BY_KEY | {*OF_MAPS},
    **{f"bpf_map_{what}_elem": _BY_KEY for what in ("update", "delete", "lookup_percpu")},
    **{f"bpf_map_{what}_elem": _QUEUES | {BLOOM} for what in ("push", "peek")},
    "bpf_map_pop_elem": _QUEUES,
    "bpf_for_each_map_elem": frozenset({HASH, ARRAY, LRU}),
}
"""Supported map types by helper, for helpers whose first argument is a map."""


def rewrite_for_host(text: str) -> str:
    """Rewrite an optimised BPF module so that it runs on this machine.

    Calls of kernel helpers become calls of functions in `source/headers/nic/xdp.c`, which is
    linked. `text` is the LLVM IR of the module.
    """
    kinds = kinds_of(text)
    text = TARGET_ATTRIBUTES.sub("", for_host(USED.sub("", text)))
    number = count()
    text = _STATIC.sub(
        lambda _: f"%slowpath.jump.{next(number)} = call i64 inttoptr (i64 {TAIL_CALL} to ptr)(",
        text,
    )
    text = with_returns(text)
    text = _NOTHING.sub("", _BARRIER.sub(r"\1freeze \3 \4", text))
    text = _OFFSET.sub(r"\1add \2 0, \3", text)
    called = dict[str, None]()

    def helper(one: re.Match[str]) -> str:
        name = _called(int(one[1]), kinds.get(one[3] or ""), one[3] or "")
        called[name] = None
        return f'@"{name}"({one[2] or ""}'

    text = _HELPER.sub(helper, text)
    text = _MAP.sub(_described, text)
    return text + "".join(f'declare i64 @"{name}"(...)\n' for name in called)


def _described(one: re.Match[str]) -> str:
    """Return the LLVM definition of a BPF map, enlarged to contain the map's description.

    `one` is the old definition. Helpers read the description at the address of the map.
    """
    words = _WORDS.search(one[2])
    if words is None:
        return f"{one[1]}global [{DESCRIPTOR_BYTES} x i8] zeroinitializer{one[3]}"
    rest = f"[{DESCRIPTOR_BYTES - 20} x i8]"
    kind = f"{{ {'i32, ' * 5}{rest} }}"
    return f"{one[1]}global {kind} {{ {words[1]}, {rest} zeroinitializer }}{one[3]}"


def _called(number: int, kind: int | None, map_: str) -> str:
    """Return the symbol for a called kernel helper; error messages contain it.

    `kind` is the type of the map that the helper gets. If the helper does not support this type,
    the result also names the map and its type.
    """
    name = name_of(number)
    if name in _SUPPORTED and kind is not None and KINDS.get(kind) not in _SUPPORTED[name]:
        return f"{name} of a map of type {kind} ({map_})"
    return name


# --- compilation ----------------------------------------------------------------------------------

_OWN = re.compile(r"^define (?:internal|private|available_externally) ", re.MULTILINE)
_SUPPORT = Form(
    (
        *("-O1", "-g", "-w", "-emit-llvm", "-fno-strict-aliasing", "-fwrapv"),
        *("-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fno-unroll-loops"),
        *("-fno-vectorize", "-fno-slp-vectorize"),
        *(f"-DBPF_MAP_TYPE_{name.upper()}={number}" for name, number in MAP_KINDS.items()),
    ),
    "bc",
    "bitcode",
    kernel=False,
)
_READ = Form(
    (
        *(*AS_IT_IS, NAMES, "-S", "-emit-llvm", "-femit-all-decls"),
        *("-fno-strict-aliasing", "-fwrapv"),
    ),
    "ll",
    "text of LLVM",
    kernel=True,
)


def load_runnable(file: str, clang: Clang, *, filled: bool = False) -> Source:
    """Compile a source so that it can run over a packet trace.

    XDP programs, and other kernel sources that do not compile for this machine, compile for BPF.

    The source gets an object file if the user fills maps (`filled`), because definitions of maps
    are read from it. It also gets one for program arrays and maps of maps, to read their content.

    Raises:
        InputError: when the source cannot be read or compiled.
        StoppedError: when no time is left to compile it.
    """
    source = None if is_xdp(file) else _load_here(file, clang)
    if source is not None:
        return source
    text = compile_to_ir(file, clang)
    support = compile_c(str(HEADERS / "nic" / "xdp.c"), clang._replace(flags=()), _SUPPORT)
    ran = rewrite_for_host(text).encode()
    source = Source(file, ran, "text", compiled=False, support=support)
    if not filled and not {PROGRAMS, *OF_MAPS} & {*kinds_of(text).values()}:
        return source
    try:
        return source._replace(object=from_llvm(file, text, clang, AS_OBJECT))
    except StoppedError:
        raise
    except InputError as problem:
        return source._replace(
            lacking=problem.reason.removeprefix("clang cannot compile the source for BPF: ")
        )


def _load_here(file: str, clang: Clang) -> Source | None:
    """Compile a source for this machine.

    Return None for a kernel source that does not compile.
    """
    try:
        return load_source(file, clang)
    except StoppedError:
        raise
    except InputError:
        if not is_for_kernel(file):
            raise
        return None


def load_examined(file: str, clang: Clang) -> Source:
    """Compile a source so that its functions can be called one by one, with made-up arguments.

    A kernel source that does not compile for this machine compiles for BPF. Each function stays
    callable, even if its callers inline it. Kernel helpers are not available.

    Raises:
        InputError: when the source cannot be read or compiled.
        StoppedError: when no time is left to compile the source.
    """
    source = _load_here(file, clang)
    if source is not None:
        return source
    read = _OWN.sub("define ", compile_c(file, clang, _READ).decode(errors="replace"))
    text = rewrite_for_host(named(from_llvm(file, read, clang, OPTIMISED).decode(errors="replace")))
    return Source(file, text.encode(), "text", compiled=True)


_FILL = "fill it with --maps FILE"
_ZERO_SEED = 1 << 6
"""Flag of bloom filters that have no random seed (`BPF_F_ZERO_SEED`)."""
_LEAST_SHARE = 1e-4


def unfilled_maps(
    tables: Sequence[Table], looked: Mapping[str, LookupCounts], held: Collection[str]
) -> list[str]:
    """Return notes for the user on maps without entries, and on random hits of bloom filters.

    All lookups in such maps missed. `looked` has the counts of lookups by name of the map. `held`
    has the names of maps that contained an entry at some time.
    """
    notes = list[str]()
    for table in tables:
        name = table.map.name
        found, missed, chance = looked.get(name, LookupCounts(0, 0))
        if table.kind == PROGRAMS and missed:
            often = f"{missed:,} of {found + missed:,} times"
            notes.append(f"bpf_tail_call found no program in the array {name}, {often}; {_FILL}")
        elif missed and name not in held:
            ups = "the only lookup" if missed == 1 else f"all {missed:,} lookups"
            notes.append(f"the map {name} was always empty, so that {ups} missed; {_FILL}")
        if table.kind == BLOOM and chance and not table.map.flags & _ZERO_SEED:
            share = f"{100 * chance:.2g} %" if chance >= _LEAST_SHARE else "less than 0.01 %"
            why = f"the hash seed of {name} is 0, but random in the kernel"
            what = "of absent values are found by chance at the end, in the kernel other ones"
            notes.append(f"{why}: {share} {what}")
    return notes
