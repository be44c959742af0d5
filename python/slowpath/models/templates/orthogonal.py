"""Least squares for many pieces at once: what is linear in its parameters."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.models.templates.batch import Batch, Floats

_TINY = 1e-12
"""A column that is so much of the ones before adds nothing: all its points are at one place."""


class Projection(NamedTuple):
    """What is closest to y of all sums of some columns, each with a factor."""

    fitted: Floats
    factors: Floats  # a row for each column, a column for each piece


def orthogonal(batch: Batch, columns: Sequence[Floats]) -> list[Projection]:
    """Least squares with the first column, with the first two, and so on.

    Columns are such of residuals. Each is orthogonalised twice (Kahan's and Parlett's "twice is
    enough"); one that is a combination of those before adds nothing.
    """
    known: list[tuple[Floats, Floats]] = []  # directions, and the factors that make them
    rest = batch.y / batch.scale
    whole, found = np.zeros_like(rest), []
    total = np.zeros((len(columns), len(batch.starts)))
    for number, column in enumerate(columns):
        direction, factors = column, np.zeros_like(total)
        factors[number] = 1.0
        before = np.sqrt(batch.sums(direction**2))
        for _ in range(2 if known else 0):
            for other, made in known:
                share = batch.sums(direction * other)
                direction = direction - batch.spread(share) * other
                factors[:number] -= share * made[:number]
        norm = np.sqrt(batch.sums(direction**2))
        inverse = np.where(norm > _TINY * before, 1 / np.where(norm > 0, norm, 1.0), 0.0)
        direction, factors = direction * batch.spread(inverse), factors * inverse
        known.append((direction, factors))
        share = batch.sums(rest * direction)
        part = batch.spread(share) * direction
        rest, whole, total = rest - part, whole + part, total + share * factors
        found.append(Projection(whole * batch.scale, total[: number + 1]))
    return found
