"""Options that several commands of `slowpath contention` share, and their defaults."""

import math
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from slowpath.contention.tables.columns import ATTRIBUTES
from slowpath.core.errors import OptionError


class Traffic(NamedTuple):
    """Traffic that a function gets."""

    flows: float
    size: float  # of packets, bytes
    mtbr: float | None  # matches per MB


_FLOWS, _SIZE, _MTBR = "flows", "size", "mtbr"


def read_traffic(text: str) -> Traffic:
    """Traffic as `--traffic flows=200000,size=256,mtbr=600` says it.

    Raises:
        OptionError: when it says something else.
    """
    found = dict[str, float]()
    for part in text.split(","):
        name, sign, value = (one.strip() for one in part.partition("="))
        if name not in ATTRIBUTES or not sign:
            raise OptionError("--traffic", f"{part!r} is none of flows=N, size=BYTES, mtbr=N")
        if name in found:
            raise OptionError("--traffic", f"{name} is given twice")
        found[name] = _number(name, value)
    if _FLOWS not in found or _SIZE not in found:
        raise OptionError("--traffic", "flows and size are needed")
    return Traffic(found[_FLOWS], found[_SIZE], found.get(_MTBR))


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    of = ATTRIBUTES[name]
    if not of.least <= value <= of.most:
        reason = f"{name}: {text[:40]!r} is no number from {of.least:g} to {of.most:g} {of.unit}"
        raise OptionError("--traffic", reason)
    return value


def read_beside(text: str | None) -> list[str]:
    """The files that `--with` names; none where it is not given.

    Raises:
        OptionError: when a name is missing.
    """
    names = [] if text is None else [one.strip() for one in text.split(",")]
    if not all(names):
        raise OptionError("--with", f"{text!r} has no name before, between or after commas")
    return names


def read_recipe(name: str) -> str:
    """The name of a memory model.

    Raises:
        OptionError: when there is none of that name.
    """
    from slowpath.contention.memory.recipes import RECIPES

    if name not in RECIPES:
        raise OptionError("--recipe", f"{name!r} is not one of {', '.join(RECIPES)}")
    return name


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keeps remarks of scikit-learn to itself, such as which bound of a kernel was reached.

    What they are about, how well a model predicts, is measured on rows held out.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


POLICIES = ("monopolise", "greedy", "contention-aware", "bid-price", "optimal")
"""The policies that there are."""
POLICY = "contention-aware"
LENGTH = 500
"""Arrivals of a random sequence, as many as the paper's have (7.5.1)."""


MIXES = 20
"""As many as are measured in a quarter of an hour, at half a minute each."""
SURE = 0.9


def check_noise(given: Namespace) -> None:
    """Finds out whether there is anything that scatters.

    Raises:
        OptionError: when there is not.
    """
    if given.noise is not None and given.measured is None:
        raise OptionError("--noise", "is of measured mixes; --measured names their table")
