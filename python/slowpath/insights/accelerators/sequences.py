"""Functions as sequences of words, and frequent patterns (PrefixSpan).

Source: J. Pei et al., PrefixSpan (ICDE 2001), with a limit on gaps.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from slowpath.insights.source.functions import Block, Function, Instruction, Loop, loops

_SILENT = frozenset({"br", "phi", "zext", "sext", "trunc", "ret", "bitcast", "freeze", "alloca"})
"""Instructions that say little about a computation."""
_WIDE = re.compile(r"\bi(\d+)\b|\bptr\b")
_CONSTANT = re.compile(r", (-?\d+)$")
_INTRINSIC = re.compile(r"@llvm\.(\w+)")
_BITWISE = frozenset({"xor", "and", "or", "add", "sub", "mul", "urem", "srem", "udiv", "sdiv"})
_SHIFTS = frozenset({"shl", "lshr", "ashr"})
_TELLING = {"lshr": (1, 4, 8, 16, 24), "shl": (1, 4, 8, 16, 24), "and": (1, 15, 255, 65535)}
"""Constants that get a word of their own."""

Words = tuple[str, ...]


def sequences(function: Function) -> list[Words]:
    """Return the words of each innermost loop, or of the whole function if it has no loop."""
    blocks = {block.name: block for block in function.blocks}
    inner = innermost(loops(function))
    if not inner:
        return [words(function.blocks)]
    return [
        words([block for name, block in blocks.items() if name in loop.blocks]) for loop in inner
    ]


def innermost(found: Sequence[Loop]) -> list[Loop]:
    """Return the loops that contain no other loop."""
    return [
        loop
        for loop in found
        if not any(other.header in loop.blocks for other in found if other is not loop)
    ]


def words(blocks: Sequence[Block]) -> Words:
    """Return the words of blocks, in order."""
    return tuple(
        word
        for block in blocks
        for instruction in block.instructions
        if (word := _word(instruction)) is not None
    )


def _word(instruction: Instruction) -> str | None:
    opcode, text = instruction.opcode, instruction.text
    if opcode in _SILENT or not opcode:
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
        return f"{opcode}.{value}" if value in _TELLING.get(opcode, ()) else f"{opcode}.c"
    return "gep" if opcode == "getelementptr" else opcode


def _width(text: str) -> str:
    found = _WIDE.search(text)
    return "" if found is None else found[1] or "p"


def chases_pointers(function: Function) -> bool:
    """Return true if a loop follows pointers that it loads, as walks of tries do."""
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


def _results(block: Block, what: str) -> Iterator[str]:
    for instruction in block.instructions:
        name, _, rest = instruction.text.partition(" = ")
        if rest.startswith(what):
            yield name


MOST_WORDS = 4
GAP = 3
"""Most words of a sequence between two words of a pattern."""


def mine(sequences: Sequence[Words], least: int) -> dict[Words, int]:
    """Return the patterns that at least `least` sequences have, and their number of sequences."""
    found = dict[Words, int]()
    start = [(at, tuple(range(len(one)))) for at, one in enumerate(sequences)]
    _grow((), start, sequences, least, found)
    return {pattern: count for pattern, count in found.items() if len(pattern) > 1}


Ends = tuple[int, ...]
"""Positions in a sequence at which the next word of a pattern may stand."""


def _grow(
    prefix: Words,
    projected: Iterable[tuple[int, Ends]],
    sequences: Sequence[Words],
    least: int,
    found: dict[Words, int],
) -> None:
    following = dict[str, dict[int, set[int]]]()
    for at, places in projected:
        words = sequences[at]
        for place in places:
            following.setdefault(words[place], {}).setdefault(at, set()).add(place)
    for word, by_sequence in sorted(following.items()):
        if len(by_sequence) < least:
            continue
        pattern = (*prefix, word)
        found[pattern] = len(by_sequence)
        if len(pattern) == MOST_WORDS:
            continue
        projected_on = [
            (at, _after(places, len(sequences[at]))) for at, places in by_sequence.items()
        ]
        _grow(pattern, projected_on, sequences, least, found)


def _after(places: Iterable[int], size: int) -> Ends:
    reached = {other for place in places for other in range(place + 1, min(size, place + 2 + GAP))}
    return tuple(sorted(reached))


def occurs(pattern: Words, sequence: Words) -> bool:
    """Return true if a sequence has a pattern."""
    places: Iterable[int] = [at for at, word in enumerate(sequence) if word == pattern[0]]
    for word in pattern[1:]:
        places = [at for at in _after(places, len(sequence)) if sequence[at] == word]
        if not places:
            return False
    return bool(places)


def telling(
    of: Sequence[Words], others: Sequence[Words], most: int, *, support: float = 0.2
) -> list[Words]:
    """Return the patterns that best separate sequences: frequent in `of`, rare in `others`."""
    least = max(2, round(support * len(of)))
    scored = Counter[Words]()
    for pattern, count in mine(of, least).items():
        rate = count / len(of)
        wrong = sum(occurs(pattern, one) for one in others) / max(1, len(others))
        scored[pattern] = round(1e6 * (rate - wrong))
    chosen = list[Words]()
    covered = Counter[frozenset[int]]()
    for pattern, score in sorted(scored.items(), key=lambda one: (-one[1], one[0])):
        has = frozenset(at for at, one in enumerate(of) if occurs(pattern, one))
        if score <= 0 or covered[has] >= 2:  # noqa: PLR2004 - two others match the same sequences
            continue
        covered[has] += 1
        chosen.append(pattern)
        if len(chosen) == most:
            break
    return chosen
