"""Builds made-up fleets of NICs, for tests that place network functions on them."""

from collections.abc import Sequence

from contention_models import kind, model
from slowpath.contention.placement.fleet import Fleet, Function
from support import ROOT

EXAMPLE = ROOT / "examples/fleet"
SLAS = (0.75, 0.85, 0.95)


def fleet_of(sizes: Sequence[int], cores: int = 4, most: int | None = None) -> Fleet:
    models = [model(at, 2e-4 if at == 1 else None, accesses=2e8) for at in range(len(sizes))]
    functions = tuple(
        Function(f"f{at}", kind(models[at], f"m{at}"), size, SLAS, None)
        for at, size in enumerate(sizes)
    )
    return Fleet("fleet.yaml", None, cores, most, functions)


FLEET = fleet_of((1, 2, 1))
