"""Parts of a path in short: what repeats, as loops leave it, is counted."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

Range = tuple[int, int]
"""First and last instruction of a stretch that is executed in order."""

_LONGEST_BODY = 64
"""Longest repeated part looked for; longer loop bodies are written out."""

T = TypeVar("T")


class Repeat(NamedTuple, Generic[T]):
    """Parts that are executed `times` times one after the other."""

    body: tuple[T, ...]
    times: int


def join_adjacent(ranges: Sequence[Range]) -> list[Range]:
    """Joins stretches of which one continues where the other ends."""
    joined: list[Range] = []
    for first, last in ranges:
        if joined and joined[-1][1] + 1 == first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def fold_repeats(ranges: Sequence[T], longest: int = _LONGEST_BODY) -> list[Repeat[T]]:
    """Folds parts that repeat; of several ways at a place, the one that covers most."""
    folded: list[Repeat[T]] = []
    at = 0
    while at < len(ranges):
        best = Repeat((ranges[at],), 1)
        for size in range(1, min(longest, (len(ranges) - at) // 2) + 1):
            body = tuple(ranges[at : at + size])
            count = 1
            while tuple(ranges[at + count * size : at + (count + 1) * size]) == body:
                count += 1
            if count > 1 and count * size > best.times * len(best.body):
                best = Repeat(body, count)
        folded.append(best)
        at += best.times * len(best.body)
    return folded


def format_ranges(ranges: Sequence[Range]) -> str:
    """Ranges as `0-12, (13-20, 25-27) x160, 30`."""
    parts = []
    for body, times in fold_repeats(join_adjacent(ranges)):
        text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in body)
        if times > 1:
            text = f"{text} x{times}" if len(body) == 1 else f"({text}) x{times}"
        parts.append(text)
    return ", ".join(parts)
