"""What cannot be run as it would have to be, or not to the end, and why; in words."""

import re
from collections.abc import Collection, Mapping, Sequence

from slowpath.cli.lists import first_few
from slowpath.insights.accelerators.candidates import looks_up, outside, toils
from slowpath.insights.accelerators.harness.slots import MOST_PARAMETERS
from slowpath.insights.accelerators.libraries import Use, told
from slowpath.insights.preparation.framework import SUPPORT
from slowpath.insights.preparation.functions import Function

_SEVERAL = re.compile("bulk|burst|multi|x[248]$", re.IGNORECASE)
"""What functions of libraries are called that take several things at once."""
_FEW = 3
"""Functions that a reason names."""
_NO_REFERENCE = "agrees with no reference in any way of calling it"
_ROW = "takes several of what it looks up at once, which is not tried"
_FRAMEWORK = "needs packets, ports or tables that are not there when it is run by itself"
_GIVEN_UP = "was given up: calls took too long, or too many of them ended their process"


def unproved(
    functions: Mapping[str, Function], name: str, refused: str | None, known: frozenset[str]
) -> str:
    """Why a function is not proved to be anything."""
    return _cannot(functions, name, refused, known) or _NO_REFERENCE


def left_out(
    functions: Mapping[str, Function],
    name: str,
    refused: str | None,
    known: frozenset[str],
    hopeless: Collection[str],
) -> str | None:
    """Why a function of a source was not run in all ways; None: it was, or has nothing to do.

    What inline assembly does, nobody knows, so it may be much.
    """
    if not toils(functions[name]) and functions[name].assembly is False:
        return None
    why = _cannot(functions, name, refused, known)
    return _GIVEN_UP if why is None and name in hopeless else why


def unfound(
    function: Function, refused: str | None, uses: Sequence[Use], proved: Collection[str]
) -> str | None:
    """Why a look-up of a library is not proved; None: it is none, or a part of what is proved."""
    mine = [use for use in uses if function.name in use.symbols]
    if not looks_up(function) or all(told(use, proved) is not None for use in mine):
        return None
    if refused is not None:
        return f"was not run: it {refused}"
    return _ROW if _SEVERAL.search(function.shown) else _NO_REFERENCE


def _cannot(
    functions: Mapping[str, Function], name: str, refused: str | None, known: frozenset[str]
) -> str | None:
    """What stands in the way of running a function; None: nothing that is known."""
    if refused is not None:
        return f"was not run: it {refused}"
    count = len(functions[name].parameters)
    if count > MOST_PARAMETERS:
        return f"takes {count} arguments, where at most {MOST_PARAMETERS} are tried"
    missing = outside(functions, name, known)
    others = [one for one in missing if not one.startswith(SUPPORT)]
    if others:
        return f"calls {first_few(others, _FEW)}, which is not there"
    return _FRAMEWORK if missing else None
