"""What makes one placement better than another."""

import math
from typing import Literal, NamedTuple

from slowpath.insights.placement.costs import costs, throughput
from slowpath.insights.placement.problem import Case, Spread

Objective = Literal["cost", "throughput"]
COST: Objective = "cost"
THROUGHPUT: Objective = "throughput"


class Value(NamedTuple):
    """The smaller the better, the first part before the second one."""

    first: float
    """The cost; seconds between two packets where throughput is asked for."""
    second: float
    """Then the cost; else 0."""


def value(case: Case, objective: Objective, spread: Spread, *, free: bool) -> Value:
    """Of a placement; `throughput` takes a case with rates."""
    cost = math.fsum(costs(case, spread, free=free))
    if objective == COST or case.rates is None:
        return Value(cost, 0.0)
    return Value(throughput(case, case.rates, spread, cost).seconds, cost)
