#!/usr/bin/env python3
"""Renew figures of docs/ about chains, by section: report, example, fused programs, growth.

A section begins with `<!-- figures: NAME -->` and ends with `<!-- end -->`; the text between them is
replaced. CSV goes to docs/figures/chains/, and with --plots (needs matplotlib) the plot of the
growth. Measurements need root, a quiet machine, and clang for tail calls. They depend on the
kernel, so all figures of a section are from one run.

Run it with an interpreter that has slowpath: .venv/bin/python bench/chain_figures.py
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import figures
import sections
from chains import fused, growth, walk_through
from figures import Row

from measure import ROOT
from slowpath.core.programs.compilers import find_compiler

HOW_TO = ROOT / "docs/how-to/chains.md"
ACCURACY = ROOT / "docs/explanation/chains-accuracy.md"
FOLDER = ROOT / "docs/figures/chains"


class Renewal:
    """Computes the figures in sections of documentation pages again, as the options select."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.python = Path(sys.executable)
        self.sections: dict[str, Callable[[], str]] = {
            "report": self._report,
            "walk-through": self._walk_through,
            "fused": self._fused,
            "growth": self._growth,
        }

    def _report(self) -> str:
        return f"```\n{walk_through.table(self.python)}\n```"

    def _walk_through(self) -> str:
        rows = walk_through.rows(self.python, self.given.repeat, self.given.packets)
        done = self._written("walk-through", rows)
        first = figures.markdown(done, walk_through.COLUMNS)
        return f"{first}\n\n{figures.markdown(done, walk_through.BOUNDS)}"

    def _fused(self) -> str:
        rows = fused.rows(
            self.python,
            self.given.clang or find_compiler().command[0],
            self.given.repeat,
            self.given.rounds,
        )
        return figures.markdown(self._written("fused", rows), fused.COLUMNS)

    def _growth(self) -> str:
        done = self._written("growth", growth.rows(self.python, self.given.repeat))
        shown = [row for row in done if row["number"] in growth.SHOWN]
        text = figures.markdown(shown, growth.COLUMNS)
        plot = FOLDER / "growth.svg"
        if self.given.plots:
            from chains import plot as drawing  # noqa: PLC0415 - needs matplotlib

            drawing.draw(done, plot)
        if plot.exists():
            text += f"\n\n![growth of the analysis with the chain](../figures/chains/{plot.name})"
        return text

    def _written(self, name: str, rows: Iterable[Row]) -> list[Row]:
        done = []
        for row in rows:
            print(row, flush=True)
            done.append(row)
        figures.write_csv(FOLDER / f"{name}.csv", done)
        return done


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("sections", nargs="*", metavar="SECTION")
    arguments.add_argument("--repeat", type=int, default=3, metavar="N")
    arguments.add_argument("--rounds", type=int, default=21, metavar="N", help="of timed turns")
    arguments.add_argument("--packets", type=int, default=100_000, metavar="N")
    arguments.add_argument("--clang", help="[default: as slowpath finds it]")
    arguments.add_argument("--plots", action="store_true", help="draw the plot too")
    renewal = Renewal(arguments.parse_args())
    chosen = renewal.given.sections or list(renewal.sections)
    if unknown := set(chosen) - set(renewal.sections):
        arguments.error(f"no section {', '.join(sorted(unknown))}")
    for name in chosen:
        text = renewal.sections[name]()
        # Write each section at once, so that an early end loses no results.
        sections.renew(HOW_TO if name == "report" else ACCURACY, name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
