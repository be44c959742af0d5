"""Holds JSON that somebody else may have written against the shape that it should have.

A type is read once and becomes a function that checks: results can have thousands of paths.
"""

from collections.abc import Callable, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

_LARGEST = 1e300
"""No cost or rate comes near; larger whole numbers are no numbers to calculate with."""
_WORDS = {str: "text", bool: "true or false", list: "a list", dict: "an object", NoneType: "null"}

_Check = Callable[[Any], None]
"""Raises a `ShapeError` when a value does not fit."""


class ShapeError(ValueError):
    """What does not fit, and where: `results[3].guarantee: is not ...`."""

    def __init__(self, problem: str, place: str = "") -> None:
        super().__init__(problem, place)
        self.problem = problem
        self.place = place

    def within(self, place: str) -> "ShapeError":
        """The same problem, seen from what contains its place."""
        return ShapeError(self.problem, place + self.place)

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


def check_shape(value: object, shape: Any, place: str) -> None:  # noqa: ANN401 - a type
    """Checks that a value read from JSON is of a type.

    Types are made of typed dictionaries, lists, tuples, unions, words and plain types.
    Keys that are missing and may be null become null: older versions did not write them. Keys
    that are not known stay.

    Raises:
        ShapeError: naming the first place that does not fit.
    """
    try:
        _check_of(shape)(value)
    except ShapeError as problem:
        raise problem.within(place) from None


@cache
def _check_of(shape: Any) -> _Check:  # noqa: ANN401 - a type
    if is_typeddict(shape):
        return _record(get_type_hints(shape))
    kind, inner = get_origin(shape), get_args(shape)
    if kind in (Union, UnionType, Literal):
        return _words(inner) if kind is Literal else _union(inner)
    if kind is list:
        return _list(_check_of(inner[0]))
    if kind is tuple:
        return _tuple([_check_of(one) for one in inner])
    if kind is dict:
        return _dict(_check_of(inner[1]))
    return _number(shape) if shape in (int, float) else _plain(shape)


def _plain(kind: type) -> _Check:
    def check(value: object) -> None:
        if not isinstance(value, kind):
            raise ShapeError(f"should be {_WORDS.get(kind, kind.__name__)}")

    return check


def _words(allowed: Sequence[str]) -> _Check:
    def check(value: object) -> None:
        if value not in allowed:
            raise ShapeError(f"should be {', '.join(allowed[:-1])} or {allowed[-1]}")

    return check


def _number(kind: type) -> _Check:
    words = "a whole number" if kind is int else "a number"
    kinds = (int,) if kind is int else (int, float)

    def check(value: object) -> None:
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise ShapeError(f"should be {words}")
        if not -_LARGEST <= value <= _LARGEST:
            raise ShapeError("is no number to calculate with")

    return check


def _list(item: _Check) -> _Check:
    is_list = _plain(list)

    def check(value: list[object]) -> None:
        is_list(value)
        at = 0
        try:
            for at, one in enumerate(value):  # noqa: B007 - of the one that raises
                item(one)
        except ShapeError as problem:
            raise problem.within(f"[{at}]") from None

    return check


def _tuple(items: Sequence[_Check]) -> _Check:
    is_list, length = _plain(list), len(items)

    def check(value: list[object]) -> None:
        is_list(value)
        if len(value) != length:
            raise ShapeError(f"should have {length} entries")
        at = 0
        try:
            for item in items:
                item(value[at])
                at += 1
        except ShapeError as problem:
            raise problem.within(f"[{at}]") from None

    return check


def _dict(item: _Check) -> _Check:
    is_dict = _plain(dict)

    def check(value: dict[str, object]) -> None:
        is_dict(value)
        key = ""
        try:
            for key, one in value.items():  # noqa: B007 - of the one that raises
                item(one)
        except ShapeError as problem:
            raise problem.within(f".{key}") from None

    return check


def _record(keys: dict[str, Any]) -> _Check:
    is_dict = _plain(dict)
    checks = {key: _check_of(wanted) for key, wanted in keys.items()}
    nullable = {key for key, wanted in keys.items() if NoneType in get_args(wanted)}

    def check(value: dict[str, object]) -> None:
        is_dict(value)
        for key, item in checks.items():
            if key not in value:
                if key not in nullable:
                    raise ShapeError(f"lacks {key!r}")
                value[key] = None
            try:
                item(value[key])
            except ShapeError as problem:
                raise problem.within(f".{key}") from None

    return check


def _union(choices: Sequence[Any]) -> _Check:
    may_be_null = NoneType in choices
    checks = [_check_of(choice) for choice in choices if choice is not NoneType]

    def check(value: object) -> None:
        if value is None and may_be_null:
            return
        last = ShapeError("should be null")
        for one in checks:
            try:
                one(value)
            except ShapeError as problem:
                last = problem
            else:
                return
        raise last

    return check
