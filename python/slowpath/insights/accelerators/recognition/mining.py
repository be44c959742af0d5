"""Sequential patterns that are frequent in some sequences and rare in others (PrefixSpan).

Source: J. Pei et al., PrefixSpan (ICDE 2001), with a limit on gaps.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from slowpath.insights.accelerators.recognition.sequences import Words

MOST_WORDS = 4
GAP = 3
"""Words of a sequence that may stand between two of a pattern."""


def mine(sequences: Sequence[Words], least: int) -> dict[Words, int]:
    """Patterns that at least so many sequences have, and how many do."""
    found = dict[Words, int]()
    start = [(at, tuple(range(len(one)))) for at, one in enumerate(sequences)]
    _grow((), start, sequences, least, found)
    return {pattern: count for pattern, count in found.items() if len(pattern) > 1}


Ends = tuple[int, ...]
"""Where the next word of a pattern may stand, in a sequence."""


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
    """Whether a sequence has a pattern."""
    places: Iterable[int] = [at for at, word in enumerate(sequence) if word == pattern[0]]
    for word in pattern[1:]:
        places = [at for at in _after(places, len(sequence)) if sequence[at] == word]
        if not places:
            return False
    return bool(places)


def telling(
    of: Sequence[Words], others: Sequence[Words], most: int, *, support: float = 0.2
) -> list[Words]:
    """The patterns that tell sequences from others best: frequent in these, rare in those."""
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
        if score <= 0 or covered[has] >= 2:  # noqa: PLR2004 - others say the same
            continue
        covered[has] += 1
        chosen.append(pattern)
        if len(chosen) == most:
            break
    return chosen
