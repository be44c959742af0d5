"""Several functions of a module that work on the same memory, called in a row."""

from collections.abc import Mapping, Sequence

from slowpath.insights.accelerators.execution.native import Variable
from slowpath.insights.accelerators.harness.bench import Bench, State

CONTEXT, DATA, OUT, KEY, NONCE = range(5)
"""Which region is for what."""
_WINDOW = 2048
"""Bytes of each region that a run begins with."""


class Stage:
    """Functions on the same memory."""

    def __init__(self, bench: Bench, names: Sequence[str]) -> None:
        variables = dict[int, Variable]()
        for name in names:
            variables |= {one.address: one for one in bench.variables(name)}
        self._state = State(bench, list(variables.values()))
        self._bench = bench
        self.regions = bench.regions[: NONCE + 1]

    def start(self, contents: Mapping[int, bytes], *, zero: Sequence[int] = (CONTEXT,)) -> None:
        """Has variables as they were, and memories as they are given, or with noise or zeros."""
        self._state.restore()
        for at, region in enumerate(self.regions):
            text = bytes(_WINDOW) if at in zero else self._bench.noise[at][:_WINDOW]
            region.write(text)
            if at in contents:
                region.write(contents[at])

    def variables(self) -> bytes:
        """What variables have now."""
        return self._state.now()

    def call(self, name: str, arguments: Sequence[int]) -> int:
        """Calls a function; it can be called, as `kinds` has said."""
        native = self._bench.native(name)
        if native is None:
            raise ValueError(f"{name} cannot be called")
        return native(arguments)

    def address(self, region: int) -> int:
        """Where a region begins."""
        return self.regions[region].address

    def read(self, region: int, size: int = _WINDOW, offset: int = 0) -> bytes:
        """What a region has."""
        return self.regions[region].read(size, offset)


def kinds(bench: Bench, name: str) -> str:
    """The parameters of a function, a letter each: p, i; empty where it cannot be called."""
    function = bench.functions[name]
    if bench.native(name) is None:
        return ""
    return "".join("p" if one.kind == "pointer" else "i" for one in function.parameters)


def filled(pattern: str, pointers: Sequence[int], numbers: Sequence[int]) -> list[int]:
    """Arguments in the order of a pattern."""
    left, right = iter(pointers), iter(numbers)
    return [next(left) if kind == "p" else next(right) for kind in pattern]
