"""Models that predict the number of instructions of a block: the shipped kind, and others."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.sparse import csr_matrix, diags
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from blocks import networks
from blocks.convolution import Convolution
from blocks.lstm import Lstm
from blocks.usual import usual
from slowpath.insights.blocks.predicted import AdditiveModel, group

Numbers = NDArray[np.float64]
Blocks = Sequence[Sequence[str]]
Learner = Callable[[Blocks, Numbers], Callable[[Blocks], Numbers]]
_SELDOM = 6
"""Minimum number of training blocks that must contain a word for the word to have its own weight.

Rarer words have the weight of their group.
"""
_RIDGE = 10.0
_ROUNDS = 6
_TREES = 150


def fitted(blocks: Blocks, targets: Numbers) -> dict[str, Any]:
    """Train a model of the kind that the package ships, and return it as JSON.

    `targets` are the true instruction counts of the blocks.
    """
    weights, groups = _weights(blocks, targets)
    return {"weights": weights, "groups": groups, "errors": [[1e9, 1.0, 1.0]]}


def with_errors(saved: dict[str, Any], blocks: Blocks, targets: Numbers) -> dict[str, Any]:
    """Add intervals to a model, computed from its errors on blocks that it was not trained on."""
    model = AdditiveModel(saved)
    guesses = np.array([model.predict(block).instructions for block in blocks])
    return saved | {"errors": scattered(guesses, targets)}


def scattered(guesses: Numbers, targets: Numbers) -> list[list[float]]:
    """Return the spread of the ratios of true to predicted instruction counts.

    Each row has the upper end of a range of predictions, and the lower and upper ratio that enclose
    four of five blocks.
    """
    errors = []
    for least, most in ((0, 4), (4, 8), (8, 16), (16, 32), (32, 1e9)):
        inside = (guesses > least) & (guesses <= most) & (targets > 0)
        ratios = targets[inside] / np.maximum(guesses[inside], 0.5)
        low, high = np.quantile(ratios, (0.1, 0.9)) if len(ratios) else (0.5, 2.0)
        errors.append([float(most), round(min(1.0, low), 3), round(max(1.0, high), 3)])
    return errors


def _weights(blocks: Blocks, targets: Numbers) -> tuple[dict[str, float], dict[str, float]]:
    """Return the non-negative weight of each word, and that of the rare words of each group.

    A word is a token of a block. The fit minimises absolute errors, by iteratively reweighted least
    squares. Rare words stay near their prior, which follows from the rules of the code generator
    (`usual.py`).
    """
    often = Counter(word for block in blocks for word in set(block))
    names = sorted(word for word, times in often.items() if times >= _SELDOM)
    groups = sorted({group(word) for word in often})
    by_group = {
        name: sum(usual(word) * times for word, times in often.items() if group(word) == name)
        / sum(times for word, times in often.items() if group(word) == name)
        for name in groups
    }
    by_word = _solved(
        [
            [word if often[word] >= _SELDOM else f"{group(word)} *" for word in block]
            for block in blocks
        ],
        targets,
        [*names, *(f"{name} *" for name in groups)],
        {name: usual(name) for name in names} | {f"{name} *": by_group[name] for name in groups},
    )
    return (
        {name: round(by_word[name], 3) for name in names},
        {name: round(by_word[f"{name} *"], 3) for name in groups},
    )


def _solved(
    blocks: Blocks, targets: Numbers, names: Sequence[str], near: Mapping[str, float]
) -> dict[str, float]:
    place = {name: at for at, name in enumerate(names)}
    rows, columns, values = [], [], []
    for row, block in enumerate(blocks):
        for word, times in Counter(block).items():
            rows.append(row)
            columns.append(place[word])
            values.append(float(times))
    table = csr_matrix((values, (rows, columns)), shape=(len(blocks), len(names)))
    prior = np.array([near[name] for name in names])
    solved = prior
    for _ in range(_ROUNDS):
        errors = np.abs(table @ solved - targets)
        share = 1 / np.sqrt(np.maximum(errors, 1.0) * np.maximum(1.0, targets / 30.0))
        scaled = diags(share) @ table
        square = (scaled.T @ scaled).toarray() + _RIDGE * np.eye(len(names))
        right = scaled.T @ (targets * share) + _RIDGE * prior
        triangle = np.linalg.cholesky(square)
        solved, _ = nnls(triangle.T, np.linalg.solve(triangle, right), maxiter=20 * len(names))
    return {name: float(value) for name, value in zip(names, solved, strict=True)}


def ours(blocks: Blocks, targets: Numbers) -> Callable[[Blocks], Numbers]:
    """Train the kind of model that the package ships; return its prediction function.

    The model is a sum of weights of words.
    """
    model = AdditiveModel(fitted(blocks, targets))
    return lambda new: np.array([model.predict(block).instructions for block in new])


def _counted(make: Callable[[], Any]) -> Learner:
    """Return a function that trains a scikit-learn model on the numbers of words in blocks."""

    def learn(blocks: Blocks, targets: Numbers) -> Callable[[Blocks], Numbers]:
        often = Counter(word for block in blocks for word in set(block))
        place = {
            word: at for at, word in enumerate(sorted(w for w, n in often.items() if n >= _SELDOM))
        }

        def table(new: Blocks) -> Numbers:
            found = np.zeros((len(new), len(place) + 1))
            for row, block in enumerate(new):
                found[row, -1] = len(block)
                for word in block:
                    if word in place:
                        found[row, place[word]] += 1
            return found

        scaler = StandardScaler().fit(table(blocks))
        model = make().fit(scaler.transform(table(blocks)), targets)
        return lambda new: np.maximum(0, model.predict(scaler.transform(table(new))))

    return learn


def _network(
    make: Callable[[int, np.random.Generator], networks.Network[Any]], epochs: int
) -> Learner:
    """Return a function that trains a neural network on the sequences of words in blocks."""

    def learn(blocks: Blocks, targets: Numbers) -> Callable[[Blocks], Numbers]:
        often = Counter(word for block in blocks for word in set(block))
        place = {w: at + 1 for at, w in enumerate(sorted(w for w, n in often.items() if n > 1))}
        unit = float(targets.mean()) or 1.0

        def numbered(new: Blocks) -> list[list[int]]:
            return [[place.get(word, 0) for word in block] for block in new]

        net = networks.learn(make, numbered(blocks), targets / unit, len(place) + 1, epochs)
        return lambda new: np.maximum(0, networks.guesses(net, numbered(new)) * unit)

    return learn


LEARNERS: dict[str, Learner] = {
    "shipped: a weight for each word": ours,
    "LSTM + FC": _network(Lstm, epochs=8),
    "small sequence model: three words at a time, added up": _network(Convolution, epochs=20),
    "DNN": _counted(
        lambda: MLPRegressor(
            hidden_layer_sizes=(128, 64), max_iter=60, early_stopping=True, random_state=1
        )
    ),
    "boosted trees": _counted(
        lambda: GradientBoostingRegressor(
            n_estimators=_TREES, learning_rate=0.08, max_depth=5, subsample=0.7, random_state=1
        )
    ),
    "linear (ridge)": _counted(lambda: Ridge(10.0)),
    "kNN": _counted(lambda: KNeighborsRegressor(5, weights="distance")),
    "forest": _counted(
        lambda: RandomForestRegressor(100, min_samples_leaf=2, max_features=0.4, random_state=1)
    ),
}
"""Learners by name. Those of Clara are LSTM + FC, DNN, and the forest that its AutoML selected."""
