"""From numbers to places on an axis, and which of them are named there."""

import math
from collections.abc import Iterable
from typing import NamedTuple

_WIDE = 50.0
"""Values that span more than this factor are drawn on a logarithmic axis."""
_TICKS = 5
_FINE = 2.5  # decades, up to which 2 and 5 are named too
_LARGE, _HUGE = 10_000, 1e15


class Scale(NamedTuple):
    """An axis."""

    low: float
    high: float
    logarithmic: bool

    def share(self, value: float) -> float:
        """Where a value is, from 0 to 1; what is beyond the ends is at the end."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return (at - low) / (high - low)

    def ticks(self) -> list[float]:
        """Round values to name."""
        if not self.logarithmic:
            return _linear(self.low, self.high)
        decades = math.log10(self.high / self.low)
        digits = (1, 2, 5) if decades <= _FINE else (1,)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [digit * 10.0**power for power in powers for digit in digits]
        inside = [one for one in found if self.low <= one * (1 + 1e-9) and one <= self.high * 1.001]
        step = math.ceil(len(inside) / (_TICKS + 3))
        return inside[::step]


def scale_of(values: Iterable[float], *, from_zero: bool = False) -> Scale:
    """An axis for these values; with `from_zero`, one that is not logarithmic has zero on it."""
    known = [value for value in values if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if low > 0 and high > _WIDE * low:
        return Scale(low, high, logarithmic=True)
    return linear_scale([*known, *([0.0] if from_zero else [])])


def linear_scale(values: Iterable[float]) -> Scale:
    """An axis for these values on which equal distances are equal differences."""
    known = [value for value in values if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if not high - low > abs(high) * 1e-9:
        low, high = low - abs(low or 1.0) / 2, high + abs(high or 1.0) / 2
    return Scale(low, high, logarithmic=False)


def with_room(scale: Scale, share: float = 0.06) -> Scale:
    """The same with some room at the ends, but not below zero where nothing is."""
    if scale.logarithmic:
        factor = (scale.high / scale.low) ** share
        return scale._replace(low=scale.low / factor, high=scale.high * factor)
    room = (scale.high - scale.low) * share
    low = 0.0 if scale.low == 0 else scale.low - room
    return scale._replace(low=low, high=scale.high + room if scale.high != 0 else 0.0)


def _linear(low: float, high: float) -> list[float]:
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def tick_text(value: float) -> str:
    """A round value in few letters: `0.5`, `2,000`, `50k`, `2M`."""
    size = abs(value)
    if size >= _HUGE or 0 < size < 1e-3:  # noqa: PLR2004 - thousandths are read easily
        return f"{value:.6g}"
    for limit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (_LARGE, "k")):
        if size >= limit:
            return f"{value / (1e3 if name == 'k' else limit):g}{name}"
    return f"{value:,.6g}" if size < 1000 else f"{value:,.0f}"  # noqa: PLR2004 - digits
