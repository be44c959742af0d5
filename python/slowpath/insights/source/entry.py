"""Chooses the function that receives the packets, and the roles of its parameters.

A role says what to pass as the parameter, such as the packet or its length.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.terminal import first_few
from slowpath.insights.source.calls import (
    dpdk_callbacks,
    find_entry,
    reachable_functions,
    receives_dpdk_packets,
    roots,
    source_functions,
)
from slowpath.insights.source.functions import Function, Parameter
from slowpath.insights.source.pointer_parameters import PointerTarget, TargetFinder
from slowpath.insights.source.sources import CPLUSPLUS, ELEMENT

Role = Literal[
    "element",
    "packet",
    "mbuf",
    "burst",
    "count",
    "port",
    "bytes",
    "length",
    "end",
    "context",
    "time",
    "pointer",
]
"""Purpose of a parameter of a function that gets packets. `mbuf` is one DPDK packet, `burst` an
array of pointers to DPDK packets, `count` the length of that array, and `time` the arrival time of
the packets. `pointer` is any other pointer parameter of a function for DPDK packets;
`pointer_parameters.py` finds memory for it."""
_DESCRIPTORS = ("xdp_md", "__sk_buff", "sk_buff", "xdp_buff")
_BURST = "rte_mbuf *"
_ROLES: dict[str, Role] = {
    "Packet": "packet",
    "WritablePacket": "packet",
    "PacketBatch": "packet",
    "rte_mbuf": "mbuf",
    _BURST: "burst",
}
"""Role of a parameter that carries packets, by the name of the type that it points to."""
_ARRIVE = "slowpath_dpdk_arrive"
"""Name of a function that exists if a source uses slowpath's headers in place of DPDK's."""
_CONTEXT = "xdp_md"
_HELPERS = "slowpath_xdp_move"
"""Name of a function that exists if a source uses kernel helpers (`headers/nic/xdp.c`)."""
_COUNTS = re.compile(
    r"(n|nb|num|cnt|count|size|len|length)(_?[a-z]*\d*)?$|.*_(n|nb|num|cnt|count)$"
)
"""Pattern for the names of parameters that contain the number of packets."""
_TIMES = re.compile(
    r"(now|time|tms|tsc|ts|cycles|timestamp)\d*$|(cur|current)_\w+|.*_(now|time|tms|tsc|cycles)$"
)
"""Pattern for the names of parameters that contain a time."""
_TIME_BITS = 64
_METHODS = ("push", "simple_action", "pull", "push_batch", "simple_action_batch")
_ROOTS = ("Element", "BatchElement")
"""Base classes of all Click elements, whose methods only pass packets on."""
ACCEPTED_SIGNATURES = (
    "methods of a Click element take packets (Packet *) and ports (int); C functions take the "
    "packet's first byte (a pointer), its length (an integer) or, named end, its end; functions of "
    "DPDK take struct rte_mbuf *, or an array of these and their number, or receive packets "
    "themselves (rte_eth_rx_burst); XDP programs in C take their context (struct xdp_md *)"
)


class Entry(NamedTuple):
    """A function that receives packets, and the role of each of its parameters.

    A role says what to pass as the parameter.
    """

    function: Function
    roles: tuple[Role, ...]
    element: str | None  # symbol of the element, if the function is its method
    result: Literal["packet", "number", "nothing"]
    targets: tuple[PointerTarget, ...] = ()
    """Targets of the parameters with the role `pointer`; `with_pointer_targets` sets them."""
    receives: bool = False
    """True if the function has no parameter for packets, but receives them from DPDK ports itself.
    """

    @property
    def click(self) -> bool:
        """True if the function gets packets as Click's `Packet` objects."""
        return self.element is not None or "packet" in self.roles

    @property
    def dpdk(self) -> bool:
        """True if the function gets packets as DPDK buffers (`rte_mbuf`)."""
        return self.receives or bool({"mbuf", "burst"} & set(self.roles))

    @property
    def xdp(self) -> bool:
        """True if the function is an XDP program."""
        return "context" in self.roles


def choose_entry(
    file: str,
    functions: Mapping[str, Function],
    named: str | None,
    tail_called: Collection[str] = (),
    element: str | None = None,
) -> Entry:
    """Choose the function that receives the packets.

    A root is a function that no other function of the source calls. `tail_called` has the symbols
    of XDP programs that program arrays hold; such a program is chosen only if there is no other.
    `element` names the class that gets the packets if the source exports several.

    Raises:
        InputError: if no function is found, it cannot be called with packets, or it reaches inline
            assembly or recursion.
    """
    elements = _elements(functions)
    if element is not None and element not in elements:
        reason = f"the source does not export the element {element}; add EXPORT_ELEMENT({element})"
        raise InputError(codes.ENTRY_NOT_CHOSEN, file, reason)
    if named is None and _HELPERS in functions:
        named = _program(file, functions, tail_called)
    alone = _named_as(file, elements) if element is None else element
    name = named if named is not None else _default_name(file, functions, elements, alone)
    symbol = find_entry(file, functions, name)
    function = functions[symbol]
    receives = _receives(functions, symbol)
    if receives and function.shown == "main" and function.parameters:
        reason = "main receives packets, but cannot run here, because its arguments are unknown"
        remedy = (
            "move the loop of main into another function, and the set-up into a function "
            "of RTE_INIT"
        )
        raise InputError(
            codes.SIGNATURE_NOT_SUPPORTED, file, f"{function.place}: {reason}; {remedy}"
        )
    if _HELPERS in functions and _takes_context(function):
        roles: tuple[Role, ...] = ("context",)
    elif receives:
        roles = tuple(_of_loop(file, function, one) for one in function.parameters)
    else:
        roles = tuple(_role(file, function, one) for one in function.parameters)
    if function.variadic or function.result not in ("void", "pointer", *_NUMBERS):
        raise InputError(
            codes.SIGNATURE_NOT_SUPPORTED,
            file,
            f"{function.place}: the function {function.shown} cannot be called; "
            f"{ACCEPTED_SIGNATURES}",
        )
    chosen = None
    if "element" in roles:
        owner = function.shown.rpartition("::")[0].rpartition("::")[2]
        candidates = [alone] if alone and named is None else elements
        if element is not None:
            chosen = element
        else:
            chosen = owner if owner in elements else _only(file, function, owner, candidates)
    if (
        not receives
        and not {"packet", "mbuf", "burst", "bytes", "context"} & set(roles)
        and function.shown.rpartition("::")[2] != "pull"
    ):
        raise InputError(
            codes.SIGNATURE_NOT_SUPPORTED,
            file,
            f"{function.place}: the function {function.shown} does not take a packet; "
            f"{ACCEPTED_SIGNATURES}",
        )
    if {"mbuf", "burst"} & set(roles) and _ARRIVE not in functions:
        reason = f"{function.shown} takes packets of DPDK, for which slowpath has its own headers"
        raise InputError(
            codes.SOURCE_NOT_SUPPORTED,
            file,
            f"{function.place}: {reason}; remove other headers from --cflags",
        )
    packets = chosen is not None or "packet" in roles
    pointer = packets and function.result == "pointer"
    number = function.result in _NUMBERS
    result: Literal["packet", "number", "nothing"] = "packet" if pointer else "nothing"
    return Entry(
        function,
        roles,
        None if chosen is None else ELEMENT + chosen,
        "nothing" if receives else "number" if number else result,
        receives=receives,
    )


def task_entry(functions: Mapping[str, Function], element: str) -> Entry | None:
    """Return the task of a Click element that only acts in its task; None if it has none.

    `element` is the name of an exported class.
    """
    if element not in _elements(functions):
        return None
    for function in functions.values():
        if f"::{function.shown}".endswith(f"::{element}::run_task"):
            roles: tuple[Role, ...] = ("element", "port")
            return Entry(function, roles, ELEMENT + element, "nothing")
    return None


def with_pointer_targets(
    file: str, text: str, functions: Mapping[str, Function], entry: Entry
) -> Entry:
    """Find variables to which the pointer parameters of the entry function can point.

    Return a copy of `entry` with these variables as `targets`.

    Args:
        file: name of the source, for error messages.
        text: LLVM IR of the module, as LLVM writes it.
        functions: functions of the module, by symbol.
        entry: function that receives packets.

    Raises:
        InputError: if no variable is found for a parameter.
    """
    indices = [index for index, role in enumerate(entry.roles) if role == "pointer"]
    if not indices:
        return entry
    finder = TargetFinder(file, text, functions)
    return entry._replace(targets=tuple(finder.target(entry.function, at) for at in indices))


def uses_dpdk(symbols: Iterable[str]) -> bool:
    """Return true if the source uses slowpath's headers for DPDK, judged by its symbols."""
    return _ARRIVE in symbols


def pointer_target_variables(file: str, text: str, functions: Mapping[str, Function]) -> set[str]:
    """Return the symbols of variables to which pointer parameters of DPDK functions may point.

    These are parameters with the role `pointer`. `text` is the LLVM IR before the optimisation
    passes, which would remove variables that only such parameters use.
    """
    parameters = [
        (function, at)
        for name, function in functions.items()
        if not function.supports
        if (receives := _receives(functions, name)) or _takes_mbufs(function)
        for at, one in enumerate(function.parameters)
        if one.kind == "pointer" and one.plain
        if receives or _pointer_role(function, one) == "pointer"
    ]
    found = set[str]()
    if not parameters:
        return found
    finder = TargetFinder(file, text, functions)
    for function, at in parameters:
        with suppress(InputError):  # reported when a user names the function
            target = finder.target(function, at)
            found |= {*target.variables, *target.pointers}
    return found


def packet_functions(file: str, functions: Mapping[str, Function], named: str | None) -> list[str]:
    """Return the symbols of the functions that may receive packets, or only the one `named`.

    Raises:
        InputError: if there is no function for packets.
    """
    if named is not None:
        return [find_entry(file, functions, named)]
    if _elements(functions):
        return [choose_entry(file, functions, None).function.name]
    takes = dpdk_functions(functions)
    # A loop may hand its packets to a function of a header.
    takes += [
        one
        for one in _handed(functions)
        if one not in takes and not receives_dpdk_packets(functions, one)
    ]
    return takes or _loops(functions) or roots(file, functions)


def choice_note(functions: Mapping[str, Function], chosen: Entry, named: str | None) -> str | None:
    """Return a note for the user on why slowpath chose the function `chosen` for the packets.

    Return None if the user named the function, or there was no choice.
    """
    shown = chosen.function.shown
    if chosen.xdp and named is None and len(programs_of(functions)) > 1:
        return (
            f"{shown} receives the packets, because no program array holds it; select "
            "another function with --entry"
        )
    several = len(_elements(functions)) > 1
    if chosen.element is not None and named is None and several:
        element = chosen.element.removeprefix(ELEMENT)
        return (
            f"{element} receives the packets, because the file has its name; select another "
            "element with --entry"
        )
    alone = source_functions(functions) == [chosen.function.name]
    obvious = chosen.element is not None or chosen.xdp or alone
    if named is not None or obvious:
        return None
    if chosen.dpdk:
        why = "no other function that takes packets calls it"
        if _handed(functions) == [chosen.function.name]:
            why = f"{functions[_loops(functions)[0]].shown} passes on the packets that it receives"
        if chosen.receives:
            why = "no other function receives packets"
        back = {*dpdk_callbacks(functions)} & {*dpdk_functions(functions)} - {chosen.function.name}
        if back:
            are = "is" if len(back) == 1 else "are"
            others = first_few(sorted(functions[name].shown for name in back), 8)
            why += f" ({others} {are} only callbacks)"
        got = "received" if chosen.receives else "got"
        return f"{shown} {got} the packets: {why}; select another function with --entry"
    return (
        f"{shown} receives the packets, because no other function calls it; select another "
        "one with --entry"
    )


_NUMBERS = ("i1", "i8", "i16", "i32", "i64")


def _elements(functions: Mapping[str, Function]) -> list[str]:
    """Return the class names of the Click elements that the source exports (`EXPORT_ELEMENT`)."""
    start = "slowpath_click_start_"
    return [name.removeprefix(start) for name in functions if name.startswith(start)]


def _takes_context(function: Function) -> bool:
    described = [one.described for one in function.parameters]
    return len(described) == 1 and described[0] is not None and described[0].pointee == _CONTEXT


def _program(file: str, functions: Mapping[str, Function], tail_called: Collection[str]) -> str:
    """Return the symbol of the XDP program that receives the packets.

    It is the only program, or the only one that is not the target of a tail call. `tail_called` has
    the targets.

    Raises:
        InputError: if there is no such program, or several.
    """
    found = programs_of(functions)
    first = [one for one in found if one.name not in tail_called] or found
    if len(first) == 1:
        return first[0].name
    if not found:
        raise InputError(
            codes.OBJECT_WITHOUT_PROGRAMS,
            file,
            "the source does not have an XDP program: a function of struct xdp_md * with a section",
        )
    names = ", ".join(one.shown for one in first)
    called = " outside program arrays" if len(first) < len(found) else ""
    reason = f"the source has {len(first)} XDP programs{called}; name one with --entry: {names}"
    raise InputError(codes.ENTRY_NOT_CHOSEN, file, reason)


def programs_of(functions: Mapping[str, Function]) -> list[Function]:
    """Return the XDP programs among the functions of a source."""
    return [one for one in functions.values() if one.section and _takes_context(one)]


def _named_as(file: str, elements: list[str]) -> str | None:
    """Return the Click element of a source that receives the packets.

    It is the only element, or the one with the name of the file. Return None if there is no such
    element.
    """
    stem = Path(file).stem.replace("_", "").lower()
    alike = elements if len(elements) == 1 else [one for one in elements if one.lower() == stem]
    return next(iter(alike), None)


def _default_name(
    file: str, functions: Mapping[str, Function], elements: list[str], alone: str | None
) -> str:
    """Return the symbol of the function that receives the packets if the user names none.

    `elements` are the Click elements of the source. `alone` is the one that receives the packets;
    it is None if it is unclear, or the source has none.
    """
    if alone is not None:
        for method in _METHODS:
            for name, function in functions.items():
                if f"::{function.shown}".endswith(f"::{alone}::{method}"):
                    return name
        inherited = _inherited(functions, alone)
        if inherited is not None:
            return inherited
        raise InputError(
            codes.ENTRY_NOT_CHOSEN,
            file,
            f"the element {alone} lacks push, simple_action and pull; name a function with --entry",
        )
    own = source_functions(functions)
    takes = _ranked(functions)
    if not elements and len(takes) == 1:
        return takes[0]
    if not own:
        missing = "; perhaps EXPORT_ELEMENT is missing" if Path(file).suffix in CPLUSPLUS else ""
        raise InputError(codes.ENTRY_NOT_CHOSEN, file, f"does not define a function{missing}")
    reason = "the source exports several elements"
    if not elements:
        own = takes or roots(file, functions)
        # Skip functions without parameters, such as constructors.
        own = takes or [name for name in own if functions[name].parameters] or own
        of_bytes = [name for name in own if _takes_bytes(functions[name])]
        if not takes and _ARRIVE in functions:
            own = of_bytes or own
        if len(own) == 1 and (takes or of_bytes or _ARRIVE not in functions):
            return own[0]
        count = "several functions" if len(own) > 1 else "a function"
        reason = f"the source has {count} without a caller"
        if not takes and _ARRIVE in functions:
            reason += "; none takes struct rte_mbuf * or calls rte_eth_rx_burst"
    several = sorted({functions[name].shown for name in own})
    names = first_few(several, 8)
    raise InputError(
        codes.ENTRY_NOT_CHOSEN,
        file,
        f"{reason}; name the function that receives packets with --entry: {names}",
    )


def _inherited(functions: Mapping[str, Function], element: str) -> str | None:
    """Return the symbol of the method by which a Click element takes packets, if it is inherited.

    Return None if the element inherits no such method. Base classes are those whose constructor the
    element's constructor calls.
    """
    bases = {
        functions[called].shown
        for name, one in functions.items()
        if f"::{one.shown}".endswith(f"::{element}::{element}")
        for called in reachable_functions(functions, name)
    }
    for method in _METHODS:
        for name, one in functions.items():
            owner, _, last = one.shown.rpartition("::")
            plain = owner.partition("<")[0].rpartition("::")[2]
            if last == method and plain not in _ROOTS and f"{owner}::{plain}" in bases:
                return name
    return None


def dpdk_functions(functions: Mapping[str, Function]) -> list[str]:
    """Return the functions that take DPDK packets as arguments.

    Functions that another function of this kind calls are left out.
    """
    if _ARRIVE not in functions:
        return []
    takes = _matching(functions, lambda name: _takes_mbufs(functions[name]))
    # A function that receives packets has an array for them.
    takes = [name for name in takes if not receives_dpdk_packets(functions, name)] or takes
    called = {one for name in takes for one in reachable_functions(functions, name) - {name}}
    return [name for name in takes if name not in called]


def _matching(functions: Mapping[str, Function], predicate: Callable[[str], bool]) -> list[str]:
    """Return the symbols of functions that satisfy `predicate`, which takes a symbol.

    Functions in the source file are tried first, then those in the user's headers. Inlined
    functions are only returned if no other function matches.
    """
    users = [name for name, one in functions.items() if not one.supports]
    found = list(filter(predicate, source_functions(functions))) or list(filter(predicate, users))
    return [name for name in found if not functions[name].inlined] or found


def _ranked(functions: Mapping[str, Function]) -> list[str]:
    """Return the functions that most likely do the work on DPDK packets.

    Candidates are the function to which the receive loop hands its packets, or else all functions
    that take DPDK packets. Functions that are not callbacks are preferred, because a callback gets
    only a part of the packets. The next choice is callbacks and receive loops. Callbacks for
    packets that could not be sent are the last choice.
    """
    takes, callbacks = dpdk_functions(functions), dpdk_callbacks(functions)
    takes = _handed(functions) or takes
    unsent = [name for name in takes if callbacks.get(name)]
    sent = [name for name in takes if callbacks.get(name) is False]
    direct = [name for name in takes if name not in callbacks]
    return direct or [*sent, *_loops(functions)] or unsent


def _handed(functions: Mapping[str, Function]) -> list[str]:
    """Return the function to which the receive loop hands its packets, as a list.

    If there are several such functions, return the loop. The list is empty if there are several
    loops, or the loop hands packets to no function.
    """
    loops = _loops(functions)
    if len(loops) != 1:
        return []
    inside = [
        name
        for name in reachable_functions(functions, loops[0]) - {*loops}
        if not functions[name].supports and _takes_mbufs(functions[name])
        if not functions[name].inlined
    ]
    called = {one for name in inside for one in reachable_functions(functions, name) - {name}}
    handed = [name for name in inside if name not in called]
    return handed if len(handed) == 1 else loops if handed else []


def _receives(functions: Mapping[str, Function], name: str) -> bool:
    """Return true if a function gets its packets from DPDK ports, not from a parameter."""
    takes = _takes_mbufs(functions[name])
    return _ARRIVE in functions and not takes and receives_dpdk_packets(functions, name)


def _loops(functions: Mapping[str, Function]) -> list[str]:
    """Return the functions that receive packets from DPDK ports: the receive loops.

    A function that calls another one of this kind is left out.
    """
    own = _matching(functions, lambda name: _receives(functions, name))
    own = [name for name in own if functions[name].shown != "main"] or own
    return [name for name in own if not {*own} & (reachable_functions(functions, name) - {name})]


def _of_loop(file: str, function: Function, one: Parameter) -> Role:
    """Return the role of the parameter `one` of a function that receives DPDK packets itself."""
    if one.kind == "pointer" and one.plain:
        return "pointer"
    if one.kind == "integer":
        return "port"
    return _role(file, function, one)


def _takes_mbufs(function: Function) -> bool:
    pointees = {one.described.pointee for one in function.parameters if one.described is not None}
    return bool(pointees & {"rte_mbuf", _BURST})


def _takes_bytes(function: Function) -> bool:
    """Return true if a parameter may point to the bytes of a packet.

    Such a parameter points to bytes, void or a protocol header.
    """
    return any(
        one.kind == "pointer"
        and (
            one.described is None or one.described.size <= 1 or one.described.pointee[-3:] == "hdr"
        )
        for one in function.parameters
    )


def _only(file: str, function: Function, owner: str, elements: list[str]) -> str:
    """Return the exported Click element for a method of a class that is not exported.

    The method is inherited if the source exports exactly one element. `owner` is the class of the
    method `function`.

    Raises:
        InputError: if there are several elements, or none.
    """
    if len(elements) == 1:  # a method inherited from a base class
        return elements[0]
    has = f"the source exports {', '.join(elements)}" if elements else "the source exports nothing"
    reason = f"{function.place}: the function {function.shown} is a method, and {has}"
    raise InputError(
        codes.SIGNATURE_NOT_SUPPORTED, file, f"{reason}; add EXPORT_ELEMENT({owner or '...'})"
    )


def _role(file: str, function: Function, one: Parameter) -> Role:
    role = None
    if one.kind == "pointer" and one.plain:
        role = _pointer_role(function, one)
    elif one.kind == "integer":
        role = _integer_role(function, one)
    if role is not None:
        return role
    described = one.described
    named = f" ({described.name})" if described is not None and described.name else ""
    number = _index(function, one) + 1
    reason = f"parameter {number}{named} of {function.shown} is neither a packet nor a length"
    raise InputError(
        codes.SIGNATURE_NOT_SUPPORTED, file, f"{function.place}: {reason}; {ACCEPTED_SIGNATURES}"
    )


def _pointer_role(function: Function, one: Parameter) -> Role | None:
    described = one.described
    if described is not None:
        if described.artificial:
            return "element"
        if described.pointee in _ROLES and not _is_second(function, one):
            return _ROLES[described.pointee]
        if not _takes_mbufs(function) and _ends(described.name):
            return "end"
    if _takes_mbufs(function):
        return "pointer"
    before = function.parameters[: _index(function, one)]
    is_first = not any(_is_bytes(other) for other in before) and not _is_descriptor(one)
    return "bytes" if is_first else None


def _integer_role(function: Function, one: Parameter) -> Role | None:
    before = function.parameters[: _index(function, one)]
    declared = [other.described for other in function.parameters if other.described is not None]
    if one is _count_parameter(function):
        return "count"
    if _takes_mbufs(function) and one.bits == _TIME_BITS and _is_time(one):
        return "time"
    if any(other.artificial or other.pointee in _ROLES for other in declared):
        return "port"
    return None if any(other.kind == "integer" for other in before) else "length"


def _count_parameter(function: Function) -> Parameter | None:
    """Return the parameter that contains the number of packets in the packet array.

    Return None if the function takes no such array. Parameters whose names suggest a count are
    preferred, then parameters after the array.
    """
    at = [index for index, one in enumerate(function.parameters) if _is_burst(one)]
    if not at:
        return None
    after = [one for one in function.parameters[at[0] + 1 :] if one.kind == "integer"]
    before = [one for one in function.parameters[: at[0]] if one.kind == "integer"][::-1]
    found = [*after, *before]
    named = [one for one in found if one.described and _COUNTS.match(one.described.name)]
    return next(iter(named or found), None)


def _is_burst(one: Parameter) -> bool:
    return one.described is not None and one.described.pointee == _BURST


def _is_second(function: Function, one: Parameter) -> bool:
    """Return true if the parameter `one` is an array of packets, but not the first such array.

    The first array contains the packets to process.
    """
    before = function.parameters[: _index(function, one)]
    return _is_burst(one) and any(map(_is_burst, before))


def _is_time(one: Parameter) -> bool:
    return one.described is not None and _TIMES.match(one.described.name) is not None


def _index(function: Function, one: Parameter) -> int:
    return next(at for at, other in enumerate(function.parameters) if other is one)


def _is_bytes(one: Parameter) -> bool:
    end = one.described is not None and _ends(one.described.name)
    return one.kind == "pointer" and not end


def _ends(name: str) -> bool:
    return re.search(r"(^|_)end($|_)|[a-z]End$", name) is not None


def _is_descriptor(one: Parameter) -> bool:
    """Return true if a parameter points to a packet object, such as `rte_mbuf`, not to bytes."""
    return one.described is not None and one.described.pointee in _DESCRIPTORS
