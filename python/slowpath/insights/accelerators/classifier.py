"""Guesses the kind of accelerator that could replace a function, from its instructions.

A linear support vector machine judges features of the code. Most features are patterns: sequences
of normalised instructions, called words. The weights are in `classifier.json`;
`bench/accelerators.py` learns them.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from slowpath.insights.source.functions import Block, Function, Instruction, Loop, loops

_SKIPPED = frozenset({"br", "phi", "zext", "sext", "trunc", "ret", "bitcast", "freeze", "alloca"})
"""Instructions that have no word, because they say little about a computation."""
_TYPE = re.compile(r"\bi(\d+)\b|\bptr\b")
_CONSTANT = re.compile(r", (-?\d+)$")
_INTRINSIC = re.compile(r"@llvm\.(\w+)")
_BITWISE = frozenset({"xor", "and", "or", "add", "sub", "mul", "urem", "srem", "udiv", "sdiv"})
_SHIFTS = frozenset({"shl", "lshr", "ashr"})
_KEPT_CONSTANTS = {"lshr": (1, 4, 8, 16, 24), "shl": (1, 4, 8, 16, 24), "and": (1, 15, 255, 65535)}
"""Constants that words contain as they are; all other constants become `c`."""

Words = tuple[str, ...]


def sequences(function: Function) -> list[Words]:
    """Return one sequence of words (normalised instructions) for each innermost loop.

    For a function without loops, return a single sequence with the words of the whole function.
    """
    blocks = {block.name: block for block in function.blocks}
    inner = innermost(loops(function))
    if not inner:
        return [words(function.blocks)]
    return [
        words([block for name, block in blocks.items() if name in loop.blocks]) for loop in inner
    ]


def innermost(found: Sequence[Loop]) -> list[Loop]:
    """Return the innermost loops: those of `found` that contain no other loop."""
    return [
        loop
        for loop in found
        if not any(other.header in loop.blocks for other in found if other is not loop)
    ]


def words(blocks: Sequence[Block]) -> Words:
    """Return the words (normalised instructions) of all blocks, in order."""
    return tuple(
        word
        for block in blocks
        for instruction in block.instructions
        if (word := _word(instruction)) is not None
    )


def _word(instruction: Instruction) -> str | None:
    opcode, text = instruction.opcode, instruction.text
    if opcode in _SKIPPED or not opcode:
        return None
    if opcode in ("load", "store"):
        return f"{opcode}{_width(text)}"
    if opcode == "call":
        named = _INTRINSIC.search(text)
        return named[1] if named else "call"
    if opcode in _BITWISE or opcode in _SHIFTS:
        constant = _CONSTANT.search(text)
        if constant is None:
            return opcode
        value = int(constant[1])
        return f"{opcode}.{value}" if value in _KEPT_CONSTANTS.get(opcode, ()) else f"{opcode}.c"
    return "gep" if opcode == "getelementptr" else opcode


def _width(text: str) -> str:
    found = _TYPE.search(text)
    return "" if found is None else found[1] or "p"


def chases_pointers(function: Function) -> bool:
    """Return true if a loop of the function follows pointers that it loads, as in a trie."""
    blocks = {block.name: block for block in function.blocks}
    return any(_chases([blocks[name] for name in loop.blocks]) for loop in loops(function))


def _chases(blocks: Sequence[Block]) -> bool:
    read = {name for block in blocks for name in _results(block, "load ptr")}
    return any(
        set(re.findall(r"\[ (%\S+), ", instruction.text)) & read
        for block in blocks
        for instruction in block.instructions
        if instruction.opcode == "phi" and " ptr " in instruction.text
    )


def _results(block: Block, start: str) -> Iterator[str]:
    for instruction in block.instructions:
        name, _, rest = instruction.text.partition(" = ")
        if rest.startswith(start):
            yield name


GAP = 3
"""Maximum number of words in a sequence between two consecutive words of a pattern."""


Ends = tuple[int, ...]
"""Positions in a sequence at which the next word of a pattern may be."""


def places_after(places: Iterable[int], size: int) -> Ends:
    """Return the positions in a sequence of words at which the next word of a pattern may be.

    `places` are the possible positions of the pattern's previous word. At most `GAP` other words
    may lie between the two. `size` is the length of the sequence in words.
    """
    reached = {other for place in places for other in range(place + 1, min(size, place + 2 + GAP))}
    return tuple(sorted(reached))


def occurs(pattern: Words, sequence: Words) -> bool:
    """Return true if `sequence` contains the words of `pattern` in order.

    At most `GAP` other words may lie between two of them.
    """
    places: Iterable[int] = [at for at, word in enumerate(sequence) if word == pattern[0]]
    for word in pattern[1:]:
        places = [at for at in places_after(places, len(sequence)) if sequence[at] == word]
        if not places:
            return False
    return bool(places)


# --- features and classes -------------------------------------------------------------------------

_SHARES = (
    *("xor", "and", "or", "shl", "lshr", "add", "sub", "mul", "urem"),
    *("load8", "load16", "load32", "load64", "loadp", "store8", "store32"),
    *("gep", "icmp", "select", "call", "fshl", "bswap"),
)
"""Words whose share among all words is a feature; constants after a word are ignored."""


def features(function: Function, patterns: Sequence[Words]) -> list[float]:
    """Return the features of a function as numbers for the classifier.

    The features are the shares of certain opcodes among all opcodes, scaled counts, and a number
    for each pattern. This number is 1 if the pattern occurs in an innermost loop of the function
    (without loops: in the whole function), otherwise 0.
    """
    loop_words = sequences(function)
    all_words = words(function.blocks)
    counted = Counter(word.partition(".")[0] for one in loop_words for word in one)
    total = sum(counted.values()) or 1
    found = loops(function)
    tables = sum(
        "getelementptr" in instruction.text and "@" in instruction.text
        for block in function.blocks
        for instruction in block.instructions
    )
    numbers = [counted[word] / total for word in _SHARES]
    numbers += [
        math.log1p(len(all_words)) / 8,
        math.log1p(len(found)) / 2,
        float(max((one.depth for one in found), default=0)) / 3,
        math.log1p(tables) / 4,
        float(chases_pointers(function)),
    ]
    numbers += [float(any(occurs(one, text) for text in loop_words)) for one in patterns]
    return numbers


MODEL = Path(__file__).with_name("classifier.json")


class Machine(NamedTuple):
    """Weights of the linear classifier for one kind of accelerator.

    `slope` and `offset` turn the classifier's margin into a probability (Platt scaling).
    """

    kind: str
    weights: tuple[float, ...]
    bias: float
    slope: float
    offset: float


class Model(NamedTuple):
    """The trained classifier: patterns of instructions, and weights per kind of accelerator."""

    patterns: tuple[Words, ...]
    machines: tuple[Machine, ...]


@cache
def shipped() -> Model:
    """Return the trained classifier that is shipped with slowpath."""
    return read_model(MODEL.read_text(encoding="utf-8"))


def read_model(text: str) -> Model:
    """Parse a trained classifier from the text of a JSON file."""
    read = json.loads(text)
    return Model(
        tuple(tuple(one.split()) for one in read["patterns"]),
        tuple(
            Machine(
                one["kind"],
                tuple(one["weights"]),
                one["bias"],
                one["slope"],
                one["offset"],
            )
            for one in read["machines"]
        ),
    )


def classify(function: Function, model: Model | None = None) -> tuple[str, float]:
    """Return the most likely kind of accelerator for a function, and the confidence (0 to 1).

    The kind is `none` if no accelerator is likely. By default, the shipped classifier judges.
    """
    known = shipped() if model is None else model
    numbers = features(function, known.patterns)
    likely = {one.kind: probability(one, numbers) for one in known.machines}
    kind = max(likely, key=lambda one: likely[one])
    return (kind, likely[kind]) if likely[kind] >= 0.5 else ("none", 1 - likely[kind])  # noqa: PLR2004


def probability(machine: Machine, numbers: list[float]) -> float:
    """Return the probability (0 to 1) that a function suits the accelerator of `machine`.

    `numbers` are the features of the function.
    """
    margin = sum(map(float.__mul__, machine.weights, numbers)) + machine.bias
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, machine.slope * margin + machine.offset))))
