"""Recomputes results of Clara (Qiu et al., SOSP 2021) from its published tables.

Clara advises numbers of cores, and pairs of network functions that run well together on a NIC. The
tables are those of docs/reference/insights-files.md, with the numbers of the authors' repository.
Predictions are judged by cross-validation: models do not see the rows that they predict. All six
pairs of each group of four functions were measured.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.jobs.pool import StopRequested
from slowpath.insights.cores.curves import CORES, Curves, knees, read_curves
from slowpath.insights.cores.groups import (
    FUNCTIONS,
    NAMES,
    Alone,
    Groups,
    Paired,
    Scores,
    read_measured,
    scores,
)
from slowpath.insights.cores.model import TRAFFIC, CoresModel, advised, learn, predict
from slowpath.insights.cores.network import works
from slowpath.insights.cores.pairs import learn as learn_pairs
from slowpath.insights.cores.pairs import predicted
from slowpath.insights.cores.queueing import Array
from slowpath.insights.source.unit import require_numpy
from slowpath.reproduce.comparison import NOT_COMPUTED, Plan, Quantity, compared
from slowpath.reproduce.documents import ComparedValue
from slowpath.reproduce.registry import Source

# --- deviations of predictions from measurements --------------------------------------------------

COUNTS = (1, 2, 3)
"""Numbers of best pairs for which the overlap of predicted and measured pairs is computed."""


class Agreement(NamedTuple):
    """Agreement of predicted scores of pairs with measured ones, for each group of functions."""

    overlap: Array  # see `overlap`, for each of COUNTS, shape (groups, 3)
    loss: Array  # see `loss`, shape (groups,)


def groups_at(groups: Groups, pairs: Paired, places: np.ndarray) -> tuple[Groups, Paired]:
    """Return only the groups with the indices `places`, and their pairs."""
    members = (places[:, None] * FUNCTIONS + np.arange(FUNCTIONS)).ravel()
    part = Groups(
        groups.file,
        tuple(groups.names[at] for at in places),
        groups.functions.selected(members),
        tuple(groups.unusual[at] for at in members),
        Alone(*(one[places] for one in groups.alone)),
    )
    return part, Paired(*(one[places] for one in pairs))


def without_solo(groups: Groups) -> Groups:
    """Return a copy of the groups without the measurements of functions that run alone."""
    unmeasured = np.full(groups.alone.throughput.shape, np.nan)
    return groups._replace(alone=Alone(unmeasured, unmeasured))


def truth(groups: Groups, pairs: Paired) -> Scores:
    """Return the scores of pairs that follow from measured throughput and latency."""
    return scores(groups.alone.throughput, groups.alone.latency, *pairs)


def higher_is_better(found: Scores, name: str) -> Array:
    """Return the score `name` such that a higher value is better: latency scores are negated."""
    score: Array = getattr(found, name)
    return -score if name.startswith("latency") else score


def overlap(true: Array, predicted: Array, count: int) -> Array:
    """Return the share of the `count` best pairs that are among the predicted best, by group.

    Args:
        true: measured scores, higher is better, shape (groups, 6).
        predicted: predicted scores, shape (groups, 6).
        count: number of best pairs.
    """
    best = [np.argsort(-one, axis=1, kind="stable")[:, :count] for one in (true, predicted)]
    same = best[0][:, :, None] == best[1][:, None, :]
    return np.asarray(same.any(2).mean(1))


def loss(true: Array, predicted: Array) -> Array:
    """Return the share of the best score that the predicted best pair loses, by group.

    `true` has the measured scores, `predicted` the predicted ones, with the axes `[group, pair]`.
    """
    best = true.max(1)
    chosen = true[np.arange(len(true)), predicted.argmax(1)]
    return np.asarray((best - chosen) / np.abs(best))


def agreement(true: Scores, found: Scores, name: str) -> Agreement:
    """Compare predicted with measured values of the score `name`, for each group."""
    one, other = higher_is_better(true, name), higher_is_better(found, name)
    return Agreement(
        np.stack([overlap(one, other, count) for count in COUNTS], 1), loss(one, other)
    )


class Outcome(NamedTuple):
    """Errors of predicted throughput curves, and of advised numbers of cores, by function.

    The knee is the number of cores beyond which throughput hardly grows.
    """

    knee: Array  # |predicted - measured| in cores
    plain: Array  # |knee of the predicted curve - measured knee| in cores
    throughput: Array  # |predicted / measured - 1|, mean over the curve
    latency: Array  # |predicted / measured - 1|, mean over the curve
    covered: Array  # 1 if the interval contains the measured knee
    width: Array  # width of the interval, cores
    share: Array  # measured throughput at the advised cores / maximum measured throughput


def curves_of(curves: Curves, places: np.ndarray) -> Curves:
    """Return only the curves of the functions with the indices `places`."""
    names = tuple(curves.names[at] for at in places)
    functions = curves.functions.selected(places)
    return Curves(names, functions, curves.throughput[places], curves.latency[places])


def at_cores(throughput: Array, cores: Array) -> Array:
    """Return the throughput of each curve at its number of cores, interpolated linearly."""
    return np.array(
        [np.interp(at, CORES, curve) for at, curve in zip(cores, throughput, strict=True)]
    )


def inside(low: np.ndarray, high: np.ndarray, measured: np.ndarray) -> Array:
    """Return 1 for each measured value that is in its interval, and 0 for others."""
    return np.asarray((low <= measured) & (measured <= high), float)


def compared_curves(model: CoresModel, curves: Curves, confidence: float) -> Outcome:
    """Predict the throughput curves of functions, and compare them with the measured ones.

    `confidence` is that of the intervals for the advised numbers of cores.
    """
    points = predict(model, curves.functions, CORES)
    advice = advised(model, curves.functions, confidence).advice
    truth = knees(curves.throughput)
    return Outcome(
        np.abs(advice.cores - truth).astype(float),
        np.abs(knees(points.throughput) - truth).astype(float),
        np.abs(points.throughput / curves.throughput - 1).mean(1),
        np.abs(points.latency / curves.latency - 1).mean(1),
        inside(advice.low, advice.high, truth),
        (advice.high - advice.low).astype(float),
        at_cores(curves.throughput, advice.cores.astype(float)) / curves.throughput.max(1),
    )


# --- figures of the paper -------------------------------------------------------------------------

FOLDS = 5
_CONFIDENCE = 0.9
_HELD_OUT = (
    f"Our values are by cross-validation in {FOLDS} parts: no model sees the rows that it predicts."
)


# --- Figure 11: numbers of cores ------------------------------------------------------------------

_SCRIPT = {"hit": 2.45, "miss": 2.47}
"""Mean error in cores that the published script prints for its boosted trees, with its own division
of the data, by traffic.
"""
_KNEE = Quantity("error of the advised number of cores, mean", "cores")
_SHARE = Quantity("measured throughput at the advised cores, of the highest", "%")
_THROUGHPUT = Quantity("error of predicted throughput, mean", "%")


_LATENCY = Quantity("error of predicted latency, mean", "%")
_INSIDE = Quantity("90 % intervals that contain the measured optimum", "%")
_WIDTH = Quantity("width of these intervals, mean", "cores")


class Fold(NamedTuple):
    """A part of the published functions that is predicted by a model trained on the other parts."""

    traffic: str
    seed: int
    number: int


class CoresOfFold(NamedTuple):
    """Errors of advised cores for the functions of a fold, by slowpath and the paper's method."""

    ours: Outcome
    trees: Array  # |advised - measured|, cores
    best: Array  # measured throughput at the measured knee / maximum


def cores(source: Source) -> Plan:
    """Return the work that recomputes Figure 11: advised numbers of cores.

    Raises:
        InputError: if the tables are missing or damaged.
        UnavailableError: if a package is missing.
    """
    require_numpy()
    files = {
        traffic: source.file(f"{traffic}.csv.gz", f"netronome-scaling/{traffic}.csv.gz")
        for traffic in TRAFFIC
    }
    missing = [f"{traffic}.csv.gz" for traffic, file in files.items() if file is None]
    if missing:
        raise source.missing(" and ".join(missing))
    curves = {traffic: read_curves(str(file)) for traffic, file in files.items()}
    conditions = [
        _HELD_OUT,
        "Published errors are those that the authors' script prints for its own division; the "
        "paper states a deviation of 1 to 6 % for four functions.",
        "Boosted trees are the method of the paper, trained by slowpath on the same parts.",
        "The published share of the highest throughput is that at the measured optimum.",
    ]

    def plan(repetitions: int) -> Plan:
        folds = [
            Fold(traffic, seed, number)
            for traffic in TRAFFIC
            for seed in range(repetitions)
            for number in range(FOLDS)
        ]
        names = [fold.traffic for fold in folds]
        return Plan(
            names, folds, cores_of_fold, curves, _cores_rows, conditions, source.warnings(), plan
        )

    return plan(1)


def cores_of_fold(
    common: dict[str, Curves], fold: Fold, stop_requested: StopRequested
) -> CoresOfFold | None:
    """Train on all other folds, and judge the predictions for this fold.

    `common` has the curves for each traffic. Return None if a stop was requested.
    """
    if stop_requested():
        return None
    curves = common[fold.traffic]
    folds = np.random.default_rng(fold.seed).permutation(len(curves.names)) % FOLDS
    seen, left = np.flatnonzero(folds != fold.number), np.flatnonzero(folds == fold.number)
    part, held_out = curves_of(curves, seen), curves_of(curves, left)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compared_curves(learn(part, seed=fold.seed), held_out, _CONFIDENCE)
        trees = _trees(part, held_out)
    measured = knees(held_out.throughput)
    at_knee = at_cores(held_out.throughput, measured.astype(float))
    best = at_knee / held_out.throughput.max(1)
    return CoresOfFold(found, np.abs(trees - measured), best)


def _trees(seen: Curves, held_out: Curves) -> Array:
    """Return numbers of cores as the paper predicts them: by boosted trees over amounts of work.

    The trees are trained on the curves `seen`, and predict `held_out`.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    trees = HistGradientBoostingRegressor(
        max_depth=4, learning_rate=0.05, max_iter=200, min_samples_leaf=10, random_state=0
    )
    trees.fit(_amounts(seen), knees(seen.throughput))
    found = np.rint(trees.predict(_amounts(held_out)))
    return np.asarray(np.clip(found, CORES[0], CORES[-1]), float)


def _amounts(curves: Curves) -> Array:
    """Return the amount of each kind of work of functions, `[function, kind]`."""
    known = works(curves.functions)
    names = [name for name in known if name != "packet" and ">=" not in name]
    return np.stack([known[name] for name in names], 1)


class _Mean(NamedTuple):
    """Mean of a value over functions, and a note on its spread between divisions into folds."""

    value: float
    note: str | None


class _Known:
    """Results of all finished folds for one kind of traffic."""

    def __init__(self, traffic: str, pairs: Sequence[tuple[Fold, CoresOfFold | None]]) -> None:
        every = [(fold.seed, one) for fold, one in pairs if fold.traffic == traffic]
        self._found = [(seed, one) for seed, one in every if one is not None]
        self._partly = _partly(len(self._found), len(every))

    def mean(self, values: Callable[[CoresOfFold], Array]) -> _Mean | None:
        """Return the mean of a value over all predicted functions; None without results.

        `values` returns the values of the functions in a fold.
        """
        seeds = sorted({seed for seed, _ in self._found})
        means = [
            float(np.concatenate([values(one) for of, one in self._found if of == seed]).mean())
            for seed in seeds
        ]
        if not means:
            return None
        note = self._partly
        if note is None and len(means) > 1:
            note = f"± {np.std(means, ddof=1):.2g} over {len(means)} divisions"
        return _Mean(float(np.mean(means)), note)


def _cores_rows(pairs: Sequence[tuple[Fold, CoresOfFold | None]]) -> list[ComparedValue]:
    known = {traffic: _Known(traffic, pairs) for traffic in TRAFFIC}
    names = [one for one in TRAFFIC if any(fold.traffic == one for fold, _ in pairs)]
    rows = list[ComparedValue]()
    for name in names:
        ours, trees = known[name].mean(_knee), known[name].mean(_of_trees)
        rows.append(_row(name, _KNEE, _SCRIPT[name], ours))
        rows.append(_row(f"{name}, boosted trees", _KNEE, _SCRIPT[name], trees))
    for name in names:
        best = known[name].mean(_best)
        theirs = None if best is None else best.value
        rows.append(_row(name, _SHARE, theirs, known[name].mean(_share)))
    for quantity, values in _OTHERS.items():
        rows += [_row(name, quantity, None, known[name].mean(values)) for name in names]
    return rows


def _row(
    item: str, quantity: Quantity, published: float | None, ours: _Mean | None
) -> ComparedValue:
    if ours is None:
        return compared(item, quantity, published, None, NOT_COMPUTED)
    return compared(item, quantity, published, ours.value, ours.note)


def _knee(one: CoresOfFold) -> Array:
    return one.ours.knee


def _of_trees(one: CoresOfFold) -> Array:
    return one.trees


def _best(one: CoresOfFold) -> Array:
    return 100 * one.best


def _share(one: CoresOfFold) -> Array:
    return 100 * one.ours.share


_OTHERS: Mapping[Quantity, Callable[[CoresOfFold], Array]] = {
    _THROUGHPUT: lambda one: 100 * one.ours.throughput,
    _LATENCY: lambda one: 100 * one.ours.latency,
    _INSIDE: lambda one: 100 * one.ours.covered,
    _WIDTH: lambda one: one.ours.width,
}
"""Compared quantities that the paper does not state, with a function for their values."""


def _partly(done: int, count: int) -> str | None:
    return None if done == count else f"{done} of {count} parts"


# --- Figure 14: pairs -----------------------------------------------------------------------------

_OVERLAP = {"throughput_total": (0.60, 0.76, 0.88)}
"""Shares of the best pairs that are among the predicted ones, as the published script prints them,
by score.
"""
_BEST = "share of the {} best pairs among the {} predicted ones"
_LOSS = Quantity("score lost by the predicted best pair", "%")


class PairsOfFold(NamedTuple):
    """Agreement of predicted with measured pairs in a fold, by score.

    Predictions are made both without and with measured solo throughput.
    """

    overlap: dict[str, Array]  # see COUNTS, shape (groups, 3)
    loss: dict[str, Array]  # shape (groups,)
    with_solo: dict[str, Array]  # as `overlap`
    loss_with_solo: dict[str, Array]


def colocation(source: Source) -> Plan:
    """Return the work that recomputes Figure 14: best pairs of functions.

    Raises:
        InputError: if the table is missing or damaged.
        UnavailableError: if a package is missing.
    """
    require_numpy()
    [file, *_] = source.needed("netronome-colocation/train.jsonl.gz", "train.jsonl.gz")
    measured = read_measured(str(file))
    conditions = [
        _HELD_OUT,
        "Published shares are those that the authors' script prints for its own division; the "
        "paper states more than 70 % for the best pair, and more than 85 % for three.",
    ]

    def plan(repetitions: int) -> Plan:
        folds = [
            Fold("group", seed, number) for seed in range(repetitions) for number in range(FOLDS)
        ]
        names = [f"part {fold.number + 1}" for fold in folds]
        return Plan(
            names, folds, pairs_of_fold, measured, _pair_rows, conditions, source.warnings(), plan
        )

    return plan(1)


def pairs_of_fold(
    common: tuple[Groups, Paired], fold: Fold, stop_requested: StopRequested
) -> PairsOfFold | None:
    """Train on all other groups, and judge the predicted order of pairs in this fold.

    Return None if a stop was requested.
    """
    if stop_requested():
        return None
    groups, pairs = common
    folds = np.random.default_rng(fold.seed).permutation(groups.size) % FOLDS
    seen, left = np.flatnonzero(folds != fold.number), np.flatnonzero(folds == fold.number)
    model = learn_pairs(*groups_at(groups, pairs, seen), fold.seed)
    held_out = groups_at(groups, pairs, left)
    true = truth(*held_out)
    found = [predicted(model, query) for query in (without_solo(held_out[0]), held_out[0])]
    bare, solo = ({name: agreement(true, one, name) for name in NAMES} for one in found)
    return PairsOfFold(
        {name: one.overlap for name, one in bare.items()},
        {name: one.loss for name, one in bare.items()},
        {name: one.overlap for name, one in solo.items()},
        {name: one.loss for name, one in solo.items()},
    )


def _pair_rows(pairs: Sequence[tuple[Fold, PairsOfFold | None]]) -> list[ComparedValue]:
    known = [one for _, one in pairs if one is not None]
    note = _partly(len(known), len(pairs))
    rows = list[ComparedValue]()
    for at, count in enumerate(COUNTS):
        for name in NAMES:
            theirs = _OVERLAP[name][at] if name in _OVERLAP else None
            quantity = Quantity(_BEST.format(count, count))
            for way, of in (("", "overlap"), (", with solo", "with_solo")):
                ours = None
                if known:
                    values = [getattr(one, of)[name] for one in known]
                    ours = float(np.concatenate(values).mean(0)[at])
                rows.append(compared(f"{name}{way}", quantity, theirs, ours, note))
    for name in NAMES if known else ():
        for way, of in (("", "loss"), (", with solo", "loss_with_solo")):
            lost = 100 * float(np.concatenate([getattr(one, of)[name] for one in known]).mean())
            rows.append(compared(f"{name}{way}", _LOSS, None, lost, note))
    return rows
