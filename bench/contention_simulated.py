#!/usr/bin/env python3
"""Compare predictions with the simulated NIC: the paper's tables.

    bench/contention_simulated.py FOLDER [TABLE...] [--mixes N] [--recipe NAME] [--threads N]
        [--grid] [--renew]

Nine functions are profiled with benches. Then they run in mixes that no model has seen, and their
throughput is compared with predictions. FOLDER keeps the results of simulations, so that none is
repeated. Everything is simulated, with the noise of the published measurements
(docs/explanation/contention-accuracy.md, "The simulated NIC").

Tables: `accuracy` (the paper's Table 2), `resources` (3), `patterns` (4), `traffic` (5),
`placement` (6), `diagnosis` (7), `profiling` (8), `quotas` (Figure 8). `scores` and `ranks` are our
own: a probe instead of counters. `quotas`, `scores` and `ranks` have no section in the document and
are only printed.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import sections
from simulated import (
    accuracy,
    diagnosis,
    patterns,
    placement,
    resources,
    sampled,
    scores,
    traffic,
)
from simulated.functions import FUNCTIONS
from simulated.kept import Kept
from simulated.learnt import Known, learnt
from threadpoolctl import threadpool_limits

from measure import ROOT
from nic_profiles import Settings
from slowpath.contention.memory.recipes import RECIPES

PAGE = ROOT / "docs/explanation/contention-accuracy.md"
Maker = Callable[[], str]


class Tables:
    """Computes the tables of the evaluation on the simulated NIC.

    Models are trained only once for all tables.
    """

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.kept = Kept(given.folder, Settings(20.0, 10.0, threads=given.threads))
        self._known: dict[str, Known] = {}
        self.makers: dict[str, Maker] = {
            "accuracy": self._accuracy,
            "resources": self._resources,
            "patterns": lambda: patterns.table(self.kept),
            "traffic": self._traffic,
            "placement": lambda: placement.table(self.kept, self.known()),
            "diagnosis": lambda: diagnosis.table(self.kept, self.given.recipe),
            "profiling": lambda: sampled.table(self.kept, grid=given.grid),
            "quotas": lambda: sampled.by_quota(self.kept),
            "scores": lambda: scores.table(self.kept),
            "ranks": lambda: scores.ranks(self.kept),
        }

    def known(self) -> dict[str, Known]:
        """Return the trained models of all functions."""
        if not self._known:
            recipe = self.given.recipe
            self._known = {name: learnt(self.kept, name, recipe) for name in FUNCTIONS}
        return self._known

    def _accuracy(self) -> str:
        return accuracy.table(self.kept, self.known(), self.given.mixes)

    def _resources(self) -> str:
        return resources.table(self.kept, self.known())

    def _traffic(self) -> str:
        return traffic.table(self.kept, self.known())


def main() -> int:
    """Profile simulated functions, predict their throughput in mixes, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where tables and outcomes are kept")
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    parser.add_argument("--mixes", type=int, help="combinations for each traffic, instead of all")
    parser.add_argument("--recipe", choices=tuple(RECIPES), help="memory model, instead of chosen")
    parser.add_argument("--grid", action="store_true", help="full profiling, too: 90 minutes more")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="write tables into the document")
    tables = Tables(parser.parse_args())
    chosen = tables.given.tables or list(tables.makers)
    if unknown := set(chosen) - set(tables.makers):
        parser.error(f"no table {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore")
    for name in chosen:
        with threadpool_limits(1):  # these models are too small for several threads
            text = tables.makers[name]()
        if tables.given.renew:
            sections.renew(PAGE, name, text)
        else:
            print(f"{name}\n{text}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
