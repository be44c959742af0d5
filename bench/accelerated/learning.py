"""Trains the classifier of accelerator functions: patterns, support vector machines, probabilities.

Frequent patterns are found by PrefixSpan (J. Pei et al., ICDE 2001), with a limit on gaps.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.svm import LinearSVC

from slowpath.insights.accelerators.classifier import (
    Ends,
    Model,
    Words,
    occurs,
    places_after,
    probability,
    read_model,
)

KINDS = ("crc", "checksum", "hash", "cipher", "lpm")
_PATTERNS = 14
_MOST_WORDS = 4
_COST = 0.3
Numbers = npt.NDArray[np.float64]


class Row(NamedTuple):
    """A row of the training data: a function with its label."""

    project: str
    function: str
    label: str  # one of KINDS, `none`, or `other` for algorithms outside the search
    sequences: tuple[tuple[str, ...], ...]
    plain: tuple[float, ...]


def learn(rows: Sequence[Row], folds: int = 5) -> str:
    """Train the classifier on labelled functions, and return the model as text.

    Its probabilities are computed on functions of projects that were left out of the training.
    """
    rows = [row for row in rows if row.label != "other"]  # neither positive nor negative
    patterns = _patterns(rows)
    numbers = _numbers(rows, patterns)
    machines = []
    groups = [row.project for row in rows]
    for kind in KINDS:
        labels = np.array([row.label == kind for row in rows])
        margins = np.zeros(len(rows))
        splits = min(folds, len(set(groups)))
        if splits > 1:
            for train, test in GroupKFold(splits).split(numbers, labels, groups):
                if labels[train].any():
                    fitted = _machine(numbers[train], labels[train])
                    margins[test] = fitted.decision_function(numbers[test])
        full = _machine(numbers, labels)
        if splits < 2:  # noqa: PLR2004
            margins = full.decision_function(numbers)
        platt = LogisticRegression(C=1.0).fit(margins.reshape(-1, 1), labels)
        machines.append(
            {
                "kind": kind,
                "weights": [round(float(one), 4) for one in full.coef_[0]],
                "bias": round(float(full.intercept_[0]), 4),
                "slope": round(float(platt.coef_[0][0]), 4),
                "offset": round(float(platt.intercept_[0]), 4),
            }
        )
    return json.dumps(
        {"patterns": [" ".join(one) for one in patterns], "machines": machines}, indent=1
    )


def _machine(numbers: Numbers, labels: Numbers) -> LinearSVC:
    return LinearSVC(C=_COST, class_weight="balanced", max_iter=20000, random_state=1).fit(
        numbers, labels
    )


def _patterns(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    found = dict[tuple[str, ...], None]()
    for kind in KINDS:
        positives = [one for row in rows if row.label == kind for one in row.sequences]
        others = [one for row in rows if row.label != kind for one in row.sequences]
        found.update(dict.fromkeys(telling(positives, others, _PATTERNS)))
    return list(found)


def frequent_patterns(sequences: Sequence[Words], least: int) -> dict[Words, int]:
    """Return the patterns of tokens that occur in at least `least` sequences, with their counts."""
    found = dict[Words, int]()
    start = [(at, tuple(range(len(one)))) for at, one in enumerate(sequences)]
    _grow((), start, sequences, least, found)
    return {pattern: count for pattern, count in found.items() if len(pattern) > 1}


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
        if len(pattern) == _MOST_WORDS:
            continue
        projected_on = [
            (at, places_after(places, len(sequences[at]))) for at, places in by_sequence.items()
        ]
        _grow(pattern, projected_on, sequences, least, found)


def telling(
    of: Sequence[Words], others: Sequence[Words], most: int, *, support: float = 0.2
) -> list[Words]:
    """Return at most `most` patterns that distinguish the sequences `of` from `others`.

    They occur often in the former, in at least the fraction `support`, and rarely in the latter.
    """
    least = max(2, round(support * len(of)))
    scored = Counter[Words]()
    for pattern, count in frequent_patterns(of, least).items():
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


def _numbers(rows: Sequence[Row], patterns: Sequence[tuple[str, ...]]) -> Numbers:
    return np.array(
        [
            [
                *row.plain,
                *(float(any(occurs(one, text) for text in row.sequences)) for one in patterns),
            ]
            for row in rows
        ]
    )


def predicted(rows: Sequence[Row], model: Model) -> list[tuple[str, float]]:
    """Return the kind that a model predicts for each function, and the probability of this kind."""
    found = []
    for numbers in _numbers(rows, model.patterns).tolist():
        likely = {one.kind: probability(one, numbers) for one in model.machines}
        kind = max(likely, key=lambda one: likely[one])
        found.append((kind, likely[kind]) if likely[kind] >= 0.5 else ("none", 1 - likely[kind]))  # noqa: PLR2004
    return found


__all__ = ["KINDS", "Row", "learn", "predicted", "read_model"]
