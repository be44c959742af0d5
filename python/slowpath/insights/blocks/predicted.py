"""Predicts the SmartNIC instructions of blocks with two learnt models.

One model is a tree and works on BPF instructions. The other one is additive and works on LLVM IR;
it is used for functions that LLVM's BPF back end rejects.

Both take descriptions of instructions as words, were trained on synthetic programs
(`bench/insights_blocks.py`), and are shipped as JSON. The additive model adds a non-negative weight
for each word of a block. A node of the tree is a sequence of words; the node for the longest known
prefix of an instruction's words has the prediction.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from slowpath.core.engine.objects import Given
from slowpath.insights.blocks import pointers
from slowpath.insights.blocks.counted import function_row, times_of
from slowpath.insights.blocks.documents import (
    PredictedBlock,
    PredictedFunction,
    PredictedProgram,
    Question,
)
from slowpath.insights.blocks.functions import POINTS, Plain, as_program
from slowpath.insights.blocks.lowering import (
    Described,
    Machine,
    Prepared,
    blocks,
    lower,
    prepared,
    value,
)
from slowpath.insights.blocks.pointers import IrModule, Kind, Traced
from slowpath.insights.blocks.tokens import Describer, Said
from slowpath.insights.blocks.wrapping import ADDED
from slowpath.insights.source.calls import RECEIVING, find_entry
from slowpath.insights.source.entry import Entry, packet_functions
from slowpath.insights.source.functions import Block, Function, Parameter, functions_of

_DEFAULT_WEIGHT = 1.6
"""Number of instructions that a word counts as if its group did not occur in training."""
_Errors = Sequence[tuple[float, float, float]]
"""Error model: for each range of predictions, the upper end of the range, and the factors that
give the lower and upper end of an interval.
"""


class Predicted(NamedTuple):
    """The predicted number of SmartNIC instructions of a block, with an interval.

    Four in five of the blocks that were held out from training lie in their intervals.
    """

    instructions: float
    low: float
    high: float


def _predicted(instructions: float, errors: _Errors) -> Predicted:
    low, high = next(
        ((low, high) for end, low, high in errors if instructions <= end), errors[-1][1:]
    )
    return Predicted(instructions, instructions * low, instructions * high)


class AdditiveModel:
    """An additive model that predicts the SmartNIC instructions of a block of LLVM IR.

    The block is described by words; each word adds its learnt weight.
    """

    def __init__(self, saved: Mapping[str, Any]) -> None:
        """Load the model from the parsed content of its JSON file."""
        self.weights: dict[str, float] = saved["weights"]
        self.groups: dict[str, float] = saved["groups"]
        self._errors: _Errors = saved["errors"]

    def predict(self, words: Sequence[str]) -> Predicted:
        """Predict the number of SmartNIC instructions of a block from the words that describe it.

        A word that is unknown to the model has the weight of its group.
        """
        instructions = sum(
            times * self.weights.get(word, self.groups.get(group(word), _DEFAULT_WEIGHT))
            for word, times in Counter(words).items()
        )
        return _predicted(instructions, self._errors)


def group(word: str) -> str:
    """Return the group of a word, whose weight serves for words that the model does not know.

    The group is the operation; for loads, stores, comparisons and addresses, it includes their
    kind.
    """
    parts = word.split()
    return " ".join(parts[:2]) if parts[0] in ("load", "store", "icmp", "address") else parts[0]


def shipped_model() -> AdditiveModel:
    """Load the additive model that is shipped with slowpath."""
    return AdditiveModel(_shipped("additive"))


def _shipped(name: str) -> Mapping[str, Any]:
    text = files("slowpath.insights").joinpath(f"models/{name}.json").read_text()
    saved: Mapping[str, Any] = json.loads(text)
    return saved


_STATE = frozenset({"element", "global", "table", "returned"})


class Costs(NamedTuple):
    """Predicted SmartNIC instructions and memory accesses of one BPF instruction or one block."""

    instructions: float
    packet: float  # accesses to the packet
    state: float  # accesses to state
    unknown: float  # accesses to packet or state


NOTHING = Costs(0.0, 0.0, 0.0, 0.0)


class TreeModel:
    """A tree model that predicts the costs of BPF instructions from words that describe them."""

    def __init__(self, saved: Mapping[str, Any]) -> None:
        """Load the model from the parsed content of its JSON file."""
        self._nodes = {words: Costs(*costs) for words, costs in saved["nodes"].items()}
        self._errors: _Errors = saved["errors"]

    def taken(self, words: Sequence[str]) -> Costs:
        """Predict the costs of a BPF instruction from the words that describe it.

        The longest prefix of the words that the tree knows decides. Return `NOTHING` if even the
        first word is unknown.
        """
        for count in range(len(words), 0, -1):
            found = self._nodes.get(" / ".join(words[:count]))
            if found is not None:
                return found
        return NOTHING

    def block(self, inside: Iterable[Described]) -> Costs:
        """Predict the costs of a block as the sum over its BPF instructions `inside`."""
        instructions = packet = state = unknown = 0.0
        for one in inside:
            costs = self.taken(one.words)
            instructions += costs.instructions + one.pieces
            packet += costs.packet
            state += costs.state
            if one.pointee == "packet":
                packet += costs.unknown
            elif one.pointee in _STATE:
                state += costs.unknown
            else:
                unknown += costs.unknown
        return Costs(instructions, packet, state, unknown)

    def interval(self, instructions: float) -> Predicted:
        """Add an interval to a predicted number of instructions.

        The width of the interval follows from errors on blocks that were held out from training.
        """
        return _predicted(instructions, self._errors)


def shipped_tree() -> TreeModel:
    """Load the tree model that is shipped with slowpath."""
    return TreeModel(_shipped("tree"))


# --- programs and functions -----------------------------------------------------------------------

_ROUNDED = 2
_PACKETS = ("xdp_md", "Packet", "WritablePacket", "rte_mbuf", "rte_mbuf *")
"""Structures of XDP, Click and DPDK that describe a packet."""


class Models(NamedTuple):
    """The two learnt models that predict SmartNIC instructions of blocks."""

    tree: TreeModel  # for BPF instructions
    words: AdditiveModel  # for LLVM IR without BPF instructions


_CONTEXT = Given.context(0, 4)
"""Assumed value of the argument of programs that wrap functions: an XDP context."""


class Lowered(NamedTuple):
    """A source as LLVM IR and as compiled BPF functions, ready for prediction."""

    language: IrModule
    machine: Machine
    shown: dict[str, str]  # names in the source by symbol of a function


def predicted_programs(question: Question) -> Iterator[PredictedProgram]:
    """Yield predictions of SmartNIC instructions for each program of a source.

    If the user requests a function, yield only the prediction for this function.

    Raises:
        InputError: when the source cannot be compiled, or lacks the requested function.
        StoppedError: when the deadline passes first.
    """
    source, known = prepared(question.file, question.clang), models()
    functions = functions_of(llvm.parse_assembly(source.text))
    module = _lowered(question, source, functions)
    for name in packet_functions(question.file, functions, question.entry):
        yield predict(module, find_entry(question.file, module.language.functions, name), known)


def models() -> Models:
    """Load the learnt models that are shipped with slowpath."""
    return Models(shipped_tree(), shipped_model())


def loaded(question: Question, source: Prepared) -> Lowered:
    """Read the functions of a source from its LLVM IR, and compile them to BPF.

    Raises:
        StoppedError: when the deadline passes first.
    """
    return _lowered(question, source, functions_of(llvm.parse_assembly(source.text)))


def _lowered(question: Question, source: Prepared, all_: Mapping[str, Function]) -> Lowered:
    functions = {name: one for name, one in all_.items() if not one.supports}
    shown = {name: one.shown for name, one in all_.items()}
    machine = lower(question.file, source, question.clang.until)
    own = {name: one for name, one in machine.functions.items() if name in functions}
    machine = machine._replace(functions=own)  # calls of header functions are framework calls
    return Lowered(IrModule(source.text, functions), machine, shown)


def predict(module: Lowered, entry: str, known: Models) -> PredictedProgram:
    """Predict the SmartNIC instructions of the function `entry` and its callees.

    `known` are the learnt models.
    """
    language = module.language
    kinds = [_kind(one) for one in language.functions[entry].parameters]
    traced = language.traced(entry, kinds)
    parameters = {
        name: [value(p, _kind(p)) for p in one.function.parameters] for name, one in traced.items()
    }
    made = blocks(module.machine, entry, parameters)
    return _program(module, entry, traced, made, known)


def predict_entry(
    question: Question, plain: Plain, entry: Entry, known: Models
) -> PredictedProgram:
    """Predict the SmartNIC instructions of a function that takes packets.

    The function is wrapped as a BPF program, but the code of the wrapper does not count.

    Raises:
        InputError: when the function cannot be a program.
        StoppedError: when the deadline passes first.
    """
    done, name = as_program(question, plain, entry), entry.function.name
    machine = lower(question.file, Prepared(done.text, for_bpf=True), question.clang.until)
    made = blocks(machine, name, {name: [_CONTEXT]}, done.framework)
    own = {*machine.functions, *machine.refused} - RECEIVING
    language = plain.language.only(own)
    traced = language.traced(name, [POINTS[role] for role in entry.roles])
    made = {
        one: {block: inside for block, inside in rows.items() if not block.startswith(ADDED)}
        for one, rows in made.items()
    }
    shown = {one: function.shown for one, function in plain.language.functions.items()}
    module = Lowered(language, machine, shown | done.framework)
    return _program(module, name, traced, made, known)


def _program(
    module: Lowered,
    entry: str,
    traced: Mapping[str, Traced],
    made: Mapping[str, dict[str, list[Described]]],
    known: Models,
) -> PredictedProgram:
    """Predict the SmartNIC instructions of the function `entry` and its callees.

    `traced` has the functions with the memory kinds of their pointers. `made` has their BPF
    instructions by function and block.
    """
    functions = [_function(one, module, made.get(name), known) for name, one in traced.items()]
    shown = module.language.functions[entry].shown
    functions.sort(key=lambda one: one["name"] != shown)
    rows = [row for one in functions for row in one["blocks"]]
    return {
        "entry": shown,
        "model": "learnt",
        "why": None,
        "functions": functions,
        "instructions": round(sum(one["instructions"] for one in rows), _ROUNDED),
        "wrapper": None,
        "around": None,
        "total": None,
    }


def _kind(parameter: Parameter) -> Kind:
    """Guess from the type of a parameter to which kind of memory it points.

    Pointers to bytes, numbers and headers point to the packet. Pointers to other structures, and to
    the object of a method, point to state.
    """
    if parameter.kind != "pointer" or parameter.described is None:
        return "unknown"
    pointee = parameter.described.pointee
    if parameter.described.artificial:
        return "state"
    if pointee in _PACKETS:
        return "context"
    return "packet" if pointee.endswith("hdr") or not parameter.described.members else "state"


def _function(
    traced: Traced, module: Lowered, made: dict[str, list[Described]] | None, known: Models
) -> PredictedFunction:
    """Predict the SmartNIC instructions of each block of a function.

    `made` has the function's BPF instructions by block; it is None if the BPF back end rejects the
    function. Then the prediction uses the LLVM IR.
    """
    function = traced.function
    if made is None:
        words = Describer(traced).said()
        rows = [
            _from_words(block, one, module, known.words)
            for block, one in zip(function.blocks, words, strict=True)
        ]
    else:
        inside = {block.name: block for block in function.blocks}
        order = [*inside, *(name for name in made if name not in inside)]
        rows = [
            _from_machine(inside.get(name), name, made.get(name, []), module, known.tree)
            for name in order
        ]
    return function_row(function, rows)


def _from_machine(
    block: Block | None, name: str, made: list[Described], module: Lowered, model: TreeModel
) -> PredictedBlock:
    """Predict the SmartNIC instructions of a block from its BPF instructions `made`.

    `name` is the name of the block; `block` is None for instructions outside of LLVM blocks.
    """
    costs = model.block(made)
    guess = model.interval(costs.instructions)
    row = _described(block, name, module)
    row["bpf"] = len(made)
    row["instructions"] = round(guess.instructions, _ROUNDED)
    row["low"], row["high"] = round(guess.low, _ROUNDED), round(guess.high, _ROUNDED)
    row["accesses"] = {
        "packet": round(costs.packet),
        "state": round(costs.state),
        "unknown": round(costs.unknown),
    }
    return row


def _from_words(block: Block, said: Said, module: Lowered, model: AdditiveModel) -> PredictedBlock:
    """Predict the SmartNIC instructions of a block from words that describe its LLVM IR.

    Use this instead of `_from_machine` if the BPF back end rejects the function of the block.
    """
    guess = model.predict(said.words)
    row = _described(block, said.block, module)
    row["instructions"] = round(guess.instructions, _ROUNDED)
    row["low"], row["high"] = round(guess.low, _ROUNDED), round(guess.high, _ROUNDED)
    row["accesses"] = {"packet": said.packet, "state": said.state, "unknown": said.unknown}
    return row


def _described(block: Block | None, name: str, module: Lowered) -> PredictedBlock:
    """Return the JSON entry of a block; the predicted numbers are 0 until the caller sets them."""
    language = module.language
    line = language.first_line(block)
    found = Counter[str]() if block is None else pointers.calls(block, language.functions)
    calls = Counter[str]()
    for what, times in found.items():
        calls[module.shown.get(what, what)] += times
    return {
        "name": name,
        "file": line.file if line else "",
        "line": line.line if line else 0,
        "llvm": 0 if block is None else pointers.counted(block),
        "bpf": None,
        "instructions": 0.0,
        "low": 0.0,
        "high": 0.0,
        "call_instructions": None,
        "accesses": {"packet": 0, "state": 0, "unknown": 0},
        "calls": times_of(calls),
        "refused": [],
    }
