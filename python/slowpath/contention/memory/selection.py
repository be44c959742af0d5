"""Selection of the recipe that predicts held-out and outer rows best.

Cross-validation says how models do among their rows; queries may be beyond them, with competitors
of other kinds, or several at once.

Two kinds of rows are held out: groups at random, which says how a recipe does among the rows, and
the ends of each axis, which says how it does beyond them. Both count, by `END_WEIGHT`.

A recipe that is clearly worse than the best one after the first repetition is not tried further: a
race (Maron and Moore, "Hoeffding Races", NIPS 1993), here with errors compared row by row. What
recipes have in common is learnt once.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.features import Rows, accesses, columns_of
from slowpath.contention.memory.folds import Mask, grouped_folds, groups, relative
from slowpath.contention.memory.recipes import RECIPES, Member, Recipe, fit_stage, sees

Floats = NDArray[np.float64]

_SHARE = 0.2
_FEWEST_HELD_OUT = 2
_LEFT = 5


def held_out_ends(columns: Mapping[str, Floats]) -> Iterator[tuple[str, Mask]]:
    """The lowest and the highest fifth of rows by each axis: the name, and which rows."""
    for name, values in _axes(columns):
        for end, held_out in (
            ("low", values < np.quantile(values, _SHARE)),
            ("high", values > np.quantile(values, 1 - _SHARE)),
        ):
            if held_out.sum() >= _FEWEST_HELD_OUT and (~held_out).sum() >= _LEFT:
                yield f"{end} {name}", held_out


def _axes(columns: Mapping[str, Floats]) -> Iterator[tuple[str, Floats]]:
    for name in ("flow_count", "packet_size_bytes", "score", "ipc", "wss_mb"):
        if name in columns:
            yield name, columns[name]
    if "l2crd" in columns:
        yield "accesses", accesses(columns)


FOLDS = 5
REPETITIONS = 2
END_WEIGHT = 0.25
CLEARLY = 2.0
"""Standard errors of the mean difference between two recipes, row by row."""


class Score(NamedTuple):
    """How a recipe does on rows that it has not seen."""

    recipe: str
    among: float  # MAPE of groups held out at random
    beyond: float | None  # MAPE of ends held out; None where there are none, or it is out before

    @property
    def overall(self) -> float:
        """What recipes are ranked by."""
        if self.beyond is None:
            return self.among
        return (1 - END_WEIGHT) * self.among + END_WEIGHT * self.beyond


class Selection(NamedTuple):
    """The recipe that was taken, and how all did."""

    recipe: Recipe
    scores: tuple[Score, ...]  # in the order of recipes
    end_errors: Mapping[str, Floats]  # of that recipe


def candidates(rows: Rows) -> list[Recipe]:
    """What can be selected: recipes that see what devices move, where rows tell that apart."""
    return [one for one in compared(rows) if not one.baseline]


def compared(rows: Rows) -> list[Recipe]:
    """The same, and what others did."""
    devices = bool(np.ptp(rows.columns.get("dma_mb", np.zeros(1))) > 0)
    return [one for one in RECIPES.values() if one.baseline or one.devices == devices]


def select(rows: Rows, recipes: Sequence[Recipe] | None = None) -> Selection:
    """The recipe with the least error on held-out rows; the same rows select the same."""
    tried = candidates(rows) if recipes is None else recipes
    held_out = _HeldOut(rows)
    first = [held_out.errors(recipe, FOLDS, 0) for recipe in tried]
    clear = _clearly_worse(first)
    scores, ends = [], list[Mapping[str, Floats]]()
    for recipe, off, out in zip(tried, first, clear, strict=True):
        if out:
            scores.append(Score(recipe.name, float(off.mean()), None))
            ends.append({})
            continue
        more = [held_out.errors(recipe, FOLDS, seed) for seed in range(1, REPETITIONS)]
        end = held_out.end_errors(recipe)
        beyond = float(np.mean([one.mean() for one in end.values()])) if end else None
        scores.append(Score(recipe.name, float(np.mean([off, *more])), beyond))
        ends.append(end)
    left = [at for at, out in enumerate(clear) if not out]
    best = min(left, key=lambda at: scores[at].overall)
    return Selection(tried[best], tuple(scores), ends[best])


def end_errors(recipe: Recipe, rows: Rows) -> Mapping[str, Floats]:
    """Relative errors of the rows at each end, predicted from the rest."""
    return _HeldOut(rows).end_errors(recipe)


def _clearly_worse(off: Sequence[Floats]) -> list[bool]:
    """Which relative errors are larger than the least ones by more than chance makes them."""
    best = min(off, key=np.mean)
    return [_clearly_larger(one - best) for one in off]


def _clearly_larger(differences: Floats) -> bool:
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else math.inf
    return float(differences.mean()) > CLEARLY * spread / math.sqrt(len(differences))


class _HeldOut:
    """Rows that are held out, predicted from the rest."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._groups = groups(rows.columns)
        self._known = dict[tuple[object, bytes], Floats]()

    def errors(self, recipe: Recipe, folds: int, seed: int) -> Floats:
        """Relative error of each row, predicted from the other groups."""
        off = np.zeros(len(self._rows.throughput))
        for held_out in grouped_folds(self._groups, folds, seed):
            off[held_out] = self._off(recipe, held_out)
        return off

    def end_errors(self, recipe: Recipe) -> Mapping[str, Floats]:
        """Relative errors of the rows at each end, predicted from the rest."""
        ends = held_out_ends(self._rows.columns)
        return {name: self._off(recipe, held_out) for name, held_out in ends}

    def _off(self, recipe: Recipe, held_out: Mask) -> Floats:
        parts = [self._predicted(recipe, one, held_out) for one in recipe.members]
        predicted = np.exp(np.mean(parts, axis=0))
        return relative(predicted, self._rows.throughput[held_out])

    def _predicted(self, recipe: Recipe, member: Member, held_out: Mask) -> Floats:
        """Logarithms of what a member says; of those that see the same, one learns."""
        key = sees(member, self._rows), held_out.tobytes()
        found = self._known.get(key)
        if found is None:
            alone = recipe._replace(members=(member,))
            stage = fit_stage(alone, self._rows.where(~held_out))
            found = stage.log_throughput(columns_of(self._rows.columns, held_out))
            self._known[key] = found
        return found
