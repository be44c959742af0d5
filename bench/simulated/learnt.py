"""What is learnt of a function from its profile, and what its predictions are compared with."""

import sys
from typing import NamedTuple

from simulated.kept import Kept
from simulated.profiled import ROWS, Profile, profile, solo
from slowpath.contention.accelerator.service import fit_request_time
from slowpath.contention.baselines import Slomo, fit_slomo
from slowpath.contention.memory.learning.recipes import RECIPES
from slowpath.contention.model import FunctionModel, Profiles, choose, learn
from slowpath.contention.tables.reading import read_accelerator, read_memory, read_own_contention


class Known(NamedTuple):
    """A function: its model, SLOMO's, and its throughput alone."""

    name: str
    model: FunctionModel
    by_size: dict[int, FunctionModel]  # with request times of packets of a size
    slomo: Slomo
    solo: tuple[float, ...]  # as measured, by traffic profile

    def at(self, size: int) -> FunctionModel:
        """The model for packets of a size that profiles ask about."""
        return self.by_size.get(size, self.model)


def learnt(kept: Kept, name: str, recipe: str | None = None, rows: int = ROWS) -> Known:
    """Learns a function; `recipe` names its memory model, or it is chosen on the training rows."""
    files = profile(kept, name, rows)
    memory = read_memory([str(files.memory)])
    own = read_own_contention(str(files.own), memory.origin)
    choice = choose(memory, None if recipe is None else RECIPES[recipe])
    model = learn(Profiles(memory, None, own), choice)
    alone = solo(kept, name)
    usual = read_memory([str(files.usual)])
    print(f"{name}: {choice.recipe.name}", file=sys.stderr, flush=True)
    return Known(name, model, _by_size(model, files), fit_slomo(usual, alone[0]), tuple(alone))


def _by_size(model: FunctionModel, files: Profile) -> dict[int, FunctionModel]:
    """Nothing else of a model depends on the accelerator."""
    found = {}
    for size, file in files.requests.items():
        accelerator = read_accelerator(str(file), model.memory.origin)
        time = fit_request_time(accelerator)
        found[size] = model._replace(accelerator=accelerator, request_time=time)
    return found
