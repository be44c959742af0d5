"""Reads and formats packet and bit rates, such as `40Gbit/s` and `10 Mpps`.

Formatted rates are truncated, not rounded, so that they never exceed the guarantee.
"""

import re
from typing import Literal, NamedTuple, get_args

from slowpath.core.quantities import digits_known, significant
from slowpath.core.schema.results import RatedTime

Metric = Literal["bitrate", "packetrate"]
METRICS: tuple[Metric, ...] = get_args(Metric)


def as_metric(name: str) -> Metric | None:
    """Return `name` as a metric of rates; None if it is the name of a count."""
    return next((metric for metric in METRICS if metric == name), None)


_PREFIXES = {"": 0, "k": 3, "m": 6, "g": 9, "t": 12}
_UNITS: dict[str, Metric] = {
    "bit/s": "bitrate",
    "bits/s": "bitrate",
    "bps": "bitrate",
    "pps": "packetrate",
    "packets/s": "packetrate",
    "pkt/s": "packetrate",
}
_RATE = r"(?P<number>\d+(\.\d*)?|\.\d+)\s*(?P<prefix>[kmgt]?)(?P<unit>[a-z]+(/s)?)"
_DIGITS = 3
_DIGITS_AT_MOST = 12
_STEP = 1000
_STEPS = ("", "k", "M", "G", "T", "P")


class Rate(NamedTuple):
    """A bit rate or a packet rate."""

    value: float  # bit/s or packets/s
    metric: Metric


class CountLimit(NamedTuple):
    """An upper limit of a count, such as memory accesses."""

    value: int
    metric: str  # such as `memory-accesses`


Requirement = Rate | CountLimit
"""A requirement for a guarantee; `slowpath.bounds.requirement` reads and checks it."""


def parse_rate(text: str) -> Rate:
    """Read a rate with its unit: `40Gbit/s`, `10Mpps`.

    Raises:
        ValueError: if the text is not a number with a unit, optionally with prefix k, M, G or T.
    """
    match = re.fullmatch(_RATE, text.strip(), re.IGNORECASE | re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is not a rate; write for example 40Gbit/s or 10Mpps")
    metric = _UNITS.get(match["unit"].lower())
    if metric is None:
        raise ValueError(
            f"{match['unit']!r} is not a unit of a rate; write {', '.join(_UNITS)}, with k, M, G "
            "or T in front, such as 10Mpps"
        )
    value = float(f"{match['number']}e{_PREFIXES[match['prefix'].lower()]}")
    if value == float("inf"):
        raise ValueError(f"{text!r} is too large for a rate")
    return Rate(value, metric)


def format_rate(value: float, metric: Metric, digits: int = _DIGITS) -> str:
    """Format a rate with `digits` significant digits, truncated: `24.7 Gbit/s`, `50.6 Mpps`."""
    number, scale = _exact(value)
    step = 0
    while number >= scale * _STEP and step + 1 < len(_STEPS):
        scale *= _STEP
        step += 1
    unit = "bit/s" if metric == "bitrate" else "pps"
    return f"{_cut(number, scale, digits)} {_STEPS[step]}{unit}"


def format_apart(low: float, high: float, metric: Metric) -> tuple[str, str]:
    """Format two rates. | If they differ, the texts have enough digits to show the difference."""
    for digits in range(_DIGITS, _DIGITS_AT_MOST):
        pair = format_rate(low, metric, digits), format_rate(high, metric, digits)
        if pair[0] != pair[1]:
            return pair
    return f"{low!r}", f"{high!r}"


def format_packetrate(value: float) -> str:
    """Format a packet rate given in packets/s."""
    return format_rate(value, "packetrate")


def format_estimated_rate(time: RatedTime) -> str:
    """Format the packet rate of an estimated time, with as many digits as the time has."""
    digits = digits_known(time["ns"], time["low_ns"], time["high_ns"])
    value, step = time["packetrate_pps"], 0
    while value >= _STEP and step + 1 < len(_STEPS):
        value /= _STEP
        step += 1
    return f"{significant(value, digits)} {_STEPS[step]}pps"


def format_improvement(better: float, base: float) -> str:
    """Format the increase from `base` to `better` in percent: `+17.6 %`, or `none`."""
    if base <= 0 or better <= base:
        return "none"
    number, scale = _exact(better)
    base_number, base_scale = _exact(base)
    percent = 100 * (number * base_scale - base_number * scale)
    whole = base_number * scale
    return "<0.1 %" if 10 * percent < whole else f"+{_cut(percent, whole, _DIGITS)} %"


def _exact(value: float) -> tuple[int, int]:
    """Return the decimal number that Python prints for a float, as numerator and denominator.

    The module `decimal` takes long to import.
    """
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, decimals = mantissa.partition(".")
    number, power = int(whole + decimals), int(exponent or 0) - len(decimals)
    return number * 10 ** max(power, 0), 10 ** max(-power, 0)


def _cut(number: int, scale: int, digits: int) -> str:
    """Format the fraction `number`/`scale`, truncated to `digits` significant digits.

    Digits in front of the decimal point are always complete.
    """
    decimals = max(digits - len(str(number // scale)), 0)
    text = str(number * 10**decimals // scale).rjust(decimals + 1, "0")
    return f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text
