"""Calls the compiled functions of a module with arguments that suit their presumed roles.

A role is the meaning of a parameter, such as data, length or key. Before each call, memory and
global variables are reset, so that calls do not influence each other.
"""

import ctypes
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Literal, NamedTuple

from slowpath.insights.native import SIZE, WINDOW, CompiledModule, Native, Region, Variable
from slowpath.insights.source.calls import reachable_functions
from slowpath.insights.source.functions import Function, Parameter
from slowpath.insights.source.modules import Module

Role = Literal["data", "end", "length", "number", "key", "memory"]
_LENGTH = re.compile(
    r"len|size|cnt|count|nbyte|nbits|num|sz|bytes|words|ihl|octets|^n$|_n$|^l$|^s$", re.IGNORECASE
)
_SEED_NAME = re.compile(r"crc|seed|init|sum|hash|adler|prev|start|basis|fcs", re.IGNORECASE)
_POLYNOMIAL = re.compile(r"pol|generator", re.IGNORECASE)
POLYNOMIALS = {
    8: (0x9B, 0xD5),
    16: (0x8005, 0xC867),
    32: (0x814141AB, 0xA833982B),
    64: (0xAD93D23594C935A9, 0x9A6C9329AC4BC9B5),
}
"""Polynomials to pass, by width in bits; with reversed bits, they are polynomials as well."""
_DIGESTS = (64, 32, 28, 48, 256, 512)
"""Sizes of digests in bytes or bits, for functions that take the size as an argument."""
MOST_PARAMETERS = 8
_MOST_POINTERS = 4


class Slot(NamedTuple):
    """The role of a function's parameter (such as data or length), and a default for numbers."""

    role: Role
    value: int = 0  # default of a number


Binding = tuple[Slot, ...]
"""Role of each argument, in the order of the parameters."""
Extent = Literal["length", "text", "fixed", "end"]
"""The end of the data is given by a length argument, a zero byte, a fixed length, or an end
address.
"""


class Interpretation(NamedTuple):
    """A guess at the roles of a function's parameters, for a function that processes data."""

    binding: Binding
    data: int  # index of the parameter that points to the data
    extent: Extent
    numbers: tuple[int, ...]  # indices of numeric parameters without another role


def interpretations(function: Function) -> list[Interpretation]:
    """Return possible assignments of roles to the function's parameters, likely ones first.

    A role is the meaning of a parameter, such as data, length or key.
    """
    parameters = function.parameters
    pointers = [at for at, one in enumerate(parameters) if one.kind == "pointer"]
    if len(parameters) > MOST_PARAMETERS or not 1 <= len(pointers) <= _MOST_POINTERS:
        return []
    found = [
        one
        for data in pointers
        if parameters[data].reads
        for one in _interpretations(parameters, data, pointers)
    ]
    return sorted(found, key=lambda one: _unlikeliness(parameters, one))


def sized_interpretations(function: Function) -> Iterator[Interpretation]:
    """Yield assignments of roles in which one numeric parameter is the size of the result.

    Digests of selectable size, such as BLAKE2, have such a parameter.
    """
    for reading in interpretations(function):
        if reading.extent != "length" or not 1 <= len(reading.numbers) <= 2:  # noqa: PLR2004
            continue
        if any(reading.binding[at].value for at in reading.numbers):
            continue  # it differs from an earlier interpretation only in default numbers
        for at, size in product(reading.numbers, _DIGESTS):
            binding = list(reading.binding)
            binding[at] = Slot("number", size)
            yield reading._replace(binding=tuple(binding))


def _interpretations(
    parameters: Sequence[Parameter], data: int, pointers: Sequence[int]
) -> Iterator[Interpretation]:
    numbers = [at for at, one in enumerate(parameters) if one.kind == "integer"]
    lengths = [at for at in numbers if _LENGTH.search(_name(parameters[at]))]
    if not lengths or not all(_name(parameters[at]) for at in numbers):
        lengths = [at for at in numbers if parameters[at].bits > 1]
    ends = [at for at in pointers if at != data and not parameters[at].writes]
    extents: list[tuple[Extent, int | None]] = [("length", at) for at in lengths]
    extents += [("end", at) for at in ends]
    extents += [("text", None), ("fixed", None)]
    for extent, at in extents:
        left = tuple(one for one in numbers if one != at)
        for value in (0, 1) if left else (0,):
            yield Interpretation(
                tuple(_slot(one, number, data, at, value) for number, one in enumerate(parameters)),
                data,
                extent,
                left,
            )


def _slot(parameter: Parameter, at: int, data: int, extent: int | None, value: int) -> Slot:
    if at == data:
        return Slot("data")
    if parameter.kind == "integer":
        return Slot("length") if at == extent else Slot("number", number_for(parameter, value))
    if at == extent:
        return Slot("end")
    return Slot("memory") if parameter.writes else Slot("key")


def number_for(parameter: Parameter, value: int, choice: int = 0) -> int:
    """Return the number to pass for a numeric parameter of a function.

    If the parameter's name suggests a CRC polynomial, return entry `choice` of `POLYNOMIALS` for
    the parameter's width. Otherwise, return `value`.
    """
    if _POLYNOMIAL.search(_name(parameter)) and parameter.bits in POLYNOMIALS:
        return POLYNOMIALS[parameter.bits][choice]
    return value


def polynomials(function: Function) -> list[int]:
    """Return the indices of the parameters that take the polynomial of a CRC.

    They are recognised by their names.
    """
    return [
        at
        for at, one in enumerate(function.parameters)
        if one.kind == "integer" and _POLYNOMIAL.search(_name(one)) and one.bits in POLYNOMIALS
    ]


def _unlikeliness(parameters: Sequence[Parameter], one: Interpretation) -> tuple[int, ...]:
    """Return a sort key for a guess at the roles of parameters: likely guesses sort first.

    Roles are likely if they fit the names and types of the parameters.
    """
    described = parameters[one.data].described
    structured = described is not None and bool(described.members)
    length = next((at for at, slot in enumerate(one.binding) if slot.role == "length"), None)
    named = length is not None and bool(_LENGTH.search(_name(parameters[length])))
    seeded = length is not None and bool(_SEED_NAME.search(_name(parameters[length])))
    order = ("length", "end", "fixed", "text").index(one.extent)
    written = parameters[one.data].writes
    values = sum(slot.value for slot in one.binding)
    return (int(seeded), order, int(not named), int(written), int(structured), values)


def _name(parameter: Parameter) -> str:
    return parameter.described.name if parameter.described else ""


# --- calls ----------------------------------------------------------------------------------------

Noise = random.Random


def noise_of(seed: int) -> Noise:
    """Return a random number generator that yields the same numbers in each run."""
    return random.Random(seed)  # noqa: S311 - not used for security


REGIONS = 8
_MOST_VARIABLES = 64
_SEED = 20211026
"""Fixed seed, so that equal input gives equal output."""


class Bench:
    """The compiled functions of a module, and memory regions for their arguments.

    Proofs call functions of the program through this class.
    """

    def __init__(self, module: Module, functions: Mapping[str, Function]) -> None:
        """Compile the module, and allocate memory regions to pass as arguments."""
        self.functions = functions
        self.code = CompiledModule(module, guarded=True)
        self.regions = [Region() for _ in range(REGIONS)]
        noise = noise_of(_SEED)
        self.noise = [noise.randbytes(SIZE) for _ in range(REGIONS)]
        for region, text in zip(self.regions, self.noise, strict=True):
            region.write(text)
        # Addresses are looked up once here, before the processes that run attempts are forked.
        self._natives = {name: self.code.native(one) for name, one in functions.items()}
        self.image = dict[int, bytes]()
        """Content of variables before each call, by address; set by `prepare`."""
        self.fresh = dict[int, bytes]()
        """Content of variables before any preparation, by address."""

    def prepare(self, before: Sequence[str] = ()) -> None:
        """Run the functions `before`, which fill global variables, and save all global variables.

        `State.restore` later restores the saved content. Call this method first in each process.
        """
        self.code.construct()
        self.fresh = self._contents()
        for name in before:
            native = self.native(name)
            if native is not None:
                native([])
        self.image = self._contents()

    def _contents(self) -> dict[int, bytes]:
        return {one.address: ctypes.string_at(one.address, one.size) for one in self.code.variables}

    def native(self, name: str) -> Native | None:
        """Return a Python callable for the function `name`; None if it cannot be called."""
        return self._natives[name]

    def changeable(self, name: str) -> set[str]:
        """Return the names of global variables that the function `name` or its callees may change.

        This includes variables that are too large to be restored.
        """
        named = {
            one
            for inner in reachable_functions(self.functions, name)
            for one in self.functions[inner].globals
        }
        named |= {f"slowpath.outside.{one}" for one in named}
        return named & self.code.changeable

    def restorable(self, names: Sequence[str]) -> bool:
        """Return true if all variables that the functions `names` may change can be restored."""
        return all(
            self.code.variable(one) is not None for name in names for one in self.changeable(name)
        )

    def variables(self, name: str) -> list[Variable]:
        """Return the global variables that the function `name` or its callees may change.

        Variables that are too large to be restored are left out.
        """
        found = [self.code.variable(one) for one in sorted(self.changeable(name))]
        return [one for one in found if one is not None][:_MOST_VARIABLES]


class Memory:
    """Memory that a function may write: the memory of a pointer parameter, or a global variable."""

    def __init__(self, address: int, size: int, parameter: int | None, variable: str = "") -> None:
        self.address, self.size = address, size
        self.parameter = parameter  # index; None for a variable
        self.variable = variable  # name; empty for a region

    def read(self, size: int | None = None, offset: int = 0) -> bytes:
        """Return `size` bytes of the memory, starting at `offset`; by default the whole memory."""
        return ctypes.string_at(self.address + offset, self.size if size is None else size)

    def write(self, text: bytes, offset: int = 0) -> None:
        """Write the bytes `text` to the memory, starting at `offset`."""
        ctypes.memmove(self.address + offset, text, len(text))


class State:
    """A selection of a module's global variables, whose content can be restored between calls."""

    def __init__(self, bench: Bench, variables: Sequence[Variable], *, fresh: bool = False) -> None:
        """Select the variables to restore.

        With `fresh`, `restore` sets them to their content before `Bench.prepare` ran any function.
        """
        self._bench, self._fresh = bench, fresh
        self._variables = variables

    def now(self) -> bytes:
        """Return the present content of all selected variables, joined."""
        return b"".join(ctypes.string_at(one.address, one.size) for one in self._variables)

    def restore(self) -> None:
        """Set the variables to the content that they have before each call.

        This is the content after `Bench.prepare`, or with `fresh` before it ran any function.
        """
        image = self._bench.fresh if self._fresh else self._bench.image
        for one in self._variables:
            ctypes.memmove(one.address, image[one.address], one.size)


class InitialBytes(NamedTuple):
    """Bytes to write to a certain place in memory before a function is called."""

    memory: Memory
    offset: int
    text: bytes


class BoundFunction:
    """A function of the program whose parameters have roles, such as data, length or key.

    Arguments are supplied according to these roles.
    """

    def __init__(
        self,
        bench: Bench,
        name: str,
        binding: Binding,
        *,
        blank: bool = False,
        fresh: bool = False,
    ) -> None:
        """Assign the roles of `binding` to the parameters of the function `name`.

        Before each call, the memory regions that its key and result parameters point to are filled
        with random bytes. With `blank`, result regions are filled with zeros instead. With `fresh`,
        global variables are reset to their content before `Bench.prepare` ran any function.
        """
        native = bench.native(name)
        if native is None:
            raise ValueError(f"{name} cannot be called")
        self._native = native
        self.function = bench.functions[name]
        self.binding = binding
        variables = bench.variables(name)
        self._state = State(bench, variables, fresh=fresh)
        pointing = [at for at, slot in enumerate(binding) if slot.role not in ("number", "length")]
        self._regions = {at: bench.regions[at] for at in pointing}
        written = [at for at in pointing if binding[at].role == "memory"]
        keys = [at for at in pointing if binding[at].role == "key"]
        self._contents = {at: bench.noise[at][:WINDOW] for at in (*keys, *written)}
        if blank:
            self._contents |= dict.fromkeys(written, bytes(WINDOW))
        self._plain = tuple(slot.value for slot in binding)
        self.memories = [Memory(self._regions[at].address, WINDOW, at) for at in written]
        """Memories that the function may write: first those of parameters, then variables."""
        self.memories += [
            Memory(one.address, min(one.size, WINDOW), None, one.name) for one in variables
        ]

    def call(
        self,
        data: bytes = b"",
        length: int = 0,
        numbers: Mapping[int, int] | None = None,
        given: Sequence[InitialBytes] = (),
        shift: int = 0,
    ) -> int:
        """Reset memory and variables, call the function, and return its result.

        `data` is written to the memory region of the data parameter, `shift` bytes after the start
        of a page, and `length` is its length argument. `numbers` maps parameter indices to numeric
        arguments, and `given` are initial bytes of memory regions; both replace defaults.
        """
        self._state.restore()
        arguments = list(self._plain)
        start = 0
        for at, region in self._regions.items():
            arguments[at] = region.address
            if self.binding[at].role == "data":
                region.write(data, shift)
                arguments[at] = start = region.address + shift
            elif at in self._contents:
                region.write(self._contents[at])
        for at, slot in enumerate(self.binding):
            if slot.role == "length":
                arguments[at] = length
            elif slot.role == "end":
                arguments[at] = start + len(data)
        for one in given:
            one.memory.write(one.text, one.offset)
        return self.again(arguments, numbers or {})

    def again(self, arguments: list[int], numbers: Mapping[int, int]) -> int:
        """Call the function without resetting memory and variables, and return its result.

        A second call can thus continue the computation of a first one. `numbers` maps parameter
        indices to values that replace those in `arguments`.
        """
        for at, value in numbers.items():
            arguments[at] = value
        return self._native(arguments)

    def addresses(self) -> list[int]:
        """Return default arguments for `again`: addresses of memory regions, and numbers."""
        arguments = list(self._plain)
        for at, region in self._regions.items():
            arguments[at] = region.address
        return arguments


CONTEXT, DATA, OUT, KEY, NONCE = range(5)
"""Indices of the memory regions, named by their use."""
_WINDOW = 2048
"""Number of bytes of each region that are initialised before a run."""


class SharedMemoryRun:
    """Calls of several functions, one after another, on the same memory regions and variables.

    For example, one function sets up a key in memory, and another one uses it.
    """

    def __init__(self, bench: Bench, names: Sequence[str]) -> None:
        variables = dict[int, Variable]()
        for name in names:
            variables |= {one.address: one for one in bench.variables(name)}
        self._state = State(bench, list(variables.values()))
        self._bench = bench
        self.regions = bench.regions[: NONCE + 1]

    def start(self, contents: Mapping[int, bytes], *, zero: Sequence[int] = (CONTEXT,)) -> None:
        """Prepare memory and variables for a new sequence of calls.

        Restore variables; fill the memory regions in `zero` with zeros, others with random bytes.
        Then write `contents`, bytes by index of the region, to the start of each region.
        """
        self._state.restore()
        for at, region in enumerate(self.regions):
            text = bytes(_WINDOW) if at in zero else self._bench.noise[at][:_WINDOW]
            region.write(text)
            if at in contents:
                region.write(contents[at])

    def variables(self) -> bytes:
        """Return the content of all variables that the functions may change, joined."""
        return self._state.now()

    def call(self, name: str, arguments: Sequence[int]) -> int:
        """Call the function `name` of the module with `arguments`, and return its result.

        Raises:
            ValueError: if the function cannot be called.
        """
        native = self._bench.native(name)
        if native is None:
            raise ValueError(f"{name} cannot be called")
        return native(arguments)

    def address(self, region: int) -> int:
        """Return the address of the memory region with index `region`."""
        return self.regions[region].address

    def read(self, region: int, size: int = _WINDOW, offset: int = 0) -> bytes:
        """Return `size` bytes of the memory region with index `region`, starting at `offset`."""
        return self.regions[region].read(size, offset)


def kinds(bench: Bench, name: str) -> str:
    """Return the kinds of a function's parameters, one letter each: p (pointer) or i (integer).

    The text is empty if the function cannot be called.
    """
    function = bench.functions[name]
    if bench.native(name) is None:
        return ""
    return "".join("p" if one.kind == "pointer" else "i" for one in function.parameters)


def filled(pattern: str, pointers: Sequence[int], numbers: Sequence[int]) -> list[int]:
    """Return arguments for a function, chosen by the kinds of its parameters.

    `pattern` is the result of `kinds`. Each p takes the next of `pointers`, and each i the next of
    `numbers`.
    """
    next_pointer, next_number = iter(pointers), iter(numbers)
    return [next(next_pointer if kind == "p" else next_number) for kind in pattern]
