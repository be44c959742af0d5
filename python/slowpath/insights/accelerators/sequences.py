"""Represents functions as sequences of words (normalised instructions), and finds patterns."""

import re
from collections.abc import Iterable, Iterator, Sequence

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
    """Return the normalised instructions of each innermost loop, as words.

    For a function without loops, return the words of the whole function.
    """
    blocks = {block.name: block for block in function.blocks}
    inner = innermost(loops(function))
    if not inner:
        return [words(function.blocks)]
    return [
        words([block for name, block in blocks.items() if name in loop.blocks]) for loop in inner
    ]


def innermost(found: Sequence[Loop]) -> list[Loop]:
    """Return the innermost loops: those of `found` that do not contain another loop."""
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
    """Return true if a loop follows pointers that it loads, like the walk of a trie."""
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
    """Return the positions in a sequence at which the next word of a pattern may be.

    The previous word is at one of `places`; `size` is the length of the sequence.
    """
    reached = {other for place in places for other in range(place + 1, min(size, place + 2 + GAP))}
    return tuple(sorted(reached))


def occurs(pattern: Words, sequence: Words) -> bool:
    """Return true if a sequence has all words of a pattern, with gaps of at most `GAP` words."""
    places: Iterable[int] = [at for at, word in enumerate(sequence) if word == pattern[0]]
    for word in pattern[1:]:
        places = [at for at in places_after(places, len(sequence)) if sequence[at] == word]
        if not places:
            return False
    return bool(places)
