"""Reads durations, sizes, percentages and ranges in options, and formats numbers for reports.

The interval of a value determines its digits. Values without an interval get three significant
digits, counts all digits, and means of counts all digits in front of the point.
"""

import math
import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import NamedTuple

from slowpath.core.spelling import deprecated

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
"""Seconds of each unit of time."""
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
"""Bytes of each unit of memory."""


def duration(text: str) -> float:
    """Read a time in seconds: `10s`, `2m`, `500ms`, `1h`; plain numbers are seconds.

    Raises:
        ArgumentTypeError: if the text is not a time.
    """
    read = re.fullmatch(r"(\S*?\d\.?)\s*([a-z]+)", text.strip())
    number, unit = (read[1], read[2]) if read else (text, "s")
    try:
        return float(number) * _SECONDS[unit]
    except (KeyError, ValueError):
        raise ArgumentTypeError(f"{text!r} is not a time; write 10s, 2m or 500ms") from None


def size(text: str) -> int:
    """Read a number of bytes: `500M`, `2G`, `512MiB`; units are powers of 1024.

    Raises:
        ValueError: if the text is not a size.
    """
    read = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower(), re.ASCII)
    if read is None:
        raise ValueError(f"{text!r} is not a size of memory; write 512MiB or 2G")
    return int(float(read[1]) * _BYTES[read[2]])


_DIGITS, _MOST_DIGITS = 3, 4
"""Significant digits of values without an interval; maximum for values with an interval."""


def significant(value: float, digits: int = _DIGITS) -> str:
    """Format a value with `digits` significant digits: 1,640, 82.0, 0.0512."""
    return _stepped(value, _exponent(value) - digits + 1)


def with_interval(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Format a value and the ends of its interval, all to the same decimal place.

    The last place is at most a quarter of the width of the interval: 228 (64 to 314) becomes 230
    (60 to 310). The value keeps at least two digits.
    """
    last = _last_place(value, low, high)
    return _stepped(value, last), _stepped(low, last), _stepped(high, last)


def digits_known(value: float, low: float, high: float) -> int:
    """Return the number of significant digits with which `with_interval` formats a value."""
    return max(_exponent(value) - _last_place(value, low, high) + 1, 1)


def number(value: float) -> str:
    """Format a count, or a mean of counts: whole numbers in full, others to three digits or more.

    Digits in front of the decimal point are never rounded.
    """
    if value == round(value):
        return f"{value:,.0f}"
    text = _stepped(value, min(_exponent(value) - _DIGITS + 1, 0))
    return text.rstrip("0").rstrip(".") if "." in text else text


def about_percent(share: float) -> str:
    """Format an estimated fraction in percent, with two significant digits: 51 %, 3.2 %, <0.1 %."""
    percent = 100 * share
    if 0 < abs(percent) < 0.1:  # noqa: PLR2004 - one decimal
        return f"{'-' if percent < 0 else ''}<0.1 %"
    return f"{_stepped(percent, max(_exponent(percent) - 1, -1))} %"


def _exponent(value: float) -> int:
    """Return the power of ten of a value's first digit: 3 for 1,640."""
    return math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0


def _last_place(value: float, low: float, high: float) -> int:
    """Return the power of ten of the last decimal place that is known for a value."""
    width = high - low
    least = _exponent(value) - _MOST_DIGITS + 1
    if not (width > 0 and math.isfinite(width)):
        return least
    return min(max(math.floor(math.log10(width / 4)), least), _exponent(value) - 1)


def _stepped(value: float, last: int) -> str:
    """Format a value rounded to the decimal place 10**`last`."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else f"{value:g}"
    return f"{round(value, -last) or 0.0:,.{max(-last, 0)}f}"


_NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_RANGE = rf"({_NUMBER})\.\.({_NUMBER})(?:([+*/])({_NUMBER}))?"
_OLD_RANGE = rf"({_NUMBER})(?:\.\.|:)({_NUMBER})(?::({_NUMBER}))?"


def percentage(least: float, most: float) -> Callable[[str], float]:
    """Return an argparse type that reads a percentage between `least` and `most`, such as `90%`.

    The percent sign can be left out.
    """

    def read(text: str) -> float:
        limits = f"{least:g}% to {most:g}%"
        try:
            value = float(text.removesuffix("%"))
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not a percentage; write {limits}") from None
        if not least <= value <= most:
            raise ArgumentTypeError(f"{text} is not allowed; write {limits}")
        return value

    read.__name__ = "percentage"
    return read


def share_of_percentage(option: str) -> Callable[[str], float]:
    """Return an argparse type that reads a percentage and converts it to a fraction from 0 to 1.

    A number without percent sign is a fraction already; this spelling of `option` is deprecated.
    """
    limited = percentage(0, 100)

    def read(text: str) -> float:
        if text.endswith("%"):
            return limited(text) / 100
        try:
            share = float(text)
        except ValueError:
            return limited(text)
        if not 0 <= share <= 1:
            raise ArgumentTypeError(f"{text} is not allowed; write 0% to 100%")
        deprecated(f"{option} {text}", f"{option} {100 * share:g}%")
        return share

    read.__name__ = "percentage"
    return read


class Range(NamedTuple):
    """A range of numbers, as the texts that a user wrote."""

    first: str
    last: str
    sign: str  # `+`: step, `*`: factor, `/`: number of values; empty: none of them
    amount: str  # value of `sign`


FORMS = {
    "+": "FIRST..LAST+STEP",
    "*": "FIRST..LAST*FACTOR",
    "/": "FIRST..LAST/N",
}
"""Forms of ranges in addition to `FIRST..LAST`, by the sign before their last number."""


def parse_range(option: str, text: str, signs: str, old: str) -> Range:
    """Parse a range, `FIRST..LAST`, optionally with a step, a factor or a number of values.

    `signs` has the signs of the allowed forms, as in `FORMS`. Two deprecated forms are accepted: a
    colon between the ends, and a third number after another colon. This number has the meaning of
    the sign `old`.

    Raises:
        ValueError: if the text has another form.
    """
    if match := re.fullmatch(_RANGE, text, re.ASCII):
        first, last, sign, amount = match.groups("")
        if sign and sign not in signs:
            raise ValueError(f"{text!r} is not a range; write {_forms(signs)}")
        return Range(first, last, sign, amount)
    match = re.fullmatch(_OLD_RANGE, text, re.ASCII)
    if match is None or (match[3] is not None and not old):
        raise ValueError(f"{text!r} is not a range; write {_forms(signs)}")
    first, last, amount = match.groups("")
    sign = old if amount else ""
    deprecated(f"{option} {text}", f"{first}..{last}{sign}{amount}")
    return Range(first, last, sign, amount)


def _forms(signs: str) -> str:
    return " or ".join(["FIRST..LAST", *(FORMS[sign] for sign in signs)])
