#!/usr/bin/env python3
"""How well do models of measured curves predict points that they have not seen?

Each CSV file of a folder begins with a column for x and one for y. A model of every other point is
judged by the remaining points, and the other way round. It is compared with its functions alone,
without the residual model, and with straight lines between the points. If points have intervals, as
in files of `slowpath calibrate`, the model uses them, and the noise is printed: the error of the true
curve due to the measured values alone. Without a folder, `curves/` is used.
"""

import argparse
import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

from slowpath.measure.statistics import half_width
from slowpath.models.fitting import fit
from slowpath.models.options import Options, error
from slowpath.models.parts import evaluate
from slowpath.models.points import points_of

CURVES = Path(__file__).resolve().parent / "curves"


def read(file: Path) -> tuple[list[str], np.ndarray]:
    with file.open() as stream:
        head, *rows = csv.reader(stream)
    return head, np.array(rows, dtype=float)


class Judged(NamedTuple):
    """Prediction errors of the fitted model and of simpler methods for one curve."""

    model: float  # sMAPE, as the next three
    functions: float
    lines: float
    noise: float  # NaN if unknown
    inside: float  # share of points inside 90 % intervals
    segments: int


def spread_of(head: list[str], rows: np.ndarray) -> np.ndarray | None:
    """Return the standard errors of points from 95 % intervals; None without intervals."""
    if "low" not in head or "high" not in head:
        return None
    low, high = (rows[:, head.index(name)] for name in ("low", "high"))
    counts = rows[:, head.index("observations")]
    return (high - low) / 2 / np.array([half_width(int(n)) for n in counts])


def halves(file: Path, options: Options) -> Judged:
    """Fit a model to each half of a curve's points, and judge it by the other half."""
    head, rows = read(file)
    x_name, y_name = head[:2]
    rows = rows[np.argsort(rows[:, 0])]
    x, y, spread = rows[:, 0], rows[:, 1], spread_of(head, rows)
    errors: list[tuple[float, float, float]] = []
    inside, segments = [], []
    for half in (0, 1):
        known = np.arange(len(x)) % 2 == half
        known[[0, -1]] = True
        table = {x_name: list(x[known]), y_name: list(y[known])}
        if spread is not None:
            table["spread"] = list(spread[known])
        name = None if spread is None else "spread"
        model = fit(points_of(table, [x_name], y_name, spread=name), options)
        found = evaluate(model, x[~known])
        functions = evaluate(model | {"residuals": None}, x[~known]).y
        lines = np.interp(x[~known], x[known], y[known])
        errors.append(tuple(error("smape", y[~known], one) for one in (found.y, functions, lines)))
        inside.append(((found.low <= y[~known]) & (y[~known] <= found.high)).mean())
        segments.append(len(model["segments"]))
    model_error, functions_error, lines_error = np.mean(errors, axis=0).tolist()
    # The mean absolute value of a normal error, as a share of the sum of both values.
    noise = np.nan if spread is None else float(np.mean(np.sqrt(2 / np.pi) * spread / y / 2))
    share = float(np.mean(inside))
    return Judged(model_error, functions_error, lines_error, noise, share, max(segments))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=CURVES)
    parser.add_argument("--select", default="criterion")
    given = parser.parse_args()
    options = Options(select=given.select)
    files = sorted(given.folder.glob("*.csv"))
    found = []
    print(f"{'curve':24} sMAPE model  functions  lines  noise  in 90 % interval  segments")
    for file in files:
        one = halves(file, options)
        found.append(one)
        noise = "" if np.isnan(one.noise) else f"{one.noise:.2%}"
        print(
            f"{file.stem:24} {one.model:11.2%} {one.functions:10.2%} {one.lines:6.2%} {noise:>6}"
            f" {one.inside:17.0%} {one.segments:9}",
            flush=True,
        )
    inside = np.array([one.inside for one in found])
    errors = np.array([[one.model, one.functions, one.lines] for one in found])
    for name, each, share in (
        ("mean", errors.mean(axis=0), inside.mean()),
        ("worst", errors.max(axis=0), inside.min()),
    ):
        print(f"{name:24} {each[0]:11.2%} {each[1]:10.2%} {each[2]:6.2%} {'':6} {share:17.0%}")


if __name__ == "__main__":
    main()
