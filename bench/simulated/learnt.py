"""Trains models of functions on their profiles: slowpath's model, and SLOMO's for comparison."""

import hashlib
import sys
from typing import NamedTuple

from simulated.kept import Kept
from simulated.profiled import ROWS, Profile, profile, solo
from slowpath.contention.memory.recipes import RECIPES
from slowpath.contention.methods import Slomo, fit_slomo
from slowpath.contention.model import FunctionModel, Profiles, choose, learn
from slowpath.contention.reading import read_accelerator, read_memory, read_own_contention
from slowpath.contention.saved import read, written
from slowpath.core.errors import InputError


class Known(NamedTuple):
    """A function with slowpath's model, SLOMO's model, and its solo throughput."""

    name: str
    model: FunctionModel
    slomo: Slomo
    solo: tuple[float, ...]  # measured, by traffic profile


def learnt(kept: Kept, name: str, recipe: str | None = None, rows: int = ROWS) -> Known:
    """Train the models of a function on its profile; measure the profile if necessary.

    `recipe` names the kind of memory model; for None, the best one on the training rows is used.
    `rows` is the number of measurements.
    """
    files = profile(kept, name, rows)
    model = _kept_model(kept, name, files, recipe)
    alone = solo(kept, name)
    usual = read_memory([str(files.usual)])
    return Known(name, model, fit_slomo(usual, alone[0]), tuple(alone))


def _kept_model(kept: Kept, name: str, files: Profile, recipe: str | None) -> FunctionModel:
    """Return slowpath's model of a function; train and save it if it is not saved yet.

    Choosing the kind of memory model takes a minute.
    """
    tables = [one for one in (files.memory, files.own, files.requests) if one is not None]
    text = "".join(table.read_text() for table in tables) + str(recipe)
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    file = kept.folder / f"{name}.{key}.model.json"
    try:
        return read(str(file))
    except InputError:  # missing, or from a version that learns differently
        model = _learnt(files, recipe)
    file.write_text(written(model))
    print(f"{name}: {model.choice.recipe.name}", file=sys.stderr, flush=True)
    return model


def _learnt(files: Profile, recipe: str | None) -> FunctionModel:
    memory = read_memory([str(files.memory)])
    own = read_own_contention(str(files.own), memory.origin)
    requests = None
    if files.requests is not None:
        requests = read_accelerator(str(files.requests), memory.origin)
    choice = choose(memory, None if recipe is None else RECIPES[recipe])
    return learn(Profiles(memory, requests, own), choice)
