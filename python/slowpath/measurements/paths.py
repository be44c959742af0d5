"""Which paths of a program are measured."""

from collections.abc import Sequence

from slowpath.schema.results import PathResult

BETWEEN = 6
"""How many paths stand for those between the slowest and the fastest."""


def instructions_of(path: PathResult) -> int:
    """How many instructions a path of a target that counts them takes."""
    return int(path["cost"]["instructions"])


def slowest_to_fastest(paths: Sequence[PathResult]) -> list[tuple[int, PathResult]]:
    """The slowest and the fastest path, and some between, each with its rank; slowest first.

    Those between are spread evenly over the ranks of all numbers of instructions that there are.
    """
    ranked = list(enumerate(paths, 1))
    by_cost: dict[int, tuple[int, PathResult]] = {}
    for rank, path in ranked:
        by_cost.setdefault(instructions_of(path), (rank, path))
    distinct = [by_cost[cost] for cost in sorted(by_cost, reverse=True)]
    if len(distinct) <= BETWEEN + 2:
        return distinct
    steps = BETWEEN + 1
    return [distinct[(len(distinct) - 1) * step // steps] for step in range(steps + 1)]


def slowest(paths: Sequence[PathResult], count: int) -> list[tuple[int, PathResult]]:
    """So many of the slowest paths, each with its rank."""
    return list(enumerate(paths[:count], 1))
