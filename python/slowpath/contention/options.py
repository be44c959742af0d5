"""Options that several `slowpath contention` commands share, with their defaults."""

import math
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import OptionError

if TYPE_CHECKING:
    from slowpath.contention.columns import Column


class Traffic(NamedTuple):
    """Traffic that a function processes."""

    flows: float
    size: float  # packet size, bytes
    mtbr: float | None  # matches per MB


_FLOWS, _SIZE, _MTBR = "flows", "size", "mtbr"


def read_traffic(text: str) -> Traffic:
    """Parse the argument of `--traffic`, such as `flows=200000,size=256,mtbr=600`.

    Raises:
        OptionError: if a key or value is wrong, or flows or size is missing.
    """
    from slowpath.contention.columns import ATTRIBUTES

    found = dict[str, float]()
    for part in text.split(","):
        name, sign, value = (one.strip() for one in part.partition("="))
        if name not in ATTRIBUTES or not sign:
            raise OptionError(
                codes.TRAFFIC_INVALID,
                "--traffic",
                f"{part!r} is not traffic; write flows=N, size=BYTES or mtbr=N",
            )
        if name in found:
            raise OptionError(
                codes.REPEATED_OPTION, "--traffic", f"{name} is given twice; remove one"
            )
        found[name] = _number(name, value, ATTRIBUTES[name])
    if _FLOWS not in found or _SIZE not in found:
        raise OptionError(
            codes.TRAFFIC_INVALID,
            "--traffic",
            "flows and size are required; write flows=N,size=BYTES",
        )
    return Traffic(found[_FLOWS], found[_SIZE], found.get(_MTBR))


def _number(name: str, text: str, of: "Column") -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not of.least <= value <= of.most:
        reason = (
            f"the value {text[:40]!r} of {name} is not a number from {of.least:g} to "
            f"{of.most:g} {of.unit}"
        )
        raise OptionError(codes.TRAFFIC_INVALID, "--traffic", reason)
    return value


def read_beside(text: str | None) -> list[str]:
    """Return the files that the option `--with` names; an empty list without the option.

    Raises:
        OptionError: if a name is empty.
    """
    names = [] if text is None else [one.strip() for one in text.split(",")]
    if not all(names):
        raise OptionError(
            codes.INVALID_VALUE,
            "--with",
            f"the list {text!r} has an empty name beside a comma; remove the comma",
        )
    return names


def read_recipe(name: str) -> str:
    """Return `name`, after checking that it is the name of a memory model.

    Raises:
        OptionError: if no memory model has this name.
    """
    from slowpath.contention.memory.recipes import RECIPES
    from slowpath.core.spelling import unknown

    if name not in RECIPES:
        raise OptionError(codes.UNKNOWN_NAME, "--recipe", unknown("memory model", name, RECIPES))
    return name


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Suppress warnings of scikit-learn in a `with` block.

    An example is a kernel parameter at its bound. The warnings concern the quality of a model,
    which is measured on held-out rows instead.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


POLICIES = ("monopolise", "greedy", "contention-aware", "bid-price", "optimal")
"""Names of the placement policies."""
POLICY = "contention-aware"
LENGTH = 500
"""Default number of arrivals in a random sequence, as in the paper (7.5.1)."""


MIXES = 20
"""Default number of suggested mixes, which take a quarter of an hour at half a minute each."""
SURE = 0.9
"""Default probability with which promises are kept if placements follow the suggested measurements.
"""


def check_noise(given: Namespace) -> None:
    """Check that `--noise` comes with a table of measured mixes.

    Raises:
        OptionError: if `--measured` is missing.
    """
    if given.noise is not None and given.measured is None:
        raise OptionError(
            codes.OPTION_NEEDS_OPTION,
            "--noise",
            "the noise applies to measured mixes; name their table with --measured",
        )
