"""Hypothetical changes: `regex queues x2`, `mtbr =300`.

`regex queues` changes the queues of the function. `regex time` changes the time of all requests, as
a faster accelerator would. `flows`, `size` and `mtbr` change the traffic of all functions. `without
FILE` removes one of the co-located functions.
"""

import math
import re
from typing import NamedTuple

from slowpath.contention.bottleneck import ATTRIBUTES, WHOLE, Attribute, Setting, with_attribute
from slowpath.contention.mixes import Kind
from slowpath.contention.prediction import ACCELERATOR
from slowpath.contention.tables.columns import ATTRIBUTES as COLUMNS

_QUEUES, _TIME = f"{ACCELERATOR} queues", f"{ACCELERATOR} time"
_CHANGE = re.compile(r"(?P<what>[a-z][a-z ]*?)\s*(?P<how>[x=])\s*(?P<value>[0-9.eE+-]+)")
_WITHOUT = "without "
_MOST_QUEUES = 4096
_MOST_TIMES = 1e6
_WORDS = f"{_QUEUES} xN, {_TIME} xN, flows, size or mtbr xN or =N, without MODEL"


class ChangeError(ValueError):
    """An invalid change; the text gives the reason."""


class Change(NamedTuple):
    """One change of the setting."""

    text: str  # as the user wrote it
    what: str
    value: float
    times: bool  # true if the value is a factor


def read_change(text: str) -> Change:
    """Parse a change.

    Raises:
        ChangeError: if the text is not a valid change.
    """
    words = " ".join(text.split())
    if words.startswith(_WITHOUT):
        return Change(text, words, 0.0, times=False)
    match = _CHANGE.fullmatch(words)
    if match is None or match["what"] not in (_QUEUES, _TIME, *ATTRIBUTES):
        raise ChangeError(f"{text!r} is none of {_WORDS}")
    try:
        value = float(match["value"])
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf or (value == 0 and match["what"] != "mtbr"):
        raise ChangeError(f"{text!r}: {match['value']!r} is no number above zero")
    if match["what"] == _TIME and match["how"] == "=":
        raise ChangeError(f"{text!r}: a time can be multiplied only: {_TIME} x0.5")
    if match["what"] == _TIME and not 1 / _MOST_TIMES <= value <= _MOST_TIMES:
        raise ChangeError(f"{text!r}: {value:g} is not from {1 / _MOST_TIMES:g} to {_MOST_TIMES:g}")
    return Change(text, match["what"], value, match["how"] == "x")


def changed(setting: Setting, change: Change) -> Setting:
    """Return the setting with the change applied.

    Raises:
        ChangeError: if the change does not apply to the setting.
    """
    target = setting.target
    if change.what.startswith(_WITHOUT):
        return _without(setting, change.what.removeprefix(_WITHOUT))
    if change.what in ATTRIBUTES:
        return _traffic(setting, change.what, change)
    if not target.accelerated:
        raise ChangeError(f"{change.text!r}: {target.file} uses no accelerator")
    if change.what == _QUEUES:
        queues = change.value * target.model.queues if change.times else change.value
        if not (queues.is_integer() and 1 <= queues <= _MOST_QUEUES):
            raise ChangeError(f"{change.text!r}: {queues:g} is no number of queues")
        return setting._replace(
            target=target._replace(model=target.model._replace(queues=int(queues)))
        )
    if target.model.pattern == "run-to-completion":
        reason = "memory rows of run-to-completion have the time of requests in them"
        raise ChangeError(f"{change.text!r}: {reason}; measure it with the other accelerator")
    return Setting(
        _faster(target, change.value), tuple(_faster(one, change.value) for one in setting.others)
    )


def _without(setting: Setting, file: str) -> Setting:
    names = [one.file for one in setting.others]
    if file not in names:
        known = ", ".join(names) or "nobody"
        raise ChangeError(f"'{_WITHOUT}{file}': beside the function there is {known}")
    at = names.index(file)
    return setting._replace(others=setting.others[:at] + setting.others[at + 1 :])


def _traffic(setting: Setting, attribute: Attribute, change: Change) -> Setting:
    now = getattr(setting.target, attribute)
    if now is None:
        now = next((one.mtbr for one in setting.others if one.mtbr is not None), None)
    if now is None:
        raise ChangeError(f"{change.text!r}: nobody uses an accelerator")
    value = now * change.value if change.times else change.value
    of = COLUMNS[attribute]
    if not of.least <= value <= of.most:
        limits = f"from {of.least:g} to {of.most:g} {of.unit}"
        raise ChangeError(f"{change.text!r}: {value:g} is not {limits}")
    if attribute in WHOLE:
        value = float(round(value))
    return with_attribute(setting, attribute, value)


def _faster(kind: Kind, factor: float) -> Kind:
    """Multiply the request time by a factor."""
    time = kind.model.request_time
    if time is None:
        return kind
    return kind._replace(model=kind.model._replace(request_time=time.scaled(factor)))
