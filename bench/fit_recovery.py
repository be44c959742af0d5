#!/usr/bin/env python3
"""Are known models recovered from noisy points?

For each template, generates curves of one to three segments with steps of 22 to 100 % between them,
60 points and 2 % noise. The oracle knows template and cuts, and fits the parameters; errors are
relative to fresh noise. The curves have no structure beyond their functions: with `--spread`, which
permits a residual model, the last column says how many models have one.
"""

import argparse
from functools import partial
from itertools import pairwise
from multiprocessing import Pool
from time import perf_counter
from typing import NamedTuple

import numpy as np

from slowpath.models.catalogue import TEMPLATES
from slowpath.models.costs import Piece
from slowpath.models.derivation import derive
from slowpath.models.fitting import fit
from slowpath.models.options import Options, error
from slowpath.models.parts import FittedSegment, evaluate, fitted_at_points, part_of
from slowpath.models.points import Series, ordered, points_of, series_of

POINTS, SHORTEST = 60, 8


def shape(name: str, draw: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Return the values at `x` of a random function of a certain kind; all are positive.

    `name` is the kind, such as `polynomial-1`.
    """
    u = (x - x[0]) / (x[-1] - x[0])
    base = name.removeprefix("inverse-")
    if base == "polynomial-0":
        y = np.zeros_like(x)
    elif base.startswith("polynomial"):
        degree = int(base[-1])
        weights = np.append(draw.uniform(-1, 1, degree), draw.choice([-1.0, 1.0]))
        y = np.polynomial.chebyshev.chebval(2 * u - 1, weights)
    elif base == "logarithm":
        y = np.log(x) * draw.choice([-1.0, 1.0])
    elif base == "hyperbola":
        y = draw.choice([-1.0, 1.0]) / x
    else:
        y = np.exp(draw.uniform(2, 5) * draw.choice([-1.0, 1.0]) * u) * draw.choice([-1.0, 1.0])
    y = y - y.min()
    y = y / (y.max() or 1.0) + 1 / (draw.uniform(1.5, 6) - 1)
    return 1 / y if name.startswith("inverse-") else y


def case(
    name: str, seed: int, noise: float
) -> tuple[np.ndarray, list[int], np.ndarray, np.ndarray]:
    """Return random data on a curve of one to three segments.

    They are x, the ends of the segments, measured values, and a second measurement.
    """
    draw = np.random.default_rng([seed, *name.encode()])
    number = int(draw.integers(1, 4))
    start = draw.uniform(1, 10)
    x = (
        np.geomspace(1, 10 ** draw.uniform(2, 5), POINTS)
        if draw.integers(2)
        else np.linspace(start, start * draw.uniform(5, 100), POINTS)
    )
    while True:
        inner = np.sort(
            draw.choice(np.arange(SHORTEST, POINTS - SHORTEST + 1), number - 1, replace=False)
        )
        bounds = [0, *(int(at) for at in inner), POINTS]
        if min(np.diff(bounds)) >= SHORTEST:
            break
    y: list[float] = []
    for begin, end in pairwise(bounds):
        piece = shape(name, draw, x[begin:end])
        step = draw.choice([-1, 1]) * draw.uniform(0.2, 0.7)
        factor = 10 ** draw.uniform(0, 3) if not y else y[-1] / piece[0] * np.exp(step)
        y += list(piece * factor)
    truth = np.array(y)
    first, second = (truth * (1 + noise * draw.standard_normal(POINTS)) for _ in range(2))
    return x, bounds, first, second


class Method(NamedTuple):
    """Options of curve fits, which the benchmark compares."""

    noise: float
    select: str
    left_out: bool
    spread: bool


def judge(seed: int, name: str, method: Method) -> tuple[bool, bool, float, float, bool]:
    """Fit a model to a random curve, and judge it.

    Return five values: if the number of segments is right, if the cuts are right, the error
    relative to the oracle's, the seconds, and if there are residuals.
    """
    x, bounds, y, fresh = case(name, seed, method.noise)
    columns = {"x": list(x), "y": list(y), "spread": list(method.noise * y)}
    points = ordered(points_of(columns, ["x"], "y", spread="spread" if method.spread else None))
    series = series_of(points)
    begin = perf_counter()
    has_residuals = False
    if method.left_out or method.spread:
        model = fit(points, Options(select=method.select, hold_out=method.left_out))
        has_residuals = model["residuals"] is not None
        ends = list(np.cumsum([one["points"] for one in model["segments"]]))
        found = error("smape", fresh, evaluate(model, x).y)
    else:
        parts = derive(series, Options(select=method.select)).parts
        ends = [part.piece.end for part in parts]
        found = error_of(parts, series, fresh)
    seconds = perf_counter() - begin
    number = [template.name for template in TEMPLATES].index(name)
    oracle = [part_of(series, Piece(a, b, number), TEMPLATES[number]) for a, b in pairwise(bounds)]
    right = len(ends) == len(oracle)
    near = right and all(abs(end - b) <= 1 for end, b in zip(ends, bounds[1:], strict=True))
    return right, near, found / error_of(oracle, series, fresh), seconds, has_residuals


def error_of(
    parts: list[FittedSegment] | tuple[FittedSegment, ...], series: Series, measured: np.ndarray
) -> float:
    return error("smape", measured, fitted_at_points(parts, series))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200, help="for each template")
    parser.add_argument("--noise", type=float, default=0.02)
    parser.add_argument("--select", default="criterion")
    names = [template.name for template in TEMPLATES]
    parser.add_argument("--template", choices=names, action="append", help="only these")
    parser.add_argument(
        "--left-out",
        action="store_true",
        help="whether points that are left out say that more segments are better, too",
    )
    parser.add_argument(
        "--spread", action="store_true", help="points say how sure they are: noise is known"
    )
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    print(f"{'template':22} segments  cuts  error / oracle's  seconds  residuals")
    method = Method(given.noise, given.select, given.left_out, given.spread)
    results = []
    with Pool(given.jobs) as pool:
        for name in given.template or names:
            one = partial(judge, name=name, method=method)
            found = np.array(pool.map(one, range(given.cases)), dtype=float)
            results.append(found)
            print_row(name, found)
    print_row("all", np.concatenate(results))


def print_row(name: str, found: np.ndarray) -> None:
    right, near, ratio, seconds, has_residuals = found.T
    share = near[right > 0].mean() if right.any() else 0.0
    print(
        f"{name:22} {right.mean():8.1%} {share:5.0%} {ratio.mean():17.3f} {np.median(seconds):8.2f}"
        f" {has_residuals.mean():10.1%}",
        flush=True,
    )


if __name__ == "__main__":
    main()
