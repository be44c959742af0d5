"""Options that several `slowpath contention` commands share, and the progress of their work."""

import math
import time
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import OptionError
from slowpath.core.jobs import handling_signals
from slowpath.core.terminal import LiveLine, about_left, note_progress

if TYPE_CHECKING:
    from slowpath.contention.columns import Column


class Traffic(NamedTuple):
    """Traffic that a function processes: flows, packet size and match ratio."""

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
    """Parse the argument of `--with`: the models of co-located functions; empty without the option.

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
    """Check that a memory model of this name exists, and return the name.

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
    """Suppress warnings of scikit-learn in a `with` block, such as a kernel parameter at its bound.

    The warnings concern the quality of a model, which is measured on held-out rows instead.
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
"""Default number of suggested mixes. Measuring them takes ten minutes, at half a minute each."""
SURE = 0.9
"""Default probability with which promises must be kept, for the plans of `suggest`."""


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


_SILENT = 1.0
"""Time in seconds before progress is shown; most trainings of small tables end earlier."""
_PAUSE = 30.0
"""Time in seconds between two progress lines if standard error is not a terminal."""


class ProgressLine(LiveLine):
    """Line that shows the progress of a training; without a terminal, a new line every 30 s."""

    def __init__(self, work: str) -> None:
        """Create the line; it starts with `work`, such as `training`."""
        super().__init__()
        self._work = work
        self._started = time.monotonic()
        self._noted = self._started  # time of the last line without a terminal

    def show(self, share: float) -> None:
        """Show the finished share of the work, from 0 to 1, and the estimated time left."""
        now = time.monotonic()
        took = now - self._started
        left = f", {about_left(took * (1 - share) / share)}" if 0 < share < 1 else ""
        text = f"{self._work}: {share:.0%}{left}"
        if took >= _SILENT:
            self.draw(text)
        if not self.live and now - self._noted >= _PAUSE:
            self._noted = now
            note_progress(text)


@contextmanager
def interruptible(work: str) -> Iterator[ProgressLine]:
    """Show a progress line in a `with` block, which Ctrl-C can interrupt.

    The first signal raises `KeyboardInterrupt`, because a training has no results before its end.
    Later signals are ignored, so that they do not disturb the cleanup. `work` is the first part of
    the line.
    """
    unwinding = False

    def handle() -> None:
        nonlocal unwinding
        if not unwinding:
            unwinding = True
            raise KeyboardInterrupt

    with handling_signals(handle), ProgressLine(work) as line:
        yield line
