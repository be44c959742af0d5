"""Reads durations and sizes, for all options that take a time or an amount of memory."""

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
