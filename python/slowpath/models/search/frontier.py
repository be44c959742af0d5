"""What a search finds: for each number of segments and each rank, the segments that fit best.

Every criterion that weighs the loss against these two numbers has its best model among them.
"""

from typing import NamedTuple, TypeAlias

from slowpath.models.search.costs import Piece


class Found(NamedTuple):
    """Segments that cover all points, and their surprise; or error, where that is judged."""

    loss: float
    pieces: tuple[Piece, ...]


Frontier: TypeAlias = dict[tuple[int, int], Found]
"""By number of segments and sum of ranks."""
