"""The shape of documents is stated once, in the engine; the JSON Schemas derive from its types."""

import json
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from slowpath.schema.compiled import Compiled, Verification
from slowpath.schema.json_schema import schema, schema_names
from slowpath.schema.objects import BpfObject
from slowpath.schema.results import Result

SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
WRAPPING = {"slowpath", "target", "verification"}
"""Keys that `compile` adds to what it compiled."""

Shape = Any
"""A type in terms that schemas and Python have in common; equal if and only if the types are."""


def union(choices: list[Shape]) -> Shape:
    """One of several shapes; of itself if it is only one."""
    flat = [one for choice in choices for one in choice.get("union", [choice])]
    unique = {json.dumps(one, sort_keys=True): one for one in flat}
    return {"union": [unique[key] for key in sorted(unique)]} if len(unique) > 1 else flat[0]


def choices_of(part: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas of which one has to hold, where there are several."""
    if "default" in part:  # of what older versions did not write
        return [{key: one for key, one in part.items() if key != "default"}, {"type": "null"}]
    if isinstance(part.get("type"), list):
        return [{**part, "type": one} for one in part["type"]]
    found: list[dict[str, Any]] = part.get("anyOf", part.get("oneOf", []))
    return found


def shape_of_schema(part: dict[str, Any], definitions: dict[str, Any]) -> Shape:
    def inner(part: dict[str, Any]) -> Shape:
        choices = choices_of(part)
        if choices:
            return union([inner(choice) for choice in choices])
        if "$ref" in part:
            return inner(definitions[part["$ref"].rpartition("/")[2]])
        shape: Shape = {"is": part.get("const", part["type"])}
        if "properties" in part:
            keys = part["properties"].items()
            shape["keys"] = {key: [inner(one), key in part["required"]] for key, one in keys}
        elif part["type"] == "object":
            shape["values"] = inner(part["additionalProperties"])
        elif part["type"] == "array":
            inside = part.get("prefixItems")
            shape["items"] = [inner(one) for one in inside] if inside else inner(part["items"])
        return shape

    return inner(part)


def shape_of_type(kind: Any) -> Shape:
    origin, arguments = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        hints, required = get_type_hints(kind), kind.__required_keys__
        keys = {key: [shape_of_type(one), key in required] for key, one in hints.items()}
        return {"is": "object", "keys": keys}
    if origin in (Union, UnionType):
        return union([shape_of_type(one) for one in arguments])
    if origin is Literal:
        return union([{"is": word} for word in arguments])
    if origin is dict:
        return {"is": "object", "values": shape_of_type(arguments[1])}
    if origin in (list, tuple):
        inside = [shape_of_type(one) for one in arguments]
        return {"is": "array", "items": inside if origin is tuple else inside[0]}
    return {"is": SCALARS[kind]}


@pytest.mark.parametrize(
    ("name", "definition", "kind"),
    [
        ("bound", "Result", Result),
        ("show", "BpfObject", BpfObject),
        ("compile", "Verification", Verification),
    ],
)
def test_types_of_python_are_those_of_the_engine(name: str, definition: str, kind: type) -> None:
    definitions = schema(name)["$defs"]
    assert shape_of_type(kind) == shape_of_schema(definitions[definition], definitions)


def test_what_is_compiled_has_the_type_of_the_engine() -> None:
    document = schema("compile")
    shape = shape_of_schema(document, document["$defs"])
    assert shape["keys"].keys() > WRAPPING
    kept = {key: one for key, one in shape["keys"].items() if key not in WRAPPING}
    assert shape_of_type(Compiled) == {**shape, "keys": kept}


def described(part: object, place: str = "") -> list[str]:
    """Places of properties and definitions that nothing is said about."""
    if not isinstance(part, dict):
        return []
    silent = []
    for group in ("properties", "$defs"):
        for key, inner in part.get(group, {}).items():
            there = f"{place}.{key}"
            silent += described(inner, there)
            if "description" not in inner and not (group == "$defs" and "properties" not in inner):
                silent.append(there)
    return silent


@pytest.mark.parametrize("name", schema_names())
def test_everything_is_described(name: str) -> None:
    assert described(schema(name)) == []
