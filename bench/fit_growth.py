#!/usr/bin/env python3
"""How long a fit takes for more points and more segments, without cross-validation.

The curve has three parts and 2 % noise; times are CPU times, the minimum of several runs. Writes a
CSV file and a picture (SVG) with the same name, which needs matplotlib.
"""

import argparse
import csv
from pathlib import Path
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from figures import SVG_STYLE, Row, write_csv

from slowpath.models.derivation import derive
from slowpath.models.options import Options
from slowpath.models.points import Series, ordered, points_of, series_of

POINTS = 15, 30, 60, 90, 120, 250, 500, 1000, 2000
SEGMENTS = range(1, 13)
SEARCHES = "dynamic", "exhaustive", "extrema"
EXHAUSTIVE_POINTS = 60
"""Maximum number of points for the search that tries all positions of segment ends."""
SIZES = 60, 240
"""Numbers of points of the curves that are fitted with an increasing number of segments."""
CHANGES = 1e3, 5e4
FOLDER = Path(__file__).resolve().parent.parent / "docs/figures/models"


def curve(size: int) -> Series:
    x = np.geomspace(10, 1e6, size)
    parts = [np.full(size, 20.0), 10 + 5 * np.log(x), 100 - 2e5 / x]
    y = np.choose(np.searchsorted(CHANGES, x), parts)
    y = y * (1 + 0.02 * np.random.default_rng(1).standard_normal(size))
    return series_of(ordered(points_of({"x": list(x), "y": list(y)}, ["x"], "y")))


def seconds(series: Series, options: Options, repeat: int) -> float:
    found = []
    for _ in range(repeat):
        begin = process_time()
        derive(series, options)
        found.append(process_time() - begin)
    return min(found)


def measured(repeat: int) -> list[Row]:
    """Measure how long fits take; return a row for each kind of search and size of the problem.

    The size is the number of points, or that of segments.
    """
    derive(curve(20), Options())  # imports
    rows: list[Row] = []
    for search in SEARCHES:
        for size in POINTS:
            if search == "exhaustive" and size > EXHAUSTIVE_POINTS:
                continue
            time = seconds(curve(size), Options(search=search, most_segments=3), repeat)
            rows.append({"over": "points", "of": search, "number": size, "seconds": round(time, 4)})
            print(f"{search:12} {size:6} points    {time:7.3f} s", flush=True)
    for size in SIZES:
        series = curve(size)
        for most in SEGMENTS:
            time = seconds(series, Options(most_segments=most), repeat)
            name = f"{size} points"
            rows.append({"over": "segments", "of": name, "number": most, "seconds": round(time, 4)})
            print(f"{name:12} {most:6} segments  {time:7.3f} s", flush=True)
    return rows


def draw(file: Path, rows: list[Row]) -> None:
    plt.rcParams.update(SVG_STYLE)
    figure, both = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
    for axes, over in zip(both, ("points", "segments"), strict=True):
        shown = [row for row in rows if row["over"] == over]
        for name in dict.fromkeys(row["of"] for row in shown):
            line = [(row["number"], row["seconds"]) for row in shown if row["of"] == name]
            axes.plot(*zip(*line, strict=True), ".-", label=name)
        axes.set_yscale("log")
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
    both[0].set_xscale("log")
    both[0].set_xlabel("points, up to three segments")
    both[1].set_xlabel("most segments, dynamic")
    both[0].set_ylabel("seconds of a CPU")
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--csv", type=Path, default=FOLDER / "growth.csv")
    parser.add_argument("--draw", action="store_true", help="only the picture, of that CSV")
    given = parser.parse_args()
    if not given.draw:
        write_csv(given.csv, measured(given.repeat))
    with given.csv.open() as file:
        read = [
            {**row, "number": int(row["number"]), "seconds": float(row["seconds"])}
            for row in csv.DictReader(file)
        ]
    draw(given.csv.with_suffix(".svg"), read)


if __name__ == "__main__":
    main()
