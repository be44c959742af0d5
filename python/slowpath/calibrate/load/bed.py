"""The interface of the beds that offer load to programs."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

from slowpath.calibrate.experiments.specification import Experiment
from slowpath.core.engine.kernel import OfferedTrial

MARK = 16
"""Bytes that are appended to each packet: its number and the time of sending."""

Offering = Callable[[float | None, float], OfferedTrial]
"""Offers packets to a program at a rate, in packets a second (None: as fast as possible), for a
time in seconds. After a stop request, it returns early.

Raises:
    InputError: when packets cannot be sent or counted.
"""


class OfferedProgram(NamedTuple):
    """A program that can be offered packets."""

    experiment: Experiment
    value: int  # of the swept parameter
    packet: bytes  # without its mark
    open: Callable[[], AbstractContextManager[Offering]]
    """Start the program. Raises an `InputError` if it does not start."""

    @property
    def parameter(self) -> str:
        """Name of the swept parameter."""
        return self.experiment["component"]["sweep"]["parameter"]
