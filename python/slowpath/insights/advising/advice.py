"""A piece of advice, and what could not be said: the interface of all that advises.

What advises is a module with one function, from `Evidence` to pieces of advice and gaps. It knows
nothing of other modules of its kind, of files and of formats; `report.py` has the list of them.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

Kind = Literal["accelerator", "placement", "coalescing", "cores", "neighbour"]
Certainty = Literal["proved", "predicted", "estimated", "learnt", "assumption"]
"""The weakest of what a piece of advice rests on: `proved`, by execution or by a search that leaves
out nothing; `predicted`, by a model with a known error; `estimated`, by prices of
other functions, with an interval; `learnt`, by a classifier; `assumption`,
where a number was not measured by anybody."""


class Advice(NamedTuple):
    """What to change."""

    kind: Kind
    title: str
    """As an order: put this there."""
    what: str
    """The function or structure."""
    file: str
    """Where that is; empty where nothing says it."""
    line: int
    """The same; 0 where nothing says it."""
    reason: str
    before: float | None
    """For each packet, as the source is (of neighbours: a share); None without counts."""
    after: float | None
    """The same with the change."""
    unit: str
    """Of both."""
    saved: float | None
    """Cycles of a packet that it saves, as `weight.py` counts them; None: not known."""
    certainty: Certainty
    sure: str
    """How sure it is, and what it rests on, in words."""
    code: str = ""
    """What to write instead, where that can be said."""
    share: float | None = None
    """Of a packet's time, what it saves, where that is not in cycles."""


class Gap(NamedTuple):
    """Advice that could not be given."""

    what: str
    why: str
    remedy: str
    """What to do to have it; empty: nothing helps yet."""


Said = Iterator[Advice | Gap]
