"""Reads values that options of several commands take: percentages, shares and ranges."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import NamedTuple

from slowpath.core.spelling import deprecated

_NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:([+*/])({_NUMBER}))?", re.ASCII)
_OLD_RANGE = re.compile(rf"({_NUMBER})(?:\.\.|:)({_NUMBER})(?::({_NUMBER}))?", re.ASCII)


def percentage(least: float, most: float) -> Callable[[str], float]:
    """Return an argparse type that reads a percentage, such as `90%`, within limits.

    The percent sign can be left out.
    """

    def number(text: str) -> float:
        limits = f"{least:g}% to {most:g}%"
        try:
            value = float(text.removesuffix("%"))
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not a percentage; write {limits}") from None
        if not least <= value <= most:
            raise ArgumentTypeError(f"{text} is not allowed; write {limits}")
        return value

    number.__name__ = "percentage"
    return number


def share_of_percentage(option: str) -> Callable[[str], float]:
    """Return an argparse type that reads a percentage, from 0% to 100%, as a share.

    A number without percent sign is a share; this spelling is deprecated.
    """
    limited = percentage(0, 100)

    def number(text: str) -> float:
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

    number.__name__ = "percentage"
    return number


class Range(NamedTuple):
    """A range of numbers, as in the text of an option."""

    first: str
    last: str
    sign: str  # `+`: step, `*`: factor, `/`: number of values; empty: none of them
    amount: str  # value of `sign`


FORMS = {
    "+": "FIRST..LAST+STEP",
    "*": "FIRST..LAST*FACTOR",
    "/": "FIRST..LAST/N",
}
"""Forms of ranges beside `FIRST..LAST`, by their sign."""


def parse_range(option: str, text: str, signs: str, old: str) -> Range:
    """Parse `FIRST..LAST`, with a step, a factor or a number of values if `signs` has their sign.

    Deprecated forms are accepted: a colon between the ends, and a third number after a colon, with
    the meaning of the sign `old`.

    Raises:
        ValueError: if the text has another form.
    """
    if match := _RANGE.fullmatch(text):
        first, last, sign, amount = match.groups("")
        if sign and sign not in signs:
            raise ValueError(f"{text!r} is not a range; write {_forms(signs)}")
        return Range(first, last, sign, amount)
    match = _OLD_RANGE.fullmatch(text)
    if match is None or (match[3] is not None and not old):
        raise ValueError(f"{text!r} is not a range; write {_forms(signs)}")
    first, last, amount = match.groups("")
    sign = old if amount else ""
    deprecated(f"{option} {text}", f"{first}..{last}{sign}{amount}")
    return Range(first, last, sign, amount)


def _forms(signs: str) -> str:
    return " or ".join(["FIRST..LAST", *(FORMS[sign] for sign in signs)])
