"""Plans that ask for measurements, point by point, and are told what came of each.

A plan is a generator: whoever measures decides when, and may stop asking it. So a profile of a
machine, where each measurement takes seconds and may be the last one, and a function `measure` have
the same plans.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from slowpath.contention.sampling.space import Point, Sample

Result = TypeVar("Result")
Asking = Generator[Point, Sequence[Sample], Result]
"""Yields the point that is to be measured next, and is sent what came of it: a sample of that
point, and of any others that the same measurement tells about."""

Plan = Asking[None]
Measure = Callable[[Point], float]
"""Throughput at a point: a test bed, a simulation, or a table."""


def ask(plan: Plan, told: Sequence[Sample] | None = None) -> Point | None:
    """The next point of a plan, when it is told what came of the one before; None at its end.

    Args:
        plan: what is asked.
        told: what came of the last point; None before the first one.
    """
    try:
        return next(plan) if told is None else plan.send(told)
    except StopIteration:
        return None


def measured(plan: Plan, measure: Measure) -> list[Sample]:
    """All that a plan wants, in the order in which it does."""
    samples = list[Sample]()
    wanted = ask(plan)
    while wanted is not None:
        samples.append(Sample(wanted, measure(wanted)))
        wanted = ask(plan, samples[-1:])
    return samples
