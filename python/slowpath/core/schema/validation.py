"""Provides the JSON Schemas of documents, and validates untrusted JSON against them.

The schemas of `bound`, `show` and `compile` are generated from the engine's types (`make bless`).
The schema `experiment` describes YAML files that users write.

The validator supports the part of JSON Schema that the schemas in `documents` use. Each definition
is converted once to a checking function, because results can have thousands of paths. The keyword
`minimum` is ignored, because negative numbers do no harm in this package.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any

from slowpath.core.schema import Document, schema_id

NO_DOCUMENTS = frozenset({"experiment"})
"""Schemas of files that users write."""
_LATER: dict[str, Any] = {"default": None}
_FOLDER = os.path.join(os.path.dirname(__file__), "documents")


def schema_names() -> list[str]:
    """Return the names of all schemas."""
    return sorted(file.removesuffix(".json") for file in os.listdir(_FOLDER))


def schema_text(name: str) -> str:
    """Return a schema as JSON text.

    Raises:
        FileNotFoundError: if no schema has that name.
    """
    return json.dumps(schema(name), indent=2) + "\n"


def schema(name: str) -> dict[str, Any]:
    """Return a schema as a dictionary.

    Raises:
        FileNotFoundError: if no schema has that name.
    """
    with open(os.path.join(_FOLDER, f"{name}.json"), encoding="utf-8") as stream:
        read: dict[str, Any] = json.load(stream)
    return _with_head(name, read)


def _with_head(name: str, read: dict[str, Any]) -> dict[str, Any]:
    """Add the keys of `Document`, which the engine's types lack, to a schema.

    Documents of older versions lack these keys except the version, so their default is null.
    """
    if name in NO_DOCUMENTS:
        return read
    texts = {key: one.__metadata__[0] for key, one in Document.__annotations__.items()}
    head: dict[str, Any] = {
        key: {"description": text, "type": "string"} | ({} if key == "slowpath" else _LATER)
        for key, text in texts.items()
    }
    head["schema"]["const"] = schema_id(name)
    required = [*head, *(key for key in read["required"] if key not in head)]
    properties = head | {key: one for key, one in read["properties"].items() if key not in head}
    return read | {"properties": properties, "required": required}


_LARGEST = 1e300
"""Largest accepted number, far above every cost and rate; larger integers do not fit a float."""
_KINDS: dict[str, tuple[type, str]] = {
    "string": (str, "text"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
    "object": (dict, "an object"),
    "null": (NoneType, "null"),
}
"""Types of JSON values except numbers: for each, the type in Python and its name in errors."""

_Check = Callable[[Any], None]
"""A function that raises a `ShapeError` if a value does not fit."""
_Schema = Mapping[str, Any]


class ShapeError(ValueError):
    """A JSON value does not fit its schema.

    The text names the value: `results[3].guarantee: is not ...`.
    """

    def __init__(self, problem: str, place: str = "") -> None:
        super().__init__(problem, place)
        self.problem = problem
        self.place = place

    def within(self, place: str) -> "ShapeError":
        """Return the error for an enclosing value, by putting `place` in front of its position."""
        return ShapeError(self.problem, place + self.place)

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


def check_shape(value: object, schema: _Schema, definitions: _Schema, place: str) -> None:
    """Check that a value from JSON fits a schema, which can refer to `definitions`.

    Missing keys that have a default or may be null are added as null, because older versions did
    not write them. Unknown keys are kept. `place` names the value in errors.

    Raises:
        ShapeError: if a value does not fit; the error names its position.
    """
    try:
        _Reader(definitions).check(schema)(value)
    except ShapeError as problem:
        raise problem.within(place) from None


class _Reader:
    """Converts schemas to functions that check values. | Each definition is converted only once."""

    def __init__(self, definitions: _Schema) -> None:
        self._definitions = definitions
        self._known: dict[str, _Check] = {}

    def check(self, schema: _Schema) -> _Check:
        """Convert a schema to a function that checks values against it."""
        if "$ref" in schema:
            return self._definition(schema["$ref"].rpartition("/")[2])
        choices = schema.get("anyOf", schema.get("oneOf"))
        if choices is not None:
            words = [choice["const"] for choice in choices if "const" in choice]
            return _words(words) if words else self._union(choices)
        kind = schema["type"]
        if isinstance(kind, list):
            return self._union([{**schema, "type": one} for one in kind])
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return self._array(schema)
        return _number(kind) if kind in {"integer", "number"} else _plain(kind)

    def _definition(self, name: str) -> _Check:
        if name not in self._known:
            self._known[name] = self.check(self._definitions[name])
        return self._known[name]

    def _union(self, choices: Sequence[_Schema]) -> _Check:
        others = [choice for choice in choices if choice.get("type") != "null"]
        return _union([self.check(one) for one in others], may_be_null=len(others) < len(choices))

    def _object(self, schema: _Schema) -> _Check:
        if "properties" not in schema:
            return _dict(self.check(schema["additionalProperties"]))
        checks = {key: self._key(inner) for key, inner in schema["properties"].items()}
        nullable = {key for key, inner in schema["properties"].items() if _may_be_null(inner)}
        return _record(checks, nullable, set(schema["required"]))

    def _key(self, schema: _Schema) -> _Check:
        check = self.check(schema)
        return _union([check], may_be_null=True) if "default" in schema else check

    def _array(self, schema: _Schema) -> _Check:
        if "prefixItems" in schema:
            return _tuple([self.check(item) for item in schema["prefixItems"]])
        return _list(self.check(schema["items"]))


def _may_be_null(schema: _Schema) -> bool:
    kinds = [schema.get("type"), *(choice.get("type") for choice in schema.get("anyOf", ()))]
    return "default" in schema or any(kind == "null" or "null" in (kind or ()) for kind in kinds)


def _plain(name: str) -> _Check:
    kind, words = _KINDS[name]

    def check(value: object) -> None:
        if not isinstance(value, kind):
            raise ShapeError(f"should be {words}")

    return check


def _words(allowed: Sequence[str]) -> _Check:
    def check(value: object) -> None:
        if value not in allowed:
            raise ShapeError(f"should be {', '.join(allowed[:-1])} or {allowed[-1]}")

    return check


def _number(name: str) -> _Check:
    words = "a whole number" if name == "integer" else "a number"
    kinds = (int,) if name == "integer" else (int, float)

    def check(value: object) -> None:
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise ShapeError(f"should be {words}")
        if not -_LARGEST <= value <= _LARGEST:
            raise ShapeError("is not a finite number")

    return check


def _list(item: _Check) -> _Check:
    is_list = _plain("array")

    def check(value: list[object]) -> None:
        is_list(value)
        at = 0
        try:
            for at, one in enumerate(value):  # noqa: B007 - index of the item that fails
                item(one)
        except ShapeError as problem:
            raise problem.within(f"[{at}]") from None

    return check


def _tuple(items: Sequence[_Check]) -> _Check:
    is_list, length = _plain("array"), len(items)

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
    is_dict = _plain("object")

    def check(value: dict[str, object]) -> None:
        is_dict(value)
        key = ""
        try:
            for key, one in value.items():  # noqa: B007 - key of the item that fails
                item(one)
        except ShapeError as problem:
            raise problem.within(f".{key}") from None

    return check


def _record(checks: Mapping[str, _Check], nullable: set[str], required: set[str]) -> _Check:
    is_dict = _plain("object")

    def check(value: dict[str, object]) -> None:
        is_dict(value)
        for key, item in checks.items():
            if key not in value:
                if key in nullable:
                    value[key] = None
                elif key in required:
                    raise ShapeError(f"lacks {key!r}")
                continue
            try:
                item(value[key])
            except ShapeError as problem:
                raise problem.within(f".{key}") from None

    return check


def _union(checks: Sequence[_Check], *, may_be_null: bool) -> _Check:
    def check(value: object) -> None:
        if value is None and may_be_null:
            return
        worst = ShapeError("should be null")
        for one in checks:
            try:
                one(value)
            except ShapeError as problem:
                # The error deepest inside a choice belongs to the most similar choice.
                worst = problem if len(problem.place) >= len(worst.place) else worst
            else:
                return
        raise worst

    return check
