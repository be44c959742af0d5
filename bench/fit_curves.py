#!/usr/bin/env python3
"""How well do models of measured curves predict points that they have not seen?

Each CSV file of a folder has a column of x and one of y, in this order. A model of every other point
is judged by the points between; then the other way round. Beside it stands the straight line from
point to point. Without a folder, those are taken that `curves/measure.c` measured.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from slowpath.models.evaluation import evaluate
from slowpath.models.fitting import fit
from slowpath.models.metrics import error
from slowpath.models.options import Options
from slowpath.models.points import points_of

CURVES = Path(__file__).resolve().parent / "curves"


def read(file: Path) -> tuple[list[str], np.ndarray]:
    with file.open() as stream:
        head, *rows = csv.reader(stream)
    return head, np.array(rows, dtype=float)


def halves(file: Path, options: Options) -> tuple[float, float, float, int]:
    """SMAPE of the model and of straight lines; the share inside intervals; segments."""
    (x_name, y_name, *_), rows = read(file)
    rows = rows[np.argsort(rows[:, 0])]
    x, y = rows[:, 0], rows[:, 1]
    model_off, line_off, inside, segments = [], [], [], []
    for half in (0, 1):
        known = np.arange(len(x)) % 2 == half
        known[[0, -1]] = True
        table = {x_name: list(x[known]), y_name: list(y[known])}
        model = fit(points_of(table, [x_name], y_name), options)
        found = evaluate(model, x[~known])
        model_off.append(error("smape", y[~known], found.y))
        line_off.append(error("smape", y[~known], np.interp(x[~known], x[known], y[known])))
        inside.append(((found.low <= y[~known]) & (y[~known] <= found.high)).mean())
        segments.append(len(model["segments"]))
    means = [float(np.mean(each)) for each in (model_off, line_off, inside)]
    return means[0], means[1], means[2], max(segments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=CURVES)
    parser.add_argument("--select", default="criterion")
    given = parser.parse_args()
    options = Options(select=given.select)
    files = sorted(given.folder.glob("*.csv"))
    found = []
    print(f"{'curve':24} sMAPE model  line  in 90 % interval  segments")
    for file in files:
        model, line, inside, segments = halves(file, options)
        found.append((model, line, inside))
        print(f"{file.stem:24} {model:11.2%} {line:5.2%} {inside:17.0%} {segments:9}")
    model, line, inside = np.array(found).T
    print(f"{'mean':24} {model.mean():11.2%} {line.mean():5.2%} {inside.mean():17.0%}")
    print(f"{'worst':24} {model.max():11.2%} {line.max():5.2%} {inside.min():17.0%}")


if __name__ == "__main__":
    main()
