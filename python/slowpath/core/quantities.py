"""Reads durations and sizes in options, and writes numbers with as many digits as are known.

The interval of a value determines its digits. Values without an interval get three significant
digits, counts all digits, and means of counts all digits in front of the point.
"""

import math
import re
from argparse import ArgumentTypeError

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
"""Significant digits of values without an interval; the most of values with one."""


def significant(value: float, digits: int = _DIGITS) -> str:
    """Write a value with this number of significant digits: 1,640, 82.0, 0.0512."""
    return _stepped(value, _exponent(value) - digits + 1)


def with_interval(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Write a value and the ends of its interval, all to the same decimal place.

    The last place is at most a quarter of the width of the interval: 228 (64 to 314) becomes
    230 (60 to 310). The value keeps at least two digits.
    """
    last = _last_place(value, low, high)
    return _stepped(value, last), _stepped(low, last), _stepped(high, last)


def digits_known(value: float, low: float, high: float) -> int:
    """Return the number of significant digits that `with_interval` writes for a value."""
    return max(_exponent(value) - _last_place(value, low, high) + 1, 1)


def number(value: float) -> str:
    """Write a count or a mean of counts: whole numbers in full, others with three digits or more.

    No digit in front of the point is rounded away.
    """
    if value == round(value):
        return f"{value:,.0f}"
    text = _stepped(value, min(_exponent(value) - _DIGITS + 1, 0))
    return text.rstrip("0").rstrip(".") if "." in text else text


def about_percent(share: float) -> str:
    """Write an estimated share in percent, with two significant digits: 51 %, 3.2 %, <0.1 %."""
    percent = 100 * share
    if 0 < abs(percent) < 0.1:  # noqa: PLR2004 - one decimal
        return f"{'-' if percent < 0 else ''}<0.1 %"
    return f"{_stepped(percent, max(_exponent(percent) - 1, -1))} %"


def _exponent(value: float) -> int:
    """Return the decimal exponent of a value: 3 for 1,640."""
    return math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0


def _last_place(value: float, low: float, high: float) -> int:
    """Return the exponent of the last known place of a value."""
    width = high - low
    least = _exponent(value) - _MOST_DIGITS + 1
    if not (width > 0 and math.isfinite(width)):
        return least
    return min(max(math.floor(math.log10(width / 4)), least), _exponent(value) - 1)


def _stepped(value: float, last: int) -> str:
    """Write a value rounded to the place with the decimal exponent `last`."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else f"{value:g}"
    return f"{round(value, -last) or 0.0:,.{max(-last, 0)}f}"
