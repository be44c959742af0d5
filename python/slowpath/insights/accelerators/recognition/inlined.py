"""What of a function is its own, and not code of others that has become a part of it."""

from collections.abc import Collection

from slowpath.insights.accelerators.recognition.sequences import innermost, words
from slowpath.insights.preparation.functions import Function
from slowpath.insights.preparation.graph import loops
from slowpath.insights.preparation.metadata import Metadata


def without(function: Function, metadata: Metadata, others: Collection[str]) -> Function | None:
    """The function without the instructions of others, by symbols, that were inlined.

    None: it had loops, and has none of its own.
    """
    names = frozenset(others) - {function.name}
    blocks = tuple(
        block._replace(
            instructions=tuple(
                one
                for one in block.instructions
                if one.place is None or not metadata.around(one.place) & names
            )
        )
        for block in function.blocks
    )
    if blocks == function.blocks:
        return function
    left = function._replace(blocks=blocks)
    by_name = {block.name: block for block in blocks}
    inner = innermost(loops(function))
    own = any(words([by_name[name] for name in loop.blocks]) for loop in inner)
    return left if own or not inner else None
