"""What options of several commands say; and remarks of libraries kept away."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from slowpath.cli.errors import OptionError


class Traffic(NamedTuple):
    """Traffic that a function gets."""

    flows: float
    size: float  # of packets, bytes
    mtbr: float | None  # matches per MB


_FLOWS, _SIZE, _MTBR = "flows", "size", "mtbr"
_LEAST = {_FLOWS: 1.0, _SIZE: 1.0, _MTBR: 0.0}


def read_traffic(text: str) -> Traffic:
    """Traffic as `--traffic flows=200000,size=256,mtbr=600` says it.

    Raises:
        OptionError: when it says something else.
    """
    found = dict[str, float]()
    for part in text.split(","):
        name, sign, value = (one.strip() for one in part.partition("="))
        if name not in _LEAST or not sign:
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
    if not _LEAST[name] <= value < math.inf:
        raise OptionError("--traffic", f"{name}: {text!r} is no number from {_LEAST[name]:g} up")
    return value


def read_beside(text: str | None) -> list[str]:
    """The files that `--with` names; none where it is not given."""
    return [one.strip() for one in text.split(",")] if text else []


def read_recipe(name: str) -> str:
    """The name of a memory model.

    Raises:
        OptionError: when there is none of that name.
    """
    from slowpath.contention.memory.learning.recipes import RECIPES

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
