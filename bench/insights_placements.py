#!/usr/bin/env python3
"""Time to prove placements of 100 structures.

    bench/insights_placements.py ../shared/validation

The cases are generated, with the published capacities and prices. The table has CPU times of this
machine, which other processes do not disturb; docs/explanation/insights-accuracy.md has its figures.
"""

import argparse
import random
import time
from pathlib import Path

from slowpath.insights.placement.problem import COPY, COST, Access, Card, Case, Structure
from slowpath.insights.placement.reading import read_cases
from slowpath.insights.placement.solving import place

STRUCTURES, INSTANCES, SECONDS = 100, 25, 30.0
_MANY, _FEW = "one of a kind", "ten kinds"


def placements(folder: Path) -> None:
    """Print the times to prove the best placement of structures, by kind of problem."""
    print("| structures | copies | levels without a price | proved | seconds, median | longest |")
    print("|---|---|---|---|---|---|")
    card = next(
        one.case.card for one in read_cases(str(folder / "placement.json")) if one.scope == "local"
    )
    for kinds, copies, free in (
        (STRUCTURES, 0, False),
        (STRUCTURES, 0, True),
        (10, 0, False),
        (10, 0, True),
        (STRUCTURES, 50, False),
        (STRUCTURES, 100, False),
        (STRUCTURES, 50, True),
        (STRUCTURES, 100, True),
    ):
        times, proved, gaps = list[float](), 0, list[float]()
        for seed in range(INSTANCES):
            case = _generated(card, kinds, copies, seed)
            started = time.process_time()
            found = place(case, COST, free=free, seconds=SECONDS)
            times.append(time.process_time() - started)
            if found is not None:
                proved += found.proven
                gaps.append(1 - found.bound / found.value.first if found.value.first else 0.0)
        middle, longest = sorted(times)[INSTANCES // 2], max(times)
        kind = _MANY if kinds == STRUCTURES else _FEW
        gap = "" if proved == INSTANCES else f", gaps up to {100 * max(gaps):.2g} %"
        print(
            f"| {kind} | {copies} | {'free' if free else 'forbidden'} "
            f"| {proved} of {INSTANCES}{gap} | {middle:.2f} | {longest:.2f} |",
            flush=True,
        )


def _generated(card: Card, kinds: int, copies: int, seed: int) -> Case:
    """Generate a placement problem with structures of 30 B to 2 MB, whose sizes are log-uniform."""
    dice = random.Random(seed)  # noqa: S311 - instances, no secrets
    operations = [*card.access_cost]
    each = [
        Structure(
            "",
            int(10 ** dice.uniform(1.5, 6.3)),
            [
                Access(dice.choice(operations), dice.randint(1, 200))
                for _ in range(dice.randint(1, 3))
            ],
        )
        for _ in range(kinds)
    ]
    structures = [each[at % kinds]._replace(name=f"s{at}") for at in range(STRUCTURES)]
    for _ in range(copies):
        one, other = dice.sample(range(STRUCTURES), 2)
        copy = Access(COPY, dice.randint(1, 50), f"s{other}")
        structures[one] = structures[one]._replace(accesses=[*structures[one].accesses, copy])
    return Case("generated", card, structures)


def main() -> None:
    """Print the table of times for placement problems."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder that has state-placement")
    placements(parser.parse_args().folder / "state-placement")


if __name__ == "__main__":
    main()
