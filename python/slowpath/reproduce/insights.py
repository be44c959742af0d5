"""Recomputes results of Clara (Qiu et al., SOSP 2021) from its published tables.

The tables are those of docs/reference/insights-files.md, with the numbers of the authors'
repository. Functions and groups that only the authors have are no part of them, so predictions are
judged by cross-validation: models do not see the rows that they predict.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.jobs.pool import StopRequested
from slowpath.insights.cores.curves import Curves, read_curves
from slowpath.insights.cores.groups import Groups, Paired, read_measured
from slowpath.insights.cores.knee import CORES, knees
from slowpath.insights.cores.model import TRAFFIC, learn
from slowpath.insights.cores.network import works
from slowpath.insights.cores.pairs import learn as learn_pairs
from slowpath.insights.cores.pairs import predicted
from slowpath.insights.cores.queueing import Array
from slowpath.insights.cores.scores import NAMES
from slowpath.insights.layout.problem import Order, accesses, weighted
from slowpath.insights.layout.reading import Described as DescribedElement
from slowpath.insights.layout.reading import read_elements
from slowpath.insights.layout.run import layout
from slowpath.insights.placement.costs import COST, THROUGHPUT, costs, throughput
from slowpath.insights.placement.problem import Case, PartCounts, ThroughputLimits
from slowpath.insights.placement.problem import Described as DescribedCase
from slowpath.insights.placement.reading import read_cases
from slowpath.insights.placement.solving import place
from slowpath.insights.source.unit import require_numpy
from slowpath.reproduce.colocation_evaluation import (
    COUNTS,
    agreement,
    groups_at,
    truth,
    without_solo,
)
from slowpath.reproduce.comparison import NOT_COMPUTED, Plan, Quantity, compared
from slowpath.reproduce.cores_evaluation import Outcome, at_cores, curves_of
from slowpath.reproduce.cores_evaluation import compared as judged
from slowpath.reproduce.documents import ComparedValue
from slowpath.reproduce.source import Source

FOLDS = 5
_CONFIDENCE = 0.9
_HELD_OUT = (
    "Published functions that only the authors have are left out; ours are by cross-validation "
    f"in {FOLDS} parts on the training rows."
)


# --- Figure 11: numbers of cores ------------------------------------------------------------------

_SCRIPT = {"hit": 2.45, "miss": 2.47}
"""Mean error of the published script (GBDT) in cores, which it prints on its own division."""
_KNEE = Quantity("error of the advised number of cores, mean", "cores")
_SHARE = Quantity("measured throughput at the advised cores, of the highest", "%")
_THROUGHPUT = Quantity("error of predicted throughput, mean", "%")


_LATENCY = Quantity("error of predicted latency, mean", "%")
_INSIDE = Quantity("90 % intervals that contain the measured optimum", "%")
_WIDTH = Quantity("width of these intervals, mean", "cores")


class Fold(NamedTuple):
    """A part of the published functions that a model predicts without having seen it."""

    traffic: str
    seed: int
    number: int


class CoresOfFold(NamedTuple):
    """Errors for the functions of a fold: of slowpath, and of boosted trees as in the paper."""

    ours: Outcome
    trees: Array  # |advised - measured|, cores
    best: Array  # measured throughput at the measured knee / maximum


def cores(source: Source) -> Plan:
    """Return the plan for Figure 11: advised numbers of cores.

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
    """Train on all other folds, and judge the predictions for a fold; None if stopped."""
    if stop_requested():
        return None
    curves = common[fold.traffic]
    folds = np.random.default_rng(fold.seed).permutation(len(curves.names)) % FOLDS
    seen, left = np.flatnonzero(folds != fold.number), np.flatnonzero(folds == fold.number)
    part, held_out = curves_of(curves, seen), curves_of(curves, left)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = judged(learn(part, seed=fold.seed), held_out, _CONFIDENCE)
        trees = _trees(part, held_out)
    measured = knees(held_out.throughput)
    at_knee = at_cores(held_out.throughput, measured.astype(float))
    best = at_knee / held_out.throughput.max(1)
    return CoresOfFold(found, np.abs(trees - measured), best)


def _trees(seen: Curves, held_out: Curves) -> Array:
    """Return numbers of cores as the paper predicts them: boosted trees over amounts of work."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    trees = HistGradientBoostingRegressor(
        max_depth=4, learning_rate=0.05, max_iter=200, min_samples_leaf=10, random_state=0
    )
    trees.fit(_amounts(seen), knees(seen.throughput))
    found = np.rint(trees.predict(_amounts(held_out)))
    return np.asarray(np.clip(found, CORES[0], CORES[-1]), float)


def _amounts(curves: Curves) -> Array:
    """Return the amount of each kind of work of functions, without a queueing network."""
    known = works(curves.functions)
    names = [name for name in known if name != "packet" and ">=" not in name]
    return np.stack([known[name] for name in names], 1)


class _Mean(NamedTuple):
    """Mean over functions, with its standard deviation over divisions of the data."""

    value: float
    note: str | None


class _Known:
    """The results of one kind of traffic."""

    def __init__(self, traffic: str, pairs: Sequence[tuple[Fold, CoresOfFold | None]]) -> None:
        every = [(fold.seed, one) for fold, one in pairs if fold.traffic == traffic]
        self._found = [(seed, one) for seed, one in every if one is not None]
        self._partly = _partly(len(self._found), len(every))

    def mean(self, values: Callable[[CoresOfFold], Array]) -> _Mean | None:
        """Return the mean of a value over all predicted functions; None without results."""
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
"""Quantities that the paper does not state."""


def _partly(done: int, count: int) -> str | None:
    return None if done == count else f"{done} of {count} parts"


# --- Figure 14: pairs -----------------------------------------------------------------------------

_OVERLAP = {"throughput_total": (0.60, 0.76, 0.88)}
"""Share of the best pairs among the predicted ones: what the published script prints."""
_BEST = "share of the {} best pairs among the {} predicted ones"
_LOSS = Quantity("score lost by the predicted best pair", "%")


class PairsOfFold(NamedTuple):
    """Agreement for the groups of a fold, by score: without and with measured solo throughput."""

    overlap: dict[str, Array]  # see COUNTS, shape (groups, 3)
    loss: dict[str, Array]  # shape (groups,)
    with_solo: dict[str, Array]  # as `overlap`
    loss_with_solo: dict[str, Array]


def colocation(source: Source) -> Plan:
    """Return the plan for Figure 14: best pairs of functions.

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
    """Train on all other groups, and judge the predicted order of pairs; None if stopped."""
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


# --- placement and order --------------------------------------------------------------------------

_COST = Quantity("cost of the accesses of a packet")
_ACCESSES = "memory accesses for each packet, with windows of {} bytes"
WIDTHS = (8, 16, 32)
_SECONDS = 30.0
"""Limit of the search for the best placement of one case."""


class Found(NamedTuple):
    """The best value that was found."""

    value: float
    proved: bool


def placement(source: Source) -> Plan:
    """Return the plan for the costs of published placements.

    Raises:
        InputError: if the file is missing, damaged, or has no published placement.
        UnavailableError: if a package is missing.
    """
    require_numpy()
    [file, *_] = source.needed("state-placement/placement.json", "placement.json")
    cases = [
        one
        for one in read_cases(str(file))
        if any(stated.cost is not None for stated in one.before)
    ]
    if not cases:
        raise source.damaged(file, "has no published placement with its cost")
    conditions = [
        "Accesses without a price are free, as in the published program.",
        "The search proves that no placement costs less, unless the last column says otherwise.",
    ]
    names = [one.case.name for one in cases]
    return Plan(names, cases, best_placement, None, _placement_rows, conditions, source.warnings())


def best_placement(
    _common: None, described: DescribedCase, stop_requested: StopRequested
) -> Found | None:
    """Find the placement of least cost; None if stopped."""
    if stop_requested():
        return None
    found = place(described.case, COST, free=True, seconds=_SECONDS)
    return None if found is None else Found(found.value.first, found.proven)


def _placement_rows(pairs: Sequence[tuple[DescribedCase, Found | None]]) -> list[ComparedValue]:
    return [
        compared(
            one.case.name,
            _COST,
            next(stated.cost for stated in one.before if stated.cost is not None),
            None if found is None else found.value,
            NOT_COMPUTED if found is None else _proof(proved=found.proved),
        )
        for one, found in pairs
    ]


def _proof(*, proved: bool) -> str:
    return "proved" if proved else "not proved"


class Laid(NamedTuple):
    """An element with an access width."""

    described: DescribedElement
    width: int


def coalescing(source: Source) -> Plan:
    """Return the plan for the accesses of published orders of variables.

    Raises:
        InputError: if the file is missing, damaged, or has no published order.
        UnavailableError: if a package is missing.
    """
    require_numpy()
    [file, *_] = source.needed("state-placement/coalescing.json", "coalescing.json")
    elements = [one for one in read_elements(str(file)).elements if one.published is not None]
    if not elements:
        raise source.damaged(file, "has no published order of variables")
    items = [Laid(one, width) for width in WIDTHS for one in elements]
    conditions = [
        "Published and own orders are compared by the accesses of the same blocks and weights; the "
        "paper measured other quantities on a card.",
    ]
    names = [item.described.element.name for item in items]
    return Plan(names, items, best_layout, None, _layout_rows, conditions, source.warnings())


def best_layout(_common: None, item: Laid, stop_requested: StopRequested) -> Found | None:
    """Find the order of variables with the fewest accesses; None if stopped."""
    if stop_requested():
        return None
    known: list[Order] = [] if item.described.published is None else [item.described.published]
    found = layout(item.described.element, item.width, known)
    return Found(float(found.accesses), found.proven)


def _layout_rows(pairs: Sequence[tuple[Laid, Found | None]]) -> list[ComparedValue]:
    rows = list[ComparedValue]()
    for item, found in pairs:
        element, published = item.described.element, item.described.published or []
        merged = weighted(element, item.width)
        theirs = accesses(merged, published) / merged.unit
        source = accesses(merged, range(len(element.variables))) / merged.unit
        quantity = Quantity(_ACCESSES.format(item.width))
        note = NOT_COMPUTED
        if found is not None:
            note = f"order of the source: {float(source):.4g}; {_proof(proved=found.proved)}"
        ours = None if found is None else found.value
        rows.append(compared(element.name, quantity, float(theirs), ours, note))
    return rows


# --- Figure 15: spreading state -------------------------------------------------------------------

_PRINTED_GAIN = 7.6
"""Largest gain in percent that the paper states, by exhaustive search on a card (section 5.8)."""
_GAIN = Quantity("throughput gained beside the placement of least cost", "%")
_FASTER, _FACTORS = "imem", (1, 2, 4)


class Spread(NamedTuple):
    """A placement problem in which one memory is faster by a factor."""

    case: Case
    factor: int


def spreading(source: Source) -> Plan:
    """Return the plan for Figure 15: throughput gained by spreading state over memories.

    Raises:
        InputError: if the file is missing or damaged.
        UnavailableError: if a package is missing.
    """
    require_numpy()
    [file, *_] = source.needed("udp_counter.json")
    cases = [one.case for one in read_cases(str(file)) if one.case.rates is not None]
    if not cases:
        raise source.damaged(file, "has no case with cores and bandwidths")
    items = [Spread(case, factor) for case in cases for factor in _FACTORS]
    names = [_bandwidth(item) for item in items]
    conditions = [
        "The paper states its largest gain for measured functions of its own; ours is predicted "
        "for made-up counters, without the limit of the ports, and depends on the assumed "
        "bandwidth of IMEM.",
    ]
    return Plan(names, items, gain, None, _gain_rows, conditions)


def _bandwidth(item: Spread) -> str:
    ratio = "as fast as EMEM" if item.factor == 1 else f"{item.factor} times as fast as EMEM"
    return f"{item.case.name}, IMEM {ratio}"


def gain(_common: None, item: Spread, stop_requested: StopRequested) -> Found | None:
    """Compare the placement of most throughput with that of least cost; None if stopped."""
    rates = item.case.rates
    if stop_requested() or rates is None:
        return None
    busy = {
        level: {operation: one / (item.factor if level == _FASTER else 1) for operation, one in of}
        for level, of in ((level, known.items()) for level, known in rates.busy.items())
    }
    rates = rates._replace(busy=busy, wanted=None)
    case = item.case._replace(rates=rates)
    found = [place(case, objective, seconds=_SECONDS) for objective in (THROUGHPUT, COST)]
    if None in found:
        return None
    best, least = (_packet_rate(case, rates, one.spread) for one in found if one is not None)
    return Found(100 * (best / least - 1), all(one is not None and one.proven for one in found))


def _packet_rate(case: Case, rates: ThroughputLimits, spread: PartCounts) -> float:
    cost = math.fsum(costs(case, spread, free=False))
    return throughput(case, rates, spread, cost).rate


def _gain_rows(pairs: Sequence[tuple[Spread, Found | None]]) -> list[ComparedValue]:
    return [
        compared(
            _bandwidth(item),
            _GAIN,
            _PRINTED_GAIN,
            None if found is None else found.value,
            NOT_COMPUTED if found is None else _proof(proved=found.proved),
        )
        for item, found in pairs
    ]
