#!/usr/bin/env python3
"""Plots of generated program families: time, nogoods and memory by the size of the program.

Draws FAMILY.svg next to every FAMILY.csv of a folder, as written by `scaling.py --csv`. Needs
matplotlib, and is a separate program because the measured memory of a process includes its parent's.
"""

import csv
import sys
from pathlib import Path
from typing import Any

from families import FAMILIES, Family
from figures import SVG_STYLE

try:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt
except ImportError:
    raise SystemExit(
        "error: plots need matplotlib; install it into the interpreter that runs this"
    ) from None

# Heading of each panel, and the key of its figure.
PANELS = [
    ("seconds", "engine_seconds"),
    ("nogoods", "nogoods"),
    ("MB", "megabytes"),
]
QUADRATIC = {"engine_seconds", "nogoods"}  # shown with quadratic growth for comparison


def read(file: Path) -> list[dict[str, Any]]:
    """Read the CSV file with the measurements of a family of generated programs."""
    with file.open(newline="") as lines:
        return [
            {
                "number": int(row["number"]),
                "exact": row["status"] == "exact",
                **{key: float(row[key] or 0) for _, key in PANELS},
            }
            for row in csv.DictReader(lines)
        ]


def draw(family: Family, rows: list[dict[str, Any]], file: Path) -> None:
    """Draw the measurements of a family; points without an exact result are hollow."""
    with plt.rc_context(SVG_STYLE):
        figure, panels = plt.subplots(1, len(PANELS), figsize=(9, 2.8), layout="constrained")
        for panel, (heading, key) in zip(panels, PANELS, strict=True):
            _panel(panel, rows, key)
            panel.set_title(heading)
            panel.set_xlabel(family.parameter)
        figure.savefig(file, metadata={"Date": None})
        plt.close(figure)


def _panel(panel: "plt.Axes", rows: list[dict[str, Any]], key: str) -> None:
    points = [row for row in rows if row[key]]
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.minorticks_off()
    panel.grid(visible=True, linewidth=0.3)
    panel.plot([r["number"] for r in points], [r[key] for r in points], color="C0", linewidth=0.8)
    for exact, face in [(True, "C0"), (False, "white")]:
        some = [row for row in points if row["exact"] is exact]
        panel.plot(
            [row["number"] for row in some],
            [row[key] for row in some],
            "o",
            color="C0",
            markerfacecolor=face,
        )
    if points and key in QUADRATIC:
        panel.set_ylim(panel.get_ylim())
        last, first = points[-1], points[0]["number"]
        height = last[key] * (first / last["number"]) ** 2
        panel.plot([first, last["number"]], [height, last[key]], ":", color="grey", linewidth=0.8)


def main() -> None:
    if len(sys.argv) != 2:  # noqa: PLR2004 - the program and its argument
        raise SystemExit("usage: plots.py FOLDER")
    folder = Path(sys.argv[1])
    for family in FAMILIES:
        file = folder / f"{family.name}.csv"
        if file.exists():
            draw(family, read(file), file.with_suffix(".svg"))


if __name__ == "__main__":
    main()
