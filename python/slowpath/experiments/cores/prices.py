"""What calls of the kernel take: what is left of the times when the core's part is taken off."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from slowpath.experiments.cores.description import CallPrice
from slowpath.experiments.cores.observations import Observation

if TYPE_CHECKING:
    import numpy as np

_HASHED = ("hash", "percpu_hash", "lru_hash", "lru_percpu_hash")
_KEYS = "key bytes"
"""The column of what all hash maps have in common: they hash the key, and compare it."""
_BY_BYTES = (
    "csum_diff",
    "loop",
    "perf_event_output",
    "ringbuf_output",
    "trace_printk",
    "trace_vprintk",
)
"""Helpers whose price depends on how much they work on, of all cases in the same way."""
_CASES = ("grow", "shrink", "new")
"""Cases of calls that are told apart, besides numbers of what is printed."""
_TELLING = ("map_lookup", "ringbuf_reserve", "map_delete", "tail_call")
"""Calls whose result tells what they have done: nothing was found, or deleted, or they go on."""


def _case(call: tuple[str, int, bool | None]) -> str:
    """The call, and whether it returned 0."""
    name, _, zero = call
    return f"{name}?" if zero and name.startswith(_TELLING) else name


def _sized(name: str) -> str | None:
    """The column of what a byte more takes, if there is one."""
    helper, *of = name.split(".")
    if of and of[0] in _HASHED:
        return _KEYS
    return f"{helper} bytes" if helper in _BY_BYTES else None


class Prices:
    """The calls of some observations as columns of a linear model."""

    def __init__(self, seen: Sequence[Observation]) -> None:
        """Each call is a column, with one more for the bytes that it works on."""
        calls = [one.flow.calls for one in seen]
        cases = {_case(call) for each in calls for call in each}
        sized = {_sized(name) for each in calls for name, _, _ in each} | {_KEYS}
        self.columns = [*sorted(cases), *sorted(one for one in sized if one is not None)]
        self._calls = calls

    def matrix(self) -> "np.ndarray":
        """How often each observation has each column."""
        import numpy as np

        number = {name: at for at, name in enumerate(self.columns)}
        matrix = np.zeros((len(self._calls), len(self.columns)))
        for row, calls in enumerate(self._calls):
            for call in calls:
                name, size, _ = call
                matrix[row, number[_case(call)]] += 1
                sized = _sized(name)
                if sized is not None:
                    matrix[row, number[sized]] += size
        return matrix

    def free(self) -> dict[str, CallPrice]:
        """All calls for nothing."""
        names = {name.removesuffix("?") for name in self.columns if not name.endswith(" bytes")}
        return {name: {"cycles": 0.0, "zero_cycles": 0.0} for name in names}

    def named(self, cycles: Sequence[float]) -> dict[str, CallPrice]:
        """The prices of the columns, by calls."""
        known: Mapping[str, float] = dict(zip(self.columns, map(float, cycles), strict=True))
        found = dict[str, CallPrice]()
        for column, price in known.items():
            if column.endswith(" bytes"):
                continue
            name = column.removesuffix("?")
            one = found.setdefault(name, {})
            one["zero_cycles" if column.endswith("?") else "cycles"] = price
        for name, one in found.items():
            one.setdefault("cycles", one.get("zero_cycles", 0.0))
            sized = _sized(name)
            if sized is not None:
                one["byte_cycles"] = known[sized]
        return found | _dearest(found)


def _dearest(found: Mapping[str, CallPrice]) -> dict[str, CallPrice]:
    """For calls of which only single cases were measured: the dearest one."""
    others = dict[str, CallPrice]()
    for name, price in sorted(found.items()):
        whole, _, case = name.rpartition(".")
        if case in _CASES and whole not in found:
            known = others.setdefault(whole, price)
            others[whole] = max(known, price, key=lambda one: one["cycles"])
    return others
