"""Holds JSON that somebody else may have written against the shape that it should have."""

from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

_LARGEST = 1e300
"""No cost or rate comes near; larger whole numbers are no numbers to calculate with."""


class ShapeError(ValueError):
    """What does not fit, and where: `results[3].guarantee: is not ...`."""


def check_shape(value: object, shape: Any, place: str) -> None:  # noqa: ANN401 - a type
    """Checks that a value read from JSON is of a type.

    Types are made of typed dictionaries, lists, tuples, unions and plain types.
    Keys that are missing and may be null become null: older versions did not write them. Keys
    that are not known stay.

    Raises:
        ShapeError: naming the first place that does not fit.
    """
    if is_typeddict(shape):
        _check_record(value, shape, place)
    elif get_origin(shape) in (Union, UnionType):
        _check_union(value, get_args(shape), place)
    elif get_origin(shape) is list:
        for index, item in enumerate(_of(list, value, place)):
            check_shape(item, get_args(shape)[0], f"{place}[{index}]")
    elif get_origin(shape) is tuple:
        _check_tuple(_of(list, value, place), get_args(shape), place)
    elif get_origin(shape) is dict:
        for key, item in _of(dict, value, place).items():
            check_shape(item, get_args(shape)[1], f"{place}.{key}")
    elif shape in (int, float):
        _check_number(value, shape, place)
    else:
        _of(shape, value, place)


@cache
def _keys(shape: Any) -> dict[str, Any]:  # noqa: ANN401 - a type
    return get_type_hints(shape)


def _check_record(value: object, shape: Any, place: str) -> None:  # noqa: ANN401 - a type
    record = _of(dict, value, place)
    for key, wanted in _keys(shape).items():
        if key not in record and NoneType in get_args(wanted):
            record[key] = None
        if key not in record:
            raise ShapeError(f"{place}: lacks {key!r}")
        check_shape(record[key], wanted, f"{place}.{key}")


def _check_union(value: object, choices: tuple[Any, ...], place: str) -> None:
    if value is None and NoneType in choices:
        return
    problem = ShapeError(f"{place}: should be null")
    for choice in choices:
        if choice is NoneType:
            continue
        try:
            check_shape(value, choice, place)
        except ShapeError as first:
            problem = first
        else:
            return
    raise problem


def _check_tuple(value: list[object], shapes: tuple[Any, ...], place: str) -> None:
    if len(value) != len(shapes):
        raise ShapeError(f"{place}: should have {len(shapes)} entries")
    for index, (item, shape) in enumerate(zip(value, shapes, strict=True)):
        check_shape(item, shape, f"{place}[{index}]")


def _check_number(value: object, shape: type, place: str) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole or (shape is float and isinstance(value, float))):
        raise ShapeError(f"{place}: should be {'a whole number' if shape is int else 'a number'}")
    if not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        raise ShapeError(f"{place}: is no number to calculate with")


_WORDS = {str: "text", bool: "true or false", list: "a list", dict: "an object", NoneType: "null"}


def _of(kind: Any, value: object, place: str) -> Any:  # noqa: ANN401 - a type and its value
    if not isinstance(value, kind):
        raise ShapeError(f"{place}: should be {_WORDS.get(kind, kind.__name__)}")
    return value
